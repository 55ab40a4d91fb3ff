"""Motion queue as a controller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from cnoid_control.controllers.drive import DriveMode, JointDrive
from cnoid_control.controllers.drive.laws import Feedforward, refuse_unused, spread
from cnoid_control.controllers.motion_queue import MotionLimits, MotionQueue
from cnoid_control.controllers.motion_queue.commands import (
    QueueGoals,
    QueueParameters,
    add_items,
    take_trajectory,
)
from cnoid_control.controllers.motion_queue.exceptions import (
    invalid_duration,
    not_finite,
    wrong_size,
)
from cnoid_control.controllers.motion_queue.requests import Vector
from cnoid_control.controllers.sensor_reading import (
    ALL,
    SensorReading,
    chosen_devices,
    unknown_sensor,
)
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.plugin import ControllerIO, SimpleController
from cnoid_control.plugin.mailbox import JointTrajectory, Trigger, Value
from cnoid_control.plugin.trajectory_goal import GoalState, TrajectoryResult

Joints = Sequence[str] | None


class MotionQueueController(SimpleController):
    """A motion queue on top of PID actuators, after Klamp't's default controller.

    `set_...` starts a motion now from the commanded state, `add_...` after everything queued.
    Joints can be taken out of the queue by `set_pid_command`, `set_torque` and
    `set_locked_velocity`, all or some; the next queue call that is about them brings them back
    where they are. Vectors have one element per joint of the queue, or of the `joints` that are
    named. To be called in the loop's thread, by a subclass or between two ticks; others use the
    mailboxes `milestone` and `add_milestone` (trajectories), `follow_joint_trajectory` (goals),
    `brake`, `pause_queue`, `resume_queue` and `feed_rate`.

    Attributes:
        queue: the commanded motion.
        drive: the actuators.
        requests: how often something was asked of the queue.
    """

    Parameters: ClassVar[type | None] = QueueParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Drive the joints, hold the present position and queue the configured motions."""
        self.io = io
        self.parameters: QueueParameters = io.parameters or QueueParameters()
        self.drive = JointDrive(io, self.parameters)
        self.period = io.time_step
        self.requests = 0
        self._elapsed = 0.0
        self._reports = 0
        self.queue = MotionQueue(
            self._limits(self.parameters),
            self.drive.q,
            smooth=self.parameters.smooth,
            refuse_beyond_limits=self.parameters.refuse_beyond_limits,
            report=self._report,
        )
        self.queue.set_feed_rate(self.parameters.feed_rate)
        self._queued = np.ones(self.drive.size, dtype=bool)
        self._feedforward = Feedforward(io.body, self.drive.joints)
        self._open_doors(io)
        items = [item for _, item in sorted(self.parameters.queue.items())]
        for _ in range(self.parameters.repeat):
            add_items(self, items)
        self._command(0.0)
        return True

    def _open_doors(self, io: ControllerIO) -> None:
        self._sensors = [
            SensorReading('q', self.get_sensed_config),
            SensorReading('dq', self.get_sensed_velocity),
        ]
        for device in chosen_devices(io.body, self.parameters.sensors):
            io.enable_input(device)
        self._sensors += [SensorReading.of_device(device) for device in io.body.devices]
        self._milestones = io.mailbox('milestone', JointTrajectory)
        self._added = io.mailbox('add_milestone', JointTrajectory)
        self._feed_rate = io.mailbox('feed_rate', Value)
        self._goals = QueueGoals(self, io)
        self._triggers: list[tuple[Any, Callable[[], None]]] = [
            (io.mailbox(name, Trigger), getattr(self, name))
            for name in ('brake', 'pause_queue', 'resume_queue')
        ]

    def _limits(self, parameters: QueueParameters) -> MotionLimits:
        body, joints, size = self.io.body, self.drive.joints, self.drive.size
        own = spread('max_velocity', parameters.max_velocity, size)
        model = np.minimum(body.dq_upper[joints], -body.dq_lower[joints])
        return MotionLimits(
            self.drive.names,
            body.q_lower[joints].copy(),
            body.q_upper[joints].copy(),
            np.minimum(own, model),
            spread('max_acceleration', parameters.max_acceleration, size),
            spread('max_jerk', parameters.max_jerk, size),
        )

    def update_parameters(self, old: QueueParameters, new: QueueParameters) -> None:
        """Use new gains, limits and feed rate; refused where the queue cannot keep them."""
        refuse_unused(old, new, 'feedforward')
        gains = self.drive.find_gains(new)
        limits = self._limits(new)
        with self.queue.all_or_nothing():
            self.queue.set_limits(limits)
            # A rate that came by message stays when something else changes.
            if new.feed_rate != old.feed_rate:
                self.queue.set_feed_rate(new.feed_rate)
        self.drive.gains = gains
        self.queue.smooth = new.smooth
        self.queue.refuse_beyond_limits = new.refuse_beyond_limits
        self.parameters = new

    # --- the tick -----------------------------------------------------------------------------

    def control(self) -> bool:
        """Take messages, go on in the queue by a period, and command the actuators."""
        self._take_messages()
        self._elapsed += self.io.time_step
        dt = 0.0
        if self._elapsed >= self.period * (1.0 - 1e-9):
            dt, self._elapsed = self._elapsed, 0.0
        self._command(dt)
        self._goals.tell(self.io.current_time)
        return self.queue.is_moving or not self.parameters.finish

    def _command(self, dt: float) -> None:
        state = self.queue.advance(dt) if dt else self.queue.state
        queued = self._queued
        if queued.any():
            places = np.flatnonzero(queued)
            torque = self._feedforward.torque(self.parameters.feedforward, *state)
            self.drive.set_pid(
                places, state.position[places], state.velocity[places], torque[places]
            )
        self.drive.write(self.io.time_step)

    def _take_messages(self) -> None:
        for box, append in ((self._milestones, False), (self._added, True)):
            message = box.take()
            while message is not None:
                self._try(partial(take_trajectory, self, message, append))
                message = box.take()
        rate = self._feed_rate.take_latest()
        if rate is not None:
            self._try(lambda: self.queue.set_feed_rate(rate.value))
        for box, action in self._triggers:
            if box.take_latest() is not None:
                self._try(action)
        self._goals.take()

    def _try(self, action: Callable[[], None]) -> None:
        try:
            action()
        except CnoidControlError as error:
            self._report(f'refused: {error}')

    def _report(self, line: str) -> None:
        self._reports += 1
        print(f'{self.io.controller_name}: {line}', file=self.io.os)

    def report(self) -> dict[str, Any]:
        """How much is queued, and how often something was clamped or refused."""
        return {
            'remaining_time': self.queue.remaining_time,
            'feed_rate': 0.0 if self.queue.paused else self.queue.feed_rate,
            'reports': self._reports,
        }

    def stop(self) -> None:
        """End the goal that is under way."""
        self._goals.end(
            GoalState.ABORTED, TrajectoryResult.INVALID_GOAL, 'The controller was stopped.'
        )

    # --- the queue ----------------------------------------------------------------------------

    def set_milestone(self, q: Vector, dq: Vector | None = None, joints: Joints = None) -> None:
        """Move to q now, as fast as the bounds allow, arriving with velocities dq."""
        self._ask(joints, lambda: self.queue.set_milestone(q, dq, joints))

    def add_milestone(self, q: Vector, dq: Vector | None = None, joints: Joints = None) -> None:
        """Move to q after what is queued, as fast as the bounds allow."""
        self._ask(joints, lambda: self.queue.add_milestone(q, dq, joints))

    def set_milestone_linear(self, q: Vector, joints: Joints = None) -> None:
        """Move to q now on a straight line in joint space, as fast as the bounds allow."""
        self._ask(joints, lambda: self.queue.set_milestone_linear(q, joints))

    def add_milestone_linear(self, q: Vector, joints: Joints = None) -> None:
        """Same as `set_milestone_linear`, after what is queued."""
        self._ask(joints, lambda: self.queue.add_milestone_linear(q, joints))

    def set_linear(self, q: Vector, dt: float, joints: Joints = None) -> None:
        """Interpolate linearly to q within dt [s], from now."""
        self._ask(joints, lambda: self.queue.set_linear(q, dt, joints))

    def add_linear(self, q: Vector, dt: float, joints: Joints = None) -> None:
        """Same as `set_linear`, after what is queued."""
        self._ask(joints, lambda: self.queue.add_linear(q, dt, joints))

    append_linear = add_linear

    def set_cubic(self, q: Vector, dq: Vector, dt: float, joints: Joints = None) -> None:
        """Follow the cubic to q and dq within dt [s], from now."""
        self._ask(joints, lambda: self.queue.set_cubic(q, dq, dt, joints))

    def add_cubic(self, q: Vector, dq: Vector, dt: float, joints: Joints = None) -> None:
        """Same as `set_cubic`, after what is queued."""
        self._ask(joints, lambda: self.queue.add_cubic(q, dq, dt, joints))

    def set_velocity(self, dq: Vector, dt: float, joints: Joints = None) -> None:
        """Move with velocities dq for dt [s] from now, then stop."""
        self._ask(joints, lambda: self.queue.set_velocity(dq, dt, joints))

    def add_velocity(self, dq: Vector, dt: float, joints: Joints = None) -> None:
        """Same as `set_velocity`, after what is queued."""
        self._ask(joints, lambda: self.queue.add_velocity(dq, dt, joints))

    def add_wait(self, dt: float) -> None:
        """Stand still for dt [s] after what is queued."""
        self._ask(None, lambda: self.queue.add_wait(dt))

    def brake(self) -> None:
        """Come to rest as fast as the bounds allow and empty the queue."""
        self._ask((), self.queue.brake)

    def pause_queue(self) -> None:
        """Come to rest and keep what is queued."""
        self.queue.pause()

    def resume_queue(self) -> None:
        """Go on after `pause_queue`."""
        self.queue.resume()

    def set_feed_rate(self, rate: float) -> None:
        """Use only a share of the velocity limits, in [0, 1]; 0 pauses."""
        self.queue.set_feed_rate(rate)

    @property
    def remaining_time(self) -> float:
        """Time until the last queued motion ends [s], never negative."""
        return self.queue.remaining_time

    def _ask(self, joints: Joints, action: Callable[[], None]) -> None:
        """Bring joints back into the queue where they are, and ask; refused, all is as before."""
        back = np.zeros(self.drive.size, dtype=bool)
        back[self.drive.places(joints)] = True
        back &= ~self._queued
        with self.queue.all_or_nothing():
            if back.any():
                places = np.flatnonzero(back)
                self.queue.place_joints(places.tolist(), self.drive.q[places])
            action()
        self._queued |= back
        self.requests += 1

    # --- past the queue -----------------------------------------------------------------------

    def set_pid_command(self, q: Vector, dq: Vector | None = None, joints: Joints = None) -> None:
        """Servo joints to q and dq from now on, past the queue."""
        places = self.drive.places(joints)
        position = self._vector('position', q, places)
        velocity = np.zeros(places.size) if dq is None else self._vector('velocity', dq, places)
        self._queued[places] = False
        self.drive.set_pid(places, position, velocity)

    def set_torque(self, t: Vector, joints: Joints = None) -> None:
        """Give joints torques from now on, past the queue."""
        places = self.drive.places(joints)
        torque = self._vector('torque', t, places)
        self.drive.set_torque(places, torque)
        self._queued[places] = False

    def set_locked_velocity(self, dq: Vector, joints: Joints = None) -> None:
        """Drive joints at velocities from now on, past the queue, up to their position limits."""
        places = self.drive.places(joints)
        self.drive.set_velocity(places, self._vector('velocity', dq, places))
        self._queued[places] = False

    def set_pid_gains(self, kp: Vector, ki: Vector, kd: Vector) -> None:
        """Use other gains from now on, one of each per joint."""
        places = self.drive.places(None)
        gains = [
            self._vector(name, gain, places)
            for name, gain in zip(('kp', 'ki', 'kd'), (kp, ki, kd), strict=True)
        ]
        self.drive.gains = np.array(gains)

    def set_rate(self, dt: float) -> None:
        """Have the queue go on every dt [s] only; the actuators work at their own rate.

        Raises:
            MotionRefused: it is shorter than the control period.
        """
        if not dt >= self.io.time_step * (1.0 - 1e-9):
            raise invalid_duration('period of the queue', dt, f'>= {self.io.time_step:g}')
        self.period = float(dt)

    def _vector(self, name: str, value: Vector, places: np.ndarray) -> np.ndarray:
        array = np.asarray(value, dtype=float)
        if array.shape != places.shape:
            raise wrong_size(name, value, array.size, places.size)
        for place, element in zip(places, array, strict=True):
            if not np.isfinite(element):
                raise not_finite(name, self.drive.names[place], element)
        return array

    # --- what there is to know ----------------------------------------------------------------

    def get_commanded_config(self) -> np.ndarray:
        """Positions that the actuators are servoed to; 0 for joints under torque."""
        return np.where(self.drive.modes == DriveMode.TORQUE, 0.0, self.drive.q)

    def get_commanded_velocity(self) -> np.ndarray:
        """Velocities that the actuators are servoed to; 0 for joints under torque."""
        return np.where(self.drive.modes == DriveMode.TORQUE, 0.0, self.drive.dq)

    def get_commanded_torque(self) -> np.ndarray:
        """Torques, or torques added to the actuators' own."""
        return self.drive.u.copy()

    def get_sensed_config(self) -> np.ndarray:
        """Measured positions."""
        return self.drive.sensed_q

    def get_sensed_velocity(self) -> np.ndarray:
        """Measured velocities."""
        return self.drive.sensed_dq

    def get_pid_gains(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gains kp, ki and kd."""
        kp, ki, kd = self.drive.gains.copy()
        return kp, ki, kd

    def get_control_type(self) -> list[str]:
        """What each actuator follows: 'off', 'torque', 'pid' or 'velocity'."""
        return [DriveMode(mode).name.lower() for mode in self.drive.modes]

    def sensor(self, key: str | int) -> SensorReading:
        """Sensor by name or number: 'q', 'dq', then every device of the robot in its order.

        Raises:
            CnoidControlError: there is no such sensor, or it is not read: see option `sensors`.
        """
        for i, reading in enumerate(self._sensors):
            if key in (i, reading.name):
                if i > 1 and reading.name not in self.io.device_inputs:
                    raise CnoidControlError(
                        f'sensor {reading.name!r} is not read; name it in the option `sensors`, '
                        f'or {ALL!r}'
                    )
                return reading
        raise unknown_sensor(key, [reading.name for reading in self._sensors])
