"""Ideal robot: commands are followed exactly."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from cnoid_control.body import Body, ForceSensor, StateFlag
from cnoid_control.body.channels import commanded_flags
from cnoid_control.hardware.disturbance import Disturbance
from cnoid_control.hardware.exceptions import UnsupportedChannel, unknown_device
from cnoid_control.hardware.hardware import Hardware, IORequest, require_devices
from cnoid_control.hardware.mujoco.parameters import SceneParameters
from cnoid_control.hardware.registry import HardwareKind

if TYPE_CHECKING:
    from cnoid_control.hardware.kinematic_scene import KinematicScene

logger = logging.getLogger(__name__)


@dataclass
class KinematicParameters(SceneParameters):
    """What the ideal robot's sensors feel and see; its motion needs no options."""


JOINT_MODES = (
    StateFlag.NONE,
    StateFlag.JOINT_DISPLACEMENT,
    StateFlag.JOINT_VELOCITY,
    StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY,
)
ROOT_MODES = (
    StateFlag.NONE,
    StateFlag.LINK_POSITION,
    StateFlag.LINK_TWIST,
    StateFlag.LINK_POSITION | StateFlag.LINK_TWIST,
    StateFlag.LINK_ACCELERATION,
)
BOTH = StateFlag.LINK_POSITION | StateFlag.LINK_TWIST
JOINT_SENSORS = ('q', 'dq', 'ddq', 'u')


@dataclass
class _Commands:
    """Targets of the joints and of the root."""

    q: np.ndarray
    dq: np.ndarray
    u: np.ndarray
    root: pin.SE3
    v: np.ndarray
    w: np.ndarray
    dv: np.ndarray
    dw: np.ndarray

    @classmethod
    def of(cls, body: Body) -> _Commands:
        """Copy of what a body holds."""
        root, arrays = body.root_link, body.joint_arrays
        return cls(
            arrays['q_target'].copy(),
            arrays['dq_target'].copy(),
            arrays['u'].copy(),
            pin.SE3(np.array(root.R), np.array(root.p)),
            np.array(root.v),
            np.array(root.w),
            np.array(root.dv),
            np.array(root.dw),
        )


class KinematicHardware(Hardware):
    """Joints that are where they are told to be, and a root that can be put anywhere.

    Displacement targets are taken over as they are, velocity targets are integrated, uncommanded
    joints stay. The root goes to a commanded pose, or moves with a commanded twist or
    acceleration. Velocities and accelerations are differences over a tick; where displacement and
    velocity, or pose and twist, are commanded, both are taken over as they are. In the mode
    ALL_STATE_HIGH_GAIN commanded efforts become the efforts of the state as well. The delay is
    that of the simulated robot. Its devices feel and see what they would on a robot that moves so
    and touches nothing.

    Attributes:
        name: 'kinematic'.
        body: the robot's state and the commands for it.
        time_step: control period [s].
        time: time of the last state read [s].
    """

    name = 'kinematic'

    def __init__(self, body: Body, parameters: KinematicParameters, time_step: float) -> None:
        """Take the body over in its present state.

        Raises:
            HardwareError: an option is for a sensor that the robot lacks.
        """
        self.body = body
        self.parameters = parameters
        self.time_step = time_step
        self.time = 0.0
        known = [*JOINT_SENSORS, *(device.name for device in body.devices)]
        for name in parameters.sensors:
            if name not in known:
                raise unknown_device(name, known)
        if body.description.extra_joints:
            logger.warning(
                'the loops of %s are not closed: this hardware follows each joint on its own',
                body.name,
            )
        self._scene: KinematicScene | None = None
        self._request = IORequest()
        self._tick = 0
        self._fresh = True

    def open(self, request: IORequest) -> None:
        """Set up what is read and commanded; called again, it changes that while running.

        Raises:
            UnsupportedChannel: a link is to be commanded by something it cannot follow.
            HardwareError: a device is to be read that the robot lacks.
        """
        body = self.body
        self._check_outputs(request)
        self._open_scene(request)
        if self._tick == 0:
            self._initial = body.save_state()
            arrays = body.joint_arrays
            self._q, self._dq = arrays['q'].copy(), arrays['dq'].copy()
            self._ddq = np.zeros(self._q.size)
            self._u = arrays['u'].copy()
            self._root = pin.SE3(np.array(body.root_link.R), np.array(body.root_link.p))
            self._motion = body.root_motion.copy()
            self._acceleration = np.zeros((2, 3))
        self._request = request
        self._positions = self._slots(StateFlag.JOINT_DISPLACEMENT)
        self._velocities = self._slots(StateFlag.JOINT_VELOCITY)
        slots = [body.tree.joint_slots[body.link(name).index] for name in request.no_delay]
        # The root has none.
        self._at_once = np.isin(np.arange(self._q.size), slots)
        self._followed = np.intersect1d(self._positions, self._velocities)
        self._efforts = self._slots(StateFlag.JOINT_EFFORT)
        self._root_mode = request.outputs.get(body.root_link.name, StateFlag.NONE)
        self._root_at_once = body.root_link.name in request.no_delay
        self._joint_errors = [
            (name, Disturbance(name, self._q.size, errors, self.time_step, self.parameters.seed))
            for name in JOINT_SENSORS
            if (errors := self.parameters.sensors.get(name)) is not None
        ]
        self._acting = self._written = _Commands.of(body)
        self._publish()

    def _open_scene(self, request: IORequest) -> None:
        require_devices(self.body, request, self.name)
        self._reads_effort = any(
            flags & StateFlag.JOINT_EFFORT for flags in request.inputs.values()
        )
        if request.devices or self._reads_effort:
            # Imported here: an ideal robot without sensors needs no MuJoCo.
            from cnoid_control.hardware.kinematic_scene import KinematicScene

            self._scene = self._scene or KinematicScene(self.body, self.parameters, self.time_step)
            self._scene.open(request.devices, self.time)

    def _check_outputs(self, request: IORequest) -> None:
        for name, flags in request.outputs.items():
            link = self.body.link(name)
            allowed = ROOT_MODES if link.is_root else JOINT_MODES
            mode = commanded_flags(link, flags) & ~StateFlag.HIGH_GAIN_ACTUATION
            if StateFlag.ALL_STATE_HIGH_GAIN in flags:
                # Efforts and wrenches are told, not obeyed: the motion is given.
                mode &= ~(StateFlag.JOINT_EFFORT | StateFlag.LINK_EXT_WRENCH)
            if mode not in allowed:
                raise UnsupportedChannel(name, mode, self.name, allowed)

    def _slots(self, mode: StateFlag) -> np.ndarray:
        """Rows of the joints that are commanded by this mode."""
        slots = self.body.tree.joint_slots
        rows = [
            slots[self.body.link(name).index]
            for name, flags in self._request.outputs.items()
            if flags & mode
        ]
        return np.array([row for row in rows if row >= 0], dtype=np.intp)

    def reset(self) -> None:
        """Go back to the state and the time at the start; the next read gives that state."""
        self.body.restore_state(self._initial)
        self._tick = 0
        self.time = 0.0
        self._fresh = True
        self.open(self._request)

    def read(self) -> bool:
        """Move for one tick and take the state over."""
        if self._fresh:
            self._fresh = False
            self._look()
            return True
        self._move_joints()
        self._move_root()
        self._acting = self._written
        self._tick += 1
        self.time = self._tick * self.time_step
        self._publish()
        self._look()
        return True

    def _look(self) -> None:
        if self._scene is not None:
            self._scene.look(self.time)

    def _move_joints(self) -> None:
        step = self.time_step
        q = self._q.copy()
        q[self._velocities] += self._acting.dq[self._velocities] * step
        q[self._positions] = self._acting.q[self._positions]
        dq = (q - self._q) / step
        dq[self._followed] = self._acting.dq[self._followed]
        self._ddq = (dq - self._dq) / step
        self._q, self._dq, self._u = q, dq, self._acting.u

    def _move_root(self) -> None:
        now, step, acting = self._root, self.time_step, self._acting
        goal = now
        if self._root_mode & StateFlag.LINK_POSITION:
            goal = acting.root
        elif self._root_mode & StateFlag.LINK_TWIST:
            goal = _moved(now, acting.v * step, acting.w * step)
        elif self._root_mode & StateFlag.LINK_ACCELERATION:
            v, w = self._motion + step * np.array((acting.dv, acting.dw))
            goal = _moved(now, v * step, w * step)
        motion = np.empty((2, 3))
        motion[0] = (goal.translation - now.translation) / step
        motion[1] = now.rotation @ pin.log3(now.rotation.T @ goal.rotation) / step
        if self._root_mode & BOTH == BOTH:
            motion[:] = acting.v, acting.w
        self._acceleration = (motion - self._motion) / step
        self._root, self._motion = goal, motion

    def _publish(self) -> None:
        """Show the state in the body."""
        body, arrays = self.body, self.body.joint_arrays
        arrays['q'][:], arrays['dq'][:], arrays['ddq'][:] = self._q, self._dq, self._ddq
        root = body.root_link
        root.p, root.R = self._root.translation, self._root.rotation
        root.v, root.w = self._motion
        root.dv, root.dw = self._acceleration
        body.calc_forward_kinematics(velocity=True, acceleration=True)
        if self._scene is not None:
            self._scene.measure()
            if self._reads_effort:
                arrays['u'][self._scene.slots] = self._scene.efforts()
        arrays['u'][self._efforts] = self._u[self._efforts]
        for name, errors in self._joint_errors:
            arrays[name][:] = errors.apply(arrays[name])

    def write(self) -> None:
        """Copy the commands of the body."""
        written = _Commands.of(self.body)
        acting = self._acting
        self._acting = _Commands(
            np.where(self._at_once, written.q, acting.q),
            np.where(self._at_once, written.dq, acting.dq),
            np.where(self._at_once, written.u, acting.u),
            written.root if self._root_at_once else acting.root,
            written.v if self._root_at_once else acting.v,
            written.w if self._root_at_once else acting.w,
            written.dv if self._root_at_once else acting.dv,
            written.dw if self._root_at_once else acting.dw,
        )
        self._written = written

    def close(self) -> None:
        """Free what draws pictures."""
        if self._scene is not None:
            self._scene.close()


def _moved(pose: pin.SE3, step: np.ndarray, turn: np.ndarray) -> pin.SE3:
    """Pose after a step [m] and a turn [rad], world axes."""
    return pin.SE3(pin.exp3(turn) @ pose.rotation, pose.translation + step)


def _create(
    body: Body, parameters: KinematicParameters, time_step: float, devices: Mapping[str, str]
) -> Hardware:
    return KinematicHardware(body, parameters, time_step)


KINEMATIC = HardwareKind(
    'an ideal robot that reaches its targets at once',
    KinematicParameters,
    _create,
    # A robot that touches nothing has no forces worth a record.
    lambda device: bool(device.measured_fields) and not isinstance(device, ForceSensor),
)
