"""Base pose and velocity from IMU and leg kinematics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pinocchio as pin

from cnoid_control.body import StateFlag
from cnoid_control.body.body import cross
from cnoid_control.body.devices import Imu
from cnoid_control.body.kinematics import cross_matrix
from cnoid_control.controllers.composition.base_controller import Message
from cnoid_control.controllers.estimators.estimator import Estimator, EstimatorError
from cnoid_control.controllers.estimators.feet import Feet, Soles
from cnoid_control.exceptions import choices
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


class HeightDetector:
    """Trust in each foot's contact by its height above the lowest one, where nothing is felt.

    On ground that is about level the lowest feet are those that stand.
    """

    def __init__(self, clearance: float) -> None:
        """Take the height from which on a foot is in the air [m]."""
        self.clearance = clearance

    def trust(self, heights: np.ndarray) -> np.ndarray:
        """Trust in each foot for the height of its lowest point [m], shape of the heights."""
        return np.clip(1.0 - (heights - heights.min()) / self.clearance, 0.0, 1.0)


GRAVITY = np.array([0.0, 0.0, 9.80665])

# Time between two records of the estimated pose [s].
LOG_PERIOD = 0.03


@dataclass
class BaseEstimatorParameters:
    """Options of the base estimator."""

    imu: str = parameter('', 'the IMU; the first one where empty')
    feet: list[str] = parameter(
        [],
        'links or force sensors of the feet; where empty, the ends of the limbs that the robot '
        'stands on in its initial posture',
    )
    contact: str = parameter(
        'auto',
        'what says which feet stand: their force sensors, or which are lowest; auto for the '
        'sensors where every foot has one',
        choices=('auto', 'force', 'height'),
    )
    contact_low: float = parameter(
        0.05, "vertical force below which a foot is in the air, share of the robot's weight"
    )
    contact_high: float = parameter(
        0.4, "vertical force above which a foot stands firmly, share of the robot's weight"
    )
    clearance: float = parameter(
        0.05,
        "height above the lowest foot from which on one is in the air, share of the root's height",
        minimum=1e-3,
    )
    slip: float = parameter(
        0.05,
        'deviation from the inertial velocity at which a foot counts half, share of '
        "sqrt(g * root's height)",
        minimum=1e-3,
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
    """Pose and motion of the IMU, world axes, and where the feet are taken to stand.

    Attributes:
        p, R, v: position [m], axes and velocity [m/s] of the IMU.
        anchors: position of each sole in the world [m], shape (feet, 3).
    """

    p: np.ndarray
    R: np.ndarray
    v: np.ndarray
    anchors: np.ndarray


class Mount(NamedTuple):
    """The IMU relative to the root, root axes.

    Attributes:
        p, R: place [m] and axes.
        v, w: velocity [m/s] and angular velocity [rad/s], where joints are between.
    """

    p: np.ndarray
    R: np.ndarray
    v: np.ndarray
    w: np.ndarray


class BaseEstimator(Estimator[BaseState]):
    """Complementary filter of inertial and leg odometry.

    The gyro turns the root and the accelerometer moves it; the accelerometer's direction corrects
    the tilt while the robot hardly accelerates, the legs of the feet that stand correct velocity
    and position. A foot that stands is an anchor, which moves on as far as the foot rolls; one in
    the air takes its place from the estimate, so that the robot walks from anchor to anchor. Feet
    that slip, or are taken to stand though they do not, disagree with the accelerometer and count
    less. It starts from the pose that the robot's body has in initialize(), with the velocity that
    the legs say.

    Puts out `root_p`, `root_R`, `root_v`, `root_w`, `root_height`, the height above the lowest
    foot, and `contacts`, the trust in each foot.
    """

    Parameters: ClassVar[type] = BaseEstimatorParameters

    def __init__(self, parameters: BaseEstimatorParameters | None = None) -> None:
        """Take the options."""
        super().__init__()
        self.parameters = parameters or BaseEstimatorParameters()

    def attach(self, io: ControllerIO) -> None:
        """Find the sensors and read them.

        Raises:
            EstimatorError: the robot has no IMU or no feet, or the bounds of the contact forces
                are not in order.
        """
        body, given = io.body, self.parameters
        imus = list(body.devices_of(Imu))
        names = [imu.name for imu in imus]
        if given.imu and given.imu not in names:
            raise EstimatorError(body.name, f'there is no IMU {given.imu!r}; {choices(names)}')
        if not imus:
            raise EstimatorError(body.name, 'an IMU is needed')
        if not given.contact_low < given.contact_high:
            raise EstimatorError(body.name, 'contact_low must be below contact_high')
        self._imu = imus[names.index(given.imu) if given.imu else 0]
        self._feet = Feet(body, given.feet)
        sensors = self._feet.sensors
        if given.contact == 'force' and not sensors:
            raise EstimatorError(body.name, 'contact: force needs a force sensor at every foot')
        self._sensors = [] if given.contact == 'height' else sensors
        for device in (self._imu, *self._sensors):
            io.enable_input(device)
        for joint in body.joints:
            if joint.name:
                io.enable_input(joint, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
        self._start = body.root_link.p.copy(), body.root_link.R.copy()
        weight = body.mass * GRAVITY[2]
        self._loads = ContactDetector(given.contact_low * weight, given.contact_high * weight)
        self._heights = HeightDetector(given.clearance * self._feet.height)
        self._slip = given.slip * float(np.sqrt(GRAVITY[2] * self._feet.height))
        self._io = io
        self._since_log = np.inf

    def output_and_advance(self, **inputs: Any) -> Message:
        """Estimate and keep it; record the pose now and then, for logs and pictures."""
        result = super().output_and_advance(**inputs)
        self._since_log += inputs['dt']
        if self._since_log >= LOG_PERIOD:
            self._since_log = 0.0
            pose = pin.SE3(result['root_R'], result['root_p'])
            self._io.log('base_estimate', pose.homogeneous)
        return result

    @property
    def devices(self) -> list[str]:
        """Names of the sensors whose measurements `estimate` wants."""
        return [self._imu.name, *(sensor.name for sensor in self._sensors)]

    def estimate(self, state: BaseState | None, inputs: Message) -> tuple[BaseState, Message]:
        """One step of the filter."""
        w, acceleration = inputs[self._imu.name][:3], inputs[self._imu.name][3:6]
        self._feet.move(inputs['q'], inputs['dq'])
        mount = self._mount()
        w_root = mount.R @ w - mount.w
        dt, gains = inputs['dt'], self.parameters
        R = self._start[1] @ mount.R if state is None else self._turn(state.R, w, acceleration, dt)
        R_root = R @ mount.R.T
        feet = self._feet.place(R_root[2])
        trust = self._trust(inputs, R_root, feet)
        # A foot that stands does not move, so the IMU moves against it.
        turn = cross_matrix(w_root)
        v_feet = (mount.v - feet.velocities - (feet.contacts - mount.p) @ turn.T) @ R_root.T
        soles = (feet.soles - mount.p) @ R_root.T
        if state is None:
            shares = trust / trust.sum() if trust.any() else trust
            p = self._start[0] + R_root @ mount.p
            state = BaseState(p, R, shares @ v_feet, p + soles)
            return state, self._message(state, mount, w_root, feet, trust)
        v = state.v + (R @ acceleration - GRAVITY) * dt
        p = state.p + v * dt
        # How far each foot that stands has rolled on.
        arms, rates = feet.soles - feet.contacts, feet.rates + w_root
        rolled = np.array([cross(*pair) for pair in zip(rates, arms, strict=True)])
        anchors = state.anchors + rolled @ R_root.T * dt
        deviation = (v_feet - v) / self._slip
        weights = trust / (1.0 + (deviation * deviation).sum(axis=1))
        total = float(weights.sum())
        if total > 0.0:
            shares = weights / total
            # With no foot that is sure to stand, as in flight, the accelerometer is believed.
            sure = min(1.0, total)
            v = v + _share(gains.velocity_gain * sure, dt) * (shares @ v_feet - v)
            p = p + _share(gains.position_gain * sure, dt) * (shares @ (anchors - soles) - p)
        anchors += (1.0 - weights)[:, None] * (p + soles - anchors)
        fresh = BaseState(p, R, v, anchors)
        return fresh, self._message(fresh, mount, w_root, feet, trust)

    def _mount(self) -> Mount:
        imu = self._imu
        if imu.link is None or imu.link.is_root:
            return Mount(imu.p_local, imu.R_local, np.zeros(3), np.zeros(3))
        link = self._feet.model.links[imu.link.index]
        arm = link.R @ imu.p_local
        return Mount(link.p + arm, link.R @ imu.R_local, link.v + cross(link.w, arm), link.w)

    def _trust(self, inputs: Message, R_root: np.ndarray, feet: Soles) -> np.ndarray:
        if not self._sensors:
            return self._heights.trust(feet.contacts @ R_root[2])
        forces = []
        for sensor in self._sensors:
            assert sensor.link is not None
            axes = self._feet.model.links[sensor.link.index].R @ sensor.R_local
            forces.append(R_root[2] @ axes @ inputs[sensor.name][:3])
        return self._loads.trust(np.array(forces))

    def _turn(
        self, R: np.ndarray, w: np.ndarray, acceleration: np.ndarray, dt: float
    ) -> np.ndarray:
        """Axes of the IMU after a step."""
        size = float(np.sqrt(acceleration @ acceleration))
        correction = np.zeros(3)
        if size > 0.0:
            # The measured up and the estimated up, in the IMU's axes: turning by their cross
            # product brings the one to the other.
            tilt = cross(acceleration / size, R[2])
            # Trusted the less, the more the robot accelerates.
            trust = max(0.0, 1.0 - abs(size - GRAVITY[2]) / (0.2 * GRAVITY[2]))
            correction = self.parameters.tilt_gain * trust * tilt
        turned = R @ pin.exp3((w + correction) * dt)
        return pin.Quaternion(turned).normalized().toRotationMatrix()

    def _message(
        self,
        state: BaseState,
        mount: Mount,
        w_root: np.ndarray,
        feet: Soles,
        trust: np.ndarray,
    ) -> Message:
        R_root = state.R @ mount.R.T
        return {
            'root_p': state.p - R_root @ mount.p,
            'root_R': R_root,
            'root_v': state.v - R_root @ (mount.v + cross(w_root, mount.p)),
            'root_w': R_root @ w_root,
            'root_height': -float((feet.contacts @ R_root[2]).min()),
            'contacts': trust,
        }


def _share(gain: float, dt: float) -> float:
    """Share of an error that is taken away in a period."""
    return -float(np.expm1(-gain * dt))
