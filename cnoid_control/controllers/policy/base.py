"""Pose and motion of a policy's base: as the hardware has them, or from an estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Protocol

import numpy as np

from cnoid_control.body import StateFlag
from cnoid_control.body.devices import Imu
from cnoid_control.controllers.estimators.base_estimator import (
    BaseEstimator,
    BaseEstimatorParameters,
)
from cnoid_control.controllers.sensor_reading import SensorReading, find_device
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.parameters import not_allowed
from cnoid_control.plugin import ControllerIO


class Base(Protocol):
    """The root link, or an IMU, as a policy is told of it. Each method enables nothing.

    Attributes:
        has_ticks: whether `tick` has something to do.
    """

    has_ticks: ClassVar[bool]

    def enable(self, what: str) -> None:
        """Have read what a method of this name needs."""

    def tick(self) -> None:
        """Take the measurements of a tick; once in every tick, before anything else."""

    def reset(self) -> None:
        """Begin anew."""

    def rotation(self) -> np.ndarray:
        """Axes in the world, shape (3, 3)."""

    def root_rotation(self) -> np.ndarray:
        """Axes of the root link in the world, shape (3, 3)."""

    def gravity(self, out: np.ndarray | None = None) -> np.ndarray:
        """Unit vector downwards in its own axes, written to `out` where that is given."""

    def linear_velocity(self, out: np.ndarray | None = None) -> np.ndarray:
        """Velocity of its origin in its own axes [m/s], written to `out` where given."""

    def angular_velocity(self, out: np.ndarray | None = None) -> np.ndarray:
        """Angular velocity in its own axes [rad/s], written to `out` where given."""

    def height(self) -> np.ndarray:
        """Height of the root above the ground [m], shape (1,)."""


def find_imu(io: ControllerIO, name: str) -> Imu:
    """IMU of a robot by name.

    Raises:
        CnoidControlError: there is none, or the device does not measure what an IMU does.
    """
    devices = {device.name: device for device in io.body.devices}
    imus = [device.name for device in io.body.devices if isinstance(device, Imu)]
    if name not in devices:
        raise not_allowed('imu', name, f'no such device; {choices(imus)}')
    device = devices[name]
    if not isinstance(device, Imu):
        raise not_allowed(
            'imu', name, f'it measures no angular velocity: it is no IMU; {choices(imus)}'
        )
    return device


class HardwareBase:
    """The base as the hardware has it: the truth in a simulation, odometry on a robot.

    The rates of a named IMU are what it measures.
    """

    has_ticks: ClassVar[bool] = False

    def __init__(self, io: ControllerIO, imu: str = '') -> None:
        """Read nothing yet.

        Args:
            io: inputs of the controller.
            imu: device that is the base; the root link where empty.
        """
        self._io, self._body, self._root = io, io.body, io.body.root_link
        self._v, self._w = io.body.root_motion
        self._imu = find_imu(io, imu) if imu else None

    def enable(self, what: str) -> None:
        """Read the root link; and the IMU, or the link that carries it."""
        io, imu = self._io, self._imu
        if imu is not None and what == 'angular_velocity':
            io.enable_input(imu)
            return
        flags = StateFlag.LINK_POSITION
        if what in ('linear_velocity', 'angular_velocity'):
            flags |= StateFlag.LINK_TWIST
        io.enable_input(self._root, flags)
        if imu is not None and imu.link is not None:
            io.enable_input(imu.link, flags)

    def tick(self) -> None:
        """Nothing: the io has brought it."""

    def reset(self) -> None:
        """Nothing: there is nothing to forget."""

    def rotation(self) -> np.ndarray:
        """Axes in the world, shape (3, 3)."""
        imu = self._imu
        if imu is None or imu.link is None:
            return self._body.root_axes
        return imu.link.R @ imu.R_local

    def root_rotation(self) -> np.ndarray:
        """Axes of the root link in the world, shape (3, 3)."""
        return self._root.R

    def gravity(self, out: np.ndarray | None = None) -> np.ndarray:
        """Unit vector downwards in its own axes, written to `out` where that is given."""
        if self._imu is None:
            return np.negative(self._body.root_axes[2], out)
        return np.negative(self.rotation()[2], out)

    def linear_velocity(self, out: np.ndarray | None = None) -> np.ndarray:
        """Velocity of its origin in its own axes [m/s], written to `out` where given."""
        imu = self._imu
        if imu is None or imu.link is None:
            return self._v.dot(self._body.root_axes, out)
        link = imu.link
        velocity = link.v + np.cross(link.w, link.R @ imu.p_local)
        return np.matmul(velocity, self.rotation(), out)

    def angular_velocity(self, out: np.ndarray | None = None) -> np.ndarray:
        """Angular velocity in its own axes [rad/s], written to `out` where given."""
        if self._imu is not None:
            return _placed(self._imu.w, out)
        return self._w.dot(self._body.root_axes, out)

    def height(self) -> np.ndarray:
        """Height of the root above z = 0 [m], shape (1,)."""
        return self._root.p[2:]


class EstimatedBase:
    """The base as an IMU and the legs say; see `BaseEstimator`.

    Attributes:
        estimator: the estimator.
        said: what it has put out in this tick.
    """

    has_ticks: ClassVar[bool] = True

    def __init__(self, io: ControllerIO, given: BaseEstimatorParameters, imu: str = '') -> None:
        """Have the sensors read.

        Args:
            io: inputs of the controller.
            given: options of the estimator.
            imu: device that is the base; the root link where empty.

        Raises:
            CnoidControlError: the robot lacks what the estimator needs.
        """
        if imu:
            find_imu(io, imu)
            if given.imu not in ('', imu):
                raise CnoidControlError(
                    f'imu is {imu!r} and estimator.imu {given.imu!r}: the base can be but one'
                )
        self.estimator = BaseEstimator(replace(given, imu=imu or given.imu))
        self.estimator.attach(io)
        self._io, self._is_imu = io, bool(imu)
        self._sensors = [
            SensorReading.of_device(find_device(io.body, name)) for name in self.estimator.devices
        ]
        # Until the first tick: standing as the body does.
        self.said: dict[str, Any] = {
            'root_R': io.body.root_link.R.copy(),
            'root_v': np.zeros(3),
            'root_w': np.zeros(3),
            'root_height': 0.0,
        }

    def enable(self, what: str) -> None:
        """Nothing: what the estimator needs is read already."""

    def tick(self) -> None:
        """Go on by one tick."""
        io = self._io
        inputs = {sensor.name: sensor.measurements for sensor in self._sensors}
        self.said = self.estimator.output_and_advance(
            q=io.body.q, dq=io.body.dq, dt=io.time_step, **inputs
        )

    def reset(self) -> None:
        """Forget what was estimated."""
        self.estimator.signal('reset')

    def rotation(self) -> np.ndarray:
        """Axes in the world, shape (3, 3)."""
        state = self.estimator.state
        return state.R if self._is_imu and state is not None else self.said['root_R']

    def root_rotation(self) -> np.ndarray:
        """Axes of the root link in the world, shape (3, 3)."""
        return self.said['root_R']

    def gravity(self, out: np.ndarray | None = None) -> np.ndarray:
        """Unit vector downwards in its own axes, written to `out` where that is given."""
        return np.negative(self.rotation()[2], out)

    def linear_velocity(self, out: np.ndarray | None = None) -> np.ndarray:
        """Velocity of its origin in its own axes [m/s], written to `out` where given."""
        state = self.estimator.state
        if self._is_imu and state is not None:
            return np.matmul(state.v, state.R, out)
        return np.matmul(self.said['root_v'], self.said['root_R'], out)

    def angular_velocity(self, out: np.ndarray | None = None) -> np.ndarray:
        """Angular velocity in its own axes [rad/s], written to `out` where given."""
        if self._is_imu:
            return _placed(self._sensors[0].measurements[:3], out)
        return np.matmul(self.said['root_w'], self.said['root_R'], out)

    def height(self) -> np.ndarray:
        """Height of the root above the lowest foot [m], shape (1,)."""
        return np.array([self.said['root_height']])


def _placed(value: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    """A value where it is wanted; where it is, if nobody says where."""
    if out is None:
        return value
    out[...] = value
    return out
