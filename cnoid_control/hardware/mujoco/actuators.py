"""Actuators that take the commands of the loop."""

from __future__ import annotations

import logging

import mujoco
import numpy as np

from cnoid_control.body import Link

logger = logging.getLogger(__name__)

# Half the width of a range whose ends are one in the model: MuJoCo wants two of them.
LOCKED_SLACK = 1e-6


def add_actuator(
    spec: mujoco.MjSpec, joint: Link, target: str, name: str, effort_limits: bool
) -> mujoco.MjsActuator:
    """Add the actuator of a joint; its gains decide whether it is a motor or a servo.

    Args:
        spec: what it is added to.
        joint: the joint.
        target: name of the joint in the spec.
        name: name of the actuator.
        effort_limits: whether it is bound to the joint's effort limits.
    """
    actuator = spec.add_actuator(
        name=name,
        target=target,
        trntype=mujoco.mjtTrn.mjTRN_JOINT,
        gaintype=mujoco.mjtGain.mjGAIN_FIXED,
        biastype=mujoco.mjtBias.mjBIAS_AFFINE,
    )
    limited = np.isfinite(joint.u_lower) and np.isfinite(joint.u_upper)
    if limited and effort_limits:
        slack = 0.0
        if joint.u_lower == joint.u_upper:
            slack = LOCKED_SLACK
            # That of an MJCF file is passive, which its reader has said.
            tell = logger.info if joint.body.description.mjcf else logger.warning
            tell(
                'joint %r has an effort limit of %g: it is not driven, unless '
                'effort_limits is false',
                joint.joint_name,
                joint.u_upper,
            )
        actuator.forcerange = [joint.u_lower - slack, joint.u_upper + slack]
        actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
    return actuator
