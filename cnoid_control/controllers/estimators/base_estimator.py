"""Base pose and velocity from IMU and leg kinematics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pinocchio as pin

from cnoid_control.body import StateFlag
from cnoid_control.body.devices import ForceSensor, Imu
from cnoid_control.controllers.composition.base_controller import Message
from cnoid_control.controllers.estimators.estimator import Estimator, EstimatorError
from cnoid_control.parameters import parameter
from cnoid_control.plugin import ControllerIO


class ContactDetector:
    """Trust in each foot's contact, from 0 (in the air) to 1 (carries its share).

    Between the two bounds of the vertical force the trust rises steadily, so that an estimate
    passes over from one foot to the other without a jump.
    """

    def __init__(self, low: float, high: float) -> None:
        """Take the force below which a foot is in the air and above which it stands [N]."""
        self.low = low
        self.high = high

    def trust(self, vertical_forces: np.ndarray) -> np.ndarray:
        """Trust in each foot for its upward force [N], shape of the forces."""
        return np.clip((vertical_forces - self.low) / (self.high - self.low), 0.0, 1.0)


GRAVITY = np.array([0.0, 0.0, 9.80665])


@dataclass
class BaseEstimatorParameters:
    """Options of the base estimator."""

    imu: str = parameter('', 'IMU on the root link; the first one where empty')
    feet: list[str] = parameter([], 'force sensors of the feet; all where empty')
    contact_low: float = parameter(
        0.05, "vertical force below which a foot is in the air, share of the robot's weight"
    )
    contact_high: float = parameter(
        0.4, "vertical force above which a foot stands firmly, share of the robot's weight"
    )
    tilt_gain: float = parameter(
        0.2, 'how fast the tilt follows the accelerometer', unit='1/s', minimum=0.0
    )
    velocity_gain: float = parameter(
        30.0, 'how fast the velocity follows the legs', unit='1/s', minimum=0.0
    )
    position_gain: float = parameter(
        50.0, 'how fast the position follows the feet', unit='1/s', minimum=0.0
    )


class BaseState(NamedTuple):
    """Pose and motion of the root, world axes, and where the feet are taken to stand.

    Attributes:
        p, R, v: position [m], axes and velocity [m/s] of the root.
        anchors: position of each foot in the world [m], shape (feet, 3).
    """

    p: np.ndarray
    R: np.ndarray
    v: np.ndarray
    anchors: np.ndarray


class BaseEstimator(Estimator[BaseState]):
    """Complementary filter of inertial and leg odometry.

    The gyro turns the root and the accelerometer moves it; the accelerometer's direction corrects
    the tilt while the robot hardly accelerates, the legs of the feet that stand correct velocity
    and position. A foot that stands is an anchor; one in the air takes its place from the
    estimate, so that the robot walks from anchor to anchor. It starts from the pose that the
    robot's body has in initialize().

    Puts out `root_p`, `root_R`, `root_v`, `root_w` and `contacts`, the trust in each foot.
    """

    Parameters: ClassVar[type] = BaseEstimatorParameters

    def __init__(self, parameters: BaseEstimatorParameters | None = None) -> None:
        """Take the options."""
        super().__init__()
        self.parameters = parameters or BaseEstimatorParameters()

    def attach(self, io: ControllerIO) -> None:
        """Find the sensors and read them.

        Raises:
            EstimatorError: the robot has no such sensors, the IMU is not on the root, or the
                bounds of the contact forces are not in order.
        """
        body = io.body
        imus = _chosen(body.devices_of(Imu), [self.parameters.imu] if self.parameters.imu else [])
        feet = _chosen(body.devices_of(ForceSensor), self.parameters.feet)
        if not imus or not feet:
            raise EstimatorError(body.name, 'an IMU and force sensors at the feet are needed')
        if not self.parameters.contact_low < self.parameters.contact_high:
            raise EstimatorError(body.name, 'contact_low must be below contact_high')
        self._imu = imus[0]
        if self._imu.link is not body.root_link:
            raise EstimatorError(body.name, f'{self._imu.name} is not on the root link')
        self._feet = feet
        for device in (self._imu, *feet):
            io.enable_input(device)
        for joint in body.joints:
            if joint.name:
                io.enable_input(joint, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
        self._model = body.clone()
        self._foot_links = [foot.link.index for foot in feet if foot.link is not None]
        weight = body.mass * GRAVITY[2]
        self._contacts = ContactDetector(
            self.parameters.contact_low * weight, self.parameters.contact_high * weight
        )

    def estimate(self, state: BaseState | None, inputs: Message) -> tuple[BaseState, Message]:
        """One step of the filter."""
        w_root, acceleration = self._inertial(inputs)
        positions, velocities = self._legs(inputs['q'], inputs['dq'])
        if state is None:
            root = self._model.root_link
            R = root.R.copy()
            p = root.p.copy()
            state = BaseState(p, R, np.zeros(3), p + positions @ R.T)
            return state, self._message(state, w_root, np.zeros(len(self._feet)))
        dt, gains = inputs['dt'], self.parameters
        R = self._turn(state.R, w_root, acceleration, dt)
        trust = self._contacts.trust(self._vertical_forces(inputs, R))
        total = float(trust.sum())
        v = state.v + (R @ acceleration - GRAVITY) * dt
        p = state.p + v * dt
        if total > 0.0:
            shares = trust / total
            # A foot that stands does not move, so the root moves against it.
            v_legs = -shares @ (velocities + np.cross(w_root, positions)) @ R.T
            p_legs = shares @ (state.anchors - positions @ R.T)
            v = v + _share(gains.velocity_gain, dt) * (v_legs - v)
            p = p + _share(gains.position_gain, dt) * (p_legs - p)
        follow = (1.0 - trust)[:, None]
        anchors = state.anchors + follow * (p + positions @ R.T - state.anchors)
        fresh = BaseState(p, R, v, anchors)
        return fresh, self._message(fresh, w_root, trust)

    def _inertial(self, inputs: Message) -> tuple[np.ndarray, np.ndarray]:
        """Angular velocity and acceleration minus gravity of the root, root axes."""
        measured = inputs[self._imu.name]
        R_local = self._imu.R_local
        return R_local @ measured[:3], R_local @ measured[3:6]

    def _legs(self, q: np.ndarray, dq: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities of the feet relative to the root, root axes, (feet, 3)."""
        model = self._model
        model.q[:], model.dq[:] = q, dq
        R, p = model.root_link.R, model.root_link.p
        model.calc_forward_kinematics(velocity=True)
        links = [model.links[index] for index in self._foot_links]
        positions = np.array([(link.p - p) @ R for link in links])
        return positions, np.array([link.v @ R for link in links])

    def _turn(
        self, R: np.ndarray, w_root: np.ndarray, acceleration: np.ndarray, dt: float
    ) -> np.ndarray:
        """Axes of the root after a step."""
        size = float(np.linalg.norm(acceleration))
        correction = np.zeros(3)
        if size > 0.0:
            # The measured up and the estimated up, in root axes: turning by their cross product
            # brings the one to the other.
            tilt = np.cross(acceleration / size, R.T @ np.array([0.0, 0.0, 1.0]))
            # Trusted the less, the more the robot accelerates.
            trust = max(0.0, 1.0 - abs(size - GRAVITY[2]) / (0.2 * GRAVITY[2]))
            correction = self.parameters.tilt_gain * trust * tilt
        turned = R @ pin.exp3((w_root + correction) * dt)
        return pin.Quaternion(turned).normalized().toRotationMatrix()

    def _vertical_forces(self, inputs: Message, R: np.ndarray) -> np.ndarray:
        model = self._model
        forces = []
        for foot, index in zip(self._feet, self._foot_links, strict=True):
            force = inputs[foot.name][:3]
            axes = model.root_link.R.T @ model.links[index].R @ foot.R_local
            forces.append((R @ axes @ force)[2])
        return np.array(forces)

    @staticmethod
    def _message(state: BaseState, w_root: np.ndarray, trust: np.ndarray) -> Message:
        return {
            'root_p': state.p,
            'root_R': state.R,
            'root_v': state.v,
            'root_w': state.R @ w_root,
            'contacts': trust,
        }


def _chosen(devices: Any, names: list[str]) -> list[Any]:
    """Devices of these names, or all where there are no names."""
    known = [device.name for device in devices]
    for name in names:
        if name not in known:
            raise EstimatorError(name, f'there is no such sensor among {", ".join(known)}')
    return [device for device in devices if not names or device.name in names]


def _share(gain: float, dt: float) -> float:
    """Share of an error that is taken away in a period."""
    return -float(np.expm1(-gain * dt))
