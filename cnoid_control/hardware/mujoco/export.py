"""A robot and its world as an MJCF file for other programs, as mujoco_ros2_control wants it."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.devices import AccelerationSensor, ForceSensor, Imu, RateGyroSensor
from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.hardware.mujoco.geometry import quaternion
from cnoid_control.hardware.mujoco.model import MujocoModel, compile_spec, make_spec
from cnoid_control.hardware.mujoco.parameters import MujocoParameters

KEYFRAME = 'start'

IMU_PARTS = {
    'quat': mujoco.mjtSensor.mjSENS_FRAMEQUAT,
    'gyro': mujoco.mjtSensor.mjSENS_GYRO,
    'accel': mujoco.mjtSensor.mjSENS_ACCELEROMETER,
}
# Share by which a moment of inertia may be too large once it is rounded in a file.
ROUNDING = 1e-5
FORCE_PARTS = {'force': mujoco.mjtSensor.mjSENS_FORCE, 'torque': mujoco.mjtSensor.mjSENS_TORQUE}


def write_mjcf(body: Body, parameters: MujocoParameters, period: float, path: Path) -> str:
    """Write a robot where it starts, and its world.

    Every joint has a motor of its name that takes efforts; an IMU or force sensor `NAME` is made
    of the sensors `NAME_quat`, `NAME_gyro` and `NAME_accel`, or `NAME_force` and `NAME_torque`.
    The keyframe `start` is the present posture and place.

    Args:
        body: the robot in its initial posture and place.
        parameters: options of the simulation.
        period: control period [s].
        path: file to write.

    Returns:
        Name of the root's free joint; empty where the root is fixed.

    Raises:
        HardwareError: MuJoCo refuses the robot, or the file cannot be written.
    """
    spec, robot = make_spec(body, parameters, period)
    for actuator in spec.actuators:
        actuator.gainprm[0] = 1.0
        actuator.biastype = mujoco.mjtBias.mjBIAS_NONE
    for slot, name in robot.elements.joints.items():
        joint, damping = spec.joint(name), body.all_joints[slot].description.damping
        # From MuJoCo 4 on it is a polynomial.
        joint.damping = damping if np.ndim(joint.damping) == 0 else np.array([damping, 0.0, 0.0])
    root = spec.body(robot.elements.links[0])
    if body.is_fixed_root:
        root.pos, root.quat = body.root_link.p, quaternion(body.root_link.R)
    for device in body.devices:
        if isinstance(device, (Imu, RateGyroSensor, AccelerationSensor)):
            parts = IMU_PARTS
        elif isinstance(device, ForceSensor):
            parts = FORCE_PARTS
        else:
            continue
        assert device.link is not None  # Every device of a body has one.
        site = spec.body(robot.elements.links[device.link.index]).add_site(
            name=device.name, pos=device.p_local, quat=quaternion(device.R_local), group=5
        )
        for suffix, kind in parts.items():
            spec.add_sensor(
                name=f'{device.name}_{suffix}',
                type=kind,
                objtype=mujoco.mjtObj.mjOBJ_SITE,
                objname=site.name,
            )
    for link in spec.bodies:
        _keep_triangle(link)
    mapping = MujocoModel(body, compile_spec(spec, body.name), robot.elements)
    qpos = np.array(mapping.model.qpos0)
    qpos[mapping.qpos] = [body.all_joints[slot].q for slot in mapping.slots]
    if mapping.free_root:
        qpos[mapping.root_qpos] = [*body.root_link.p, *quaternion(body.root_link.R)]
    spec.add_key(name=KEYFRAME, qpos=qpos)
    spec.compile()
    try:
        path.write_text(spec.to_xml(), encoding='utf-8')
    except OSError as error:
        raise HardwareError(f'{path} cannot be written: {error.strerror or error}') from error
    return robot.elements.root_joint


def _keep_triangle(link: mujoco.MjsBody) -> None:
    """Keep moments of inertia within the triangle inequality when they are rounded in the file."""
    moments = np.array(link.inertia)
    largest = int(np.argmax(moments))
    others = (moments.sum() - moments[largest]) * (1.0 - ROUNDING)
    if moments[largest] > others:
        moments[largest] = others
        link.inertia = moments
