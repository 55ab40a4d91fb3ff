"""A robot simulated by MuJoCo in this process."""

from __future__ import annotations

import logging

import mujoco
import numpy as np

from cnoid_control.body import Body, StateFlag
from cnoid_control.hardware.disturbance import Disturbance
from cnoid_control.hardware.exceptions import SimulationDiverged, TimeStepMismatch, UnknownDevice
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.joint_commands import JointCommands
from cnoid_control.hardware.lights import Lights
from cnoid_control.hardware.link_inputs import LinkInputs
from cnoid_control.hardware.link_outputs import LinkOutputs
from cnoid_control.hardware.motion_sensors import MotionSensors
from cnoid_control.hardware.mujoco_model import MujocoModel
from cnoid_control.hardware.mujoco_parameters import MujocoParameters
from cnoid_control.hardware.picture_maker import PictureMaker
from cnoid_control.hardware.vision_sensors import VisionSensors

DIVERGENCE = {
    'a command': mujoco.mjtWarning.mjWARN_BADCTRL,
    'a position': mujoco.mjtWarning.mjWARN_BADQPOS,
    'a velocity': mujoco.mjtWarning.mjWARN_BADQVEL,
    'an acceleration': mujoco.mjtWarning.mjWARN_BADQACC,
}

# Names of the joints' own sensors in the options.
JOINT_SENSORS = ('q', 'dq', 'ddq', 'u')

logger = logging.getLogger(__name__)
# Otherwise MuJoCo writes its warnings to a file of its own in the current folder.
mujoco.set_mju_user_warning(logger.warning)


class MujocoHardware:
    """MuJoCo as the robot on the other end of the loop.

    `read` runs the physics of one tick (but the first one, which gives the initial state) and
    takes the new state over; `write` takes the commands over. Positions, velocities and gyros are
    those at `time`; accelerations, efforts, forces and contacts are those of the physics step
    that led there.

    Attributes:
        name: 'mujoco'.
        body: the robot's state and the commands for it.
        time_step: control period [s].
        time: time of the last state read [s].
        model, data: MuJoCo's own, for whoever wants to look.
    """

    name = 'mujoco'

    def __init__(self, body: Body, parameters: MujocoParameters, time_step: float) -> None:
        """Build the simulation in the body's present state.

        Args:
            body: the robot, in the posture and at the place where it starts.
            parameters: options.
            time_step: control period [s].

        Raises:
            HardwareError: the robot cannot be simulated with these options.
        """
        self.body = body
        self.parameters = parameters
        self.time_step = time_step
        self.time = 0.0
        physics_step = parameters.time_step or time_step
        self._steps = round(time_step / physics_step)
        if self._steps < 1 or abs(self._steps * physics_step - time_step) > 1e-9:
            raise TimeStepMismatch(time_step, physics_step)
        self._mapping = MujocoModel(body, parameters, physics_step)
        self.model = self._mapping.model
        self.data = mujoco.MjData(self.model)
        self._commands = JointCommands(self._mapping, self.data, body, parameters)
        self._inputs = LinkInputs(self._mapping, self.data, body)
        self._outputs = LinkOutputs(self._mapping, self.data, body)
        self._sensors = MotionSensors(self._mapping, self.data, body, parameters, time_step)
        self._lights = Lights(self._mapping, self.data, body)
        self._maker = PictureMaker(self._mapping, self.data, self._lights, parameters)
        self._vision = VisionSensors(body, self._maker, parameters.seed)
        self._request = IORequest()
        self._initial = body.save_state()
        self._tick = 0
        self._fresh = True
        self._bind()
        for name in parameters.sensors:
            if name not in (known := [*JOINT_SENSORS, *(d.name for d in body.devices)]):
                raise UnknownDevice(name, known)

    def _bind(self) -> None:
        """Cache the views that every tick uses."""
        data, mapping, arrays = self.data, self._mapping, self.body.joint_arrays
        size = arrays['q'].size
        # Without holes in the joint ids a take into the body's own array is all there is to do.
        self._slots = None if mapping.slots.size == size else mapping.slots
        self._joint_values = {name: arrays[name] for name in JOINT_SENSORS}
        self._q, self._dq, self._ddq, self._u = self._joint_values.values()
        self._qpos, self._qvel = data.qpos, data.qvel
        self._root_position, self._root_quaternion = data.qpos[:3], data.qpos[3:7]
        self._root_velocity, self._root_spin = data.qvel[:3], data.qvel[3:6]
        self._root_rotation = data.xmat[mapping.links[0]].reshape(3, 3)
        self._warnings = [(what, data.warning[int(kind)]) for what, kind in DIVERGENCE.items()]

    def open(self, request: IORequest) -> None:
        """Set up what is read and commanded; called again, it changes that while running.

        The commands that the body holds now act from the first physics step on.

        Raises:
            HardwareError: a channel does not exist.
        """
        if self._tick == 0:
            self._initial = self.body.save_state()
            self._set_state()
        self._request = request
        flags = StateFlag.NONE
        for flag in request.inputs.values():
            flags |= flag
        self._reads_acceleration = bool(flags & StateFlag.JOINT_ACCELERATION)
        self._reads_effort = bool(flags & StateFlag.JOINT_EFFORT)
        known = [device.name for device in self.body.devices]
        for name in request.devices:
            if name not in known:
                raise UnknownDevice(name, known)
        self._joint_errors = [
            (values, Disturbance(name, values.size, errors, self.time_step, self.parameters.seed))
            for name, values in self._joint_values.items()
            if (errors := self.parameters.sensors.get(name)) is not None
        ]
        self._commands.open(request)
        self._outputs.open(request)
        self._inputs.open(request)
        self._sensors.open(request.devices)
        self._vision.open(request.devices, self.time)
        self._enable_sensors(self._inputs.reads_acceleration or self._sensors.active)
        mujoco.mj_forward(self.model, self.data)
        self._inputs.take_forces()
        self._take_state()

    def _enable_sensors(self, enabled: bool) -> None:
        """Let MuJoCo evaluate its sensors, and with them the accelerations of links, or not."""
        disable = int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
        if enabled:
            self.model.opt.disableflags &= ~disable
        else:
            self.model.opt.disableflags |= disable

    def reset(self) -> None:
        """Go back to the state and the time at the start; the next read gives that state."""
        self.body.restore_state(self._initial)
        mujoco.mj_resetData(self.model, self.data)
        self._set_state()
        self._tick = 0
        self.time = 0.0
        self._fresh = True
        self.open(self._request)

    def _set_state(self) -> None:
        """Put the simulation into the body's state."""
        mapping, body, root = self._mapping, self.body, self.body.root_link
        if mapping.free_root:
            self._qpos[:3] = root.p
            self._qpos[3:7] = np.roll(body.pin_q()[3:7], 1)
            self._qvel[:3] = root.v
            self._qvel[3:6] = root.R.T @ root.w
        else:
            self.model.body_pos[mapping.links[0]] = root.p
            self.model.body_quat[mapping.links[0]] = np.roll(body.pin_q()[3:7], 1)
        self._qpos[mapping.qpos] = body.joint_arrays['q'][mapping.slots]
        self._qvel[mapping.dofs] = body.joint_arrays['dq'][mapping.slots]

    def read(self) -> bool:
        """Run the physics of a tick and take the state over."""
        if self._fresh:
            self._fresh = False
            self._vision.take(self.time)
            return True
        model, data = self.model, self.data
        for step in range(self._steps):
            # A step is split so that kinematics and sensors are up to date when it is over:
            # step2 ends the step with the controls, step1 begins the next one.
            if self._outputs.active:
                self._outputs.apply()
            mujoco.mj_step2(model, data)
            self._commands.integrate()
            if step == self._steps - 1:
                self._inputs.take_forces()
                self._commands.latch()
                self._outputs.latch()
            mujoco.mj_step1(model, data)
        self._tick += 1
        self.time = self._tick * self.time_step
        for what, warning in self._warnings:
            if warning.number:
                raise SimulationDiverged(what, self.time)
        self._take_state()
        if self._vision.active:
            self._vision.take(self.time)
        return True

    def _take_state(self) -> None:
        mapping = self._mapping
        self._gather(self._qpos, mapping.qpos, self._q)
        self._gather(self._qvel, mapping.dofs, self._dq)
        if self._reads_acceleration:
            self._gather(self.data.qacc, mapping.dofs, self._ddq)
        if self._reads_effort:
            self._gather(self.data.qfrc_actuator, mapping.dofs, self._u)
        if mapping.free_root:
            body = self.body
            rotation = self._root_rotation
            body.set_root_pose(self._root_position, self._root_quaternion, rotation)
            body.root_motion[0] = self._root_velocity
            np.dot(rotation, self._root_spin, out=body.root_motion[1])
        for values, errors in self._joint_errors:
            values[:] = errors.apply(values)
        self._inputs.take_motion()
        self._sensors.take()

    def _gather(self, source: np.ndarray, addresses: np.ndarray, target: np.ndarray) -> None:
        if self._slots is None:
            source.take(addresses, out=target, mode='clip')
        else:
            target[self._slots] = source[addresses]

    def write(self) -> None:
        """Take the body's commands over."""
        self._commands.write()
        if self._outputs.active:
            self._outputs.write()

    def close(self) -> None:
        """Free what draws pictures."""
        self._maker.close()
