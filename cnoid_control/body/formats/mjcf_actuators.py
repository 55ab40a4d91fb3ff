"""Actuators of an MJCF file as limits, gains and command modes of joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cnoid_control.body.description import LinkDescription, StateFlag

if TYPE_CHECKING:
    import mujoco


@dataclass(frozen=True)
class Drive:
    """One actuator's hold on one joint.

    Attributes:
        actuator: index of the actuator.
        gear: joint effort per actuator force; the actuator's length per joint displacement.
    """

    actuator: int
    gear: float


class JointActuators:
    """What drives each joint of a compiled model, directly or through a fixed tendon.

    Attributes:
        drives: the actuators of each joint, by joint name.
        driven_tops: bodies right below the world with an actuator anywhere on what they carry.
        replaced: indices of the actuators that the loop's commands stand in for.
    """

    def __init__(self, model: mujoco.MjModel, warnings: list[str]) -> None:
        """Look through all actuators of a model."""
        import mujoco

        self._model = model
        self._warnings = warnings
        self.drives: dict[str, list[Drive]] = {}
        self.driven_tops: set[int] = set()
        self.replaced: list[int] = []
        kinds = mujoco.mjtTrn
        for actuator in range(len(model.actuator_trntype)):
            kind = model.actuator_trntype[actuator]
            target = int(model.actuator_trnid[actuator, 0])
            gear = float(model.actuator_gear[actuator, 0])
            if kind in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)):
                self._add(actuator, {target: gear})
            elif kind == int(kinds.mjTRN_TENDON):
                self._add_tendon(actuator, target, gear)
            else:
                body = target if kind == int(kinds.mjTRN_BODY) else model.site_bodyid[target]
                self.driven_tops.add(int(model.body_rootid[body]))
                self._keep(actuator, 'does not act on a joint')

    def _add(self, actuator: int, gears: dict[int, float]) -> None:
        model = self._model
        for joint in gears:
            self.driven_tops.add(int(model.body_rootid[model.jnt_bodyid[joint]]))
            # A free joint or a ball is driven in several directions.
            if model.jnt_type[joint] < 2:
                self._keep(actuator, f'acts on {model.joint(joint).name!r}, which is no hinge')
                return
        for joint, gear in gears.items():
            self.drives.setdefault(str(model.joint(joint).name), []).append(Drive(actuator, gear))
        self.replaced.append(actuator)

    def _add_tendon(self, actuator: int, tendon: int, gear: float) -> None:
        import mujoco

        model = self._model
        first, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
        parts = range(first, first + count)
        fixed = all(model.wrap_type[part] == int(mujoco.mjtWrap.mjWRAP_JOINT) for part in parts)
        if fixed:
            self._add(
                actuator,
                {
                    int(model.wrap_objid[part]): gear * float(model.wrap_prm[part])
                    for part in parts
                },
            )
            return
        for part in parts:
            if model.wrap_type[part] == int(mujoco.mjtWrap.mjWRAP_SITE):
                body = model.site_bodyid[model.wrap_objid[part]]
                self.driven_tops.add(int(model.body_rootid[body]))
        self._keep(actuator, 'pulls a tendon through space')

    def _keep(self, actuator: int, why: str) -> None:
        name = self._model.actuator(actuator).name
        self._warnings.append(
            f"actuator {name!r} {why}: it takes no commands, and acts with the file's own control"
        )

    def apply(self, link: LinkDescription) -> None:
        """Give a joint the effort limits, the gains and the command mode of its actuators."""
        model = self._model
        joint = model.joint(link.joint_name).id
        if model.jnt_actfrclimited[joint]:
            link.u_lower, link.u_upper = model.jnt_actfrcrange[joint].tolist()
        drives = self.drives.get(link.joint_name, [])
        if not drives:
            if self.replaced:
                # In a file with actuators, a joint without any is a passive one.
                link.u_lower = link.u_upper = 0.0
            return
        lower, upper = np.sum([self._limits(drive) for drive in drives], axis=0).tolist()
        link.u_lower, link.u_upper = max(link.u_lower, lower), min(link.u_upper, upper)
        for drive in drives:
            self._add_gains(link, drive)

    def _limits(self, drive: Drive) -> tuple[float, float]:
        """Least and largest joint effort of an actuator."""
        model, actuator = self._model, drive.actuator
        ranges = []
        if model.actuator_forcelimited[actuator]:
            ranges.append(model.actuator_forcerange[actuator] * drive.gear)
        mode, _, kd = _law(model, actuator)
        if mode is StateFlag.JOINT_EFFORT and not kd and model.actuator_ctrllimited[actuator]:
            gain = float(model.actuator_gainprm[actuator, 0])
            ranges.append(model.actuator_ctrlrange[actuator] * gain * drive.gear)
        lower = max((float(min(pair)) for pair in ranges), default=-np.inf)
        upper = min((float(max(pair)) for pair in ranges), default=np.inf)
        return lower, upper

    def _add_gains(self, link: LinkDescription, drive: Drive) -> None:
        model = self._model
        mode, kp, kd = _law(model, drive.actuator)
        if mode is StateFlag.NONE:
            name = model.actuator(drive.actuator).name
            self._warnings.append(
                f'actuator {name!r} of joint {link.joint_name!r} has a law of its own; the joint '
                'is taken to be driven by efforts'
            )
            mode = StateFlag.JOINT_EFFORT
        link.kp += kp * drive.gear**2
        link.kd += kd * drive.gear**2
        # A servo says more than the damper or the motor beside it.
        rank = [
            StateFlag.NONE,
            StateFlag.JOINT_EFFORT,
            StateFlag.JOINT_VELOCITY,
            StateFlag.JOINT_DISPLACEMENT,
        ]
        link.actuation_mode = max(link.actuation_mode, mode, key=rank.index)
        for name, attribute in (('armature', 'rotor_inertia'), ('damping', 'damping')):
            values = getattr(model, f'actuator_{name}', None)
            if values is not None and len(self._joints_of(drive.actuator)) == 1:
                own = float(np.ravel(values[drive.actuator])[0]) * drive.gear**2
                setattr(link, attribute, getattr(link, attribute) + own)

    def _joints_of(self, actuator: int) -> list[str]:
        return [
            name
            for name, drives in self.drives.items()
            if any(drive.actuator == actuator for drive in drives)
        ]


def _law(model: mujoco.MjModel, actuator: int) -> tuple[StateFlag, float, float]:
    """Command mode, position and velocity gain at the actuator; NONE for a law of its own."""
    import mujoco

    gain_type, bias_type = model.actuator_gaintype[actuator], model.actuator_biastype[actuator]
    dynamics = model.actuator_dyntype[actuator]
    simple = gain_type == int(mujoco.mjtGain.mjGAIN_FIXED) and bias_type in (
        int(mujoco.mjtBias.mjBIAS_NONE),
        int(mujoco.mjtBias.mjBIAS_AFFINE),
    )
    known = [
        int(getattr(mujoco.mjtDyn, f'mjDYN_{name}'))
        for name in ('NONE', 'INTEGRATOR', 'FILTER', 'FILTEREXACT')
    ]
    if not simple or dynamics not in known:
        return StateFlag.NONE, 0.0, 0.0
    kp = kd = 0.0
    if bias_type == int(mujoco.mjtBias.mjBIAS_AFFINE):
        _, stiffness, damping = model.actuator_biasprm[actuator, :3].tolist()
        kp, kd = max(-stiffness, 0.0), max(-damping, 0.0)
    gain = float(model.actuator_gainprm[actuator, 0])
    if kp:
        integrates = dynamics == int(mujoco.mjtDyn.mjDYN_INTEGRATOR)
        return StateFlag.JOINT_VELOCITY if integrates else StateFlag.JOINT_DISPLACEMENT, kp, kd
    if kd and gain == kd:
        return StateFlag.JOINT_VELOCITY, 0.0, kd
    return StateFlag.JOINT_EFFORT, 0.0, kd
