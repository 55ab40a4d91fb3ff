"""An arm picks something up with its gripper, carries it and puts it down."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from cnoid_control.body import Body, JointPath, Link, StateFlag
from cnoid_control.exceptions import choices
from cnoid_control.parameters import ParameterError, parameter
from cnoid_control.plugin import ControllerIO, SimpleController

# Way between two postures that are found by inverse kinematics [m], [rad].
SPACING, TURN = 0.01, 0.05
# Damping of the fingers per stiffness [s].
FINGER_DAMPING = 0.02
# Highest speed of a smooth motion, relative to its mean.
PEAK = 1.875


@dataclass
class PickAndPlaceParameters:
    """Options of PickAndPlaceController; places are those of the tool point in the world."""

    hand: str = parameter('hand', 'link that carries the fingers', read_only=True)
    tool: list[float] = parameter(
        [0.0, 0.0, 0.0], 'tool point between the fingertips, in the hand', unit='m', read_only=True
    )
    rpy: list[float] = parameter(
        [math.pi, 0.0, 0.0], 'orientation of the hand in the world', unit='rad', read_only=True
    )
    fingers: list[str] = parameter([], 'joints of the fingers, but mimics', read_only=True)
    open: float = parameter(0.04, 'displacement of an open finger', unit='m', read_only=True)
    closed: float = parameter(
        0.0, 'displacement of a finger that closes on nothing', unit='m', read_only=True
    )
    grip_effort: float = parameter(
        30.0, 'effort by which a finger presses', unit='N', minimum=0.0, read_only=True
    )
    finger_kp: float = parameter(
        2000.0, 'position gain of the fingers', unit='N/m', minimum=0.0, read_only=True
    )
    pick: list[float] = parameter([0.5, 0.0, 0.05], 'where to pick up', unit='m', read_only=True)
    place: list[float] = parameter([0.0, 0.5, 0.05], 'where to put down', unit='m', read_only=True)
    height: float = parameter(
        0.2, 'height above both by which the hand comes and goes', unit='m', minimum=0.0,
        read_only=True,
    )  # fmt: skip
    speed: float = parameter(
        0.4, 'highest speed of the hand', unit='m/s', minimum=1e-3, read_only=True
    )
    grip_time: float = parameter(
        0.5, 'time for closing and for opening', unit='s', minimum=0.0, read_only=True
    )


@dataclass
class Stage:
    """One part of the motion.

    Attributes:
        name: what it does.
        postures: displacements of the arm's joints along it, shape (points, joints).
        duration: how long it takes [s].
        finger: displacement that the fingers go to.
    """

    name: str
    postures: np.ndarray
    duration: float
    finger: float

    def posture(self, time: float) -> np.ndarray:
        """Displacements at a time since its start [s], at rest at both ends, shape (joints,)."""
        share = min(time / self.duration, 1.0) if self.duration > 0.0 else 1.0
        smooth = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
        place = smooth * (len(self.postures) - 1)
        before = min(int(place), len(self.postures) - 2)
        rest = place - before
        return (1.0 - rest) * self.postures[before] + rest * self.postures[before + 1]


class PickAndPlaceController(SimpleController):
    """Moves the tool point on straight lines: to the thing, up, over to its new place, down.

    All postures are found before the robot moves: a place that the arm cannot reach is refused.
    Fingers press with no more than the grip effort. control() is False when all is done.

    Attributes:
        stages: the parts of the motion.
        stage: number of the present one.
    """

    Parameters = PickAndPlaceParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Enable arm and fingers and plan the motion."""
        self.io, options = io, io.parameters
        io.body.calc_forward_kinematics()
        hand = _find(io.body, options.hand, f'{io.controller_name}.hand')
        self.arm = [link for link in _path_joints(hand) if link.joint_id >= 0]
        self.fingers = [
            _find(io.body, name, f'{io.controller_name}.fingers') for name in options.fingers
        ]
        if not self.fingers:
            raise ParameterError(f'{io.controller_name}.fingers', 'at least one is needed')
        for link in self.arm:
            io.enable_output(link, StateFlag.JOINT_DISPLACEMENT)
        for finger in self.fingers:
            io.enable_output(finger, StateFlag.JOINT_EFFORT)
            io.enable_input(finger, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
        self.stages = self._plan(hand)
        self.stage, self.began = 0, 0.0
        self._command(0.0)
        return True

    def _plan(self, hand: Link) -> list[Stage]:
        options = self.io.parameters
        body = self.io.body.clone()
        path = JointPath(body.root_link, body.link(hand.name))
        up = np.array([0.0, 0.0, options.height])
        pick, place = np.array(options.pick), np.array(options.place)
        stages: list[Stage] = []
        for name, goal, finger in (
            ('reach', pick + up, options.open),
            ('lower', pick, options.open),
            ('grip', None, options.closed),
            ('lift', pick + up, options.closed),
            ('carry', place + up, options.closed),
            ('put down', place, options.closed),
            ('release', None, options.open),
            ('leave', place + up, options.open),
        ):
            if goal is None:
                postures, duration = np.array([path.q, path.q]), options.grip_time
            else:
                postures, duration = self._line(path, goal, name)
            stages.append(Stage(name, postures, duration, finger))
        return stages

    def _line(self, path: JointPath, goal: np.ndarray, name: str) -> tuple[np.ndarray, float]:
        """Postures along a straight line of the tool point, and the time that they take [s]."""
        options = self.io.parameters
        tool = np.array(options.tool)
        end = path.end_link
        turn = pin.rpy.rpyToMatrix(*options.rpy)
        start, first = np.array(end.p + end.R @ tool), np.array(end.R)
        rotation = pin.log3(first.T @ turn)
        length, angle = float(np.linalg.norm(goal - start)), float(np.linalg.norm(rotation))
        count = max(math.ceil(length / SPACING), math.ceil(angle / TURN), 1)
        postures = [path.q]
        for share in np.linspace(0.0, 1.0, count + 1)[1:]:
            pose = np.eye(4)
            pose[:3, :3] = first @ pin.exp3(share * rotation)
            point = (1.0 - share) * start + share * goal
            pose[:3, 3] = point - pose[:3, :3] @ tool
            if not path.calc_inverse_kinematics(pose):
                raise ParameterError(
                    f'{self.io.controller_name}.{"place" if name in PLACING else "pick"}',
                    f'to {name}, the hand cannot get to {np.round(point, 4).tolist()}',
                )
            postures.append(path.q)
        # The joints keep to their speeds too.
        rates = np.abs(np.diff(postures, axis=0)).max(axis=0) * count
        most = np.array([link.dq_upper for link in self.arm])
        return np.array(postures), PEAK * max(length / options.speed, float((rates / most).max()))

    def control(self) -> bool:
        """One tick of the motion."""
        time = self.io.current_time - self.began
        # A tick that ends a rounding error before the stage belongs to the next one.
        if time >= self.stages[self.stage].duration - 1e-9:
            if self.stage + 1 == len(self.stages):
                self._command(time)
                return False
            self.stage += 1
            self.began, time = self.io.current_time, 0.0
        self._command(time)
        return True

    def _command(self, time: float) -> None:
        options, stage = self.io.parameters, self.stages[self.stage]
        for link, q in zip(self.arm, stage.posture(time), strict=True):
            link.q_target = float(q)
        most = options.grip_effort
        damping = FINGER_DAMPING * options.finger_kp
        for finger in self.fingers:
            press = options.finger_kp * (stage.finger - finger.q) - damping * finger.dq
            finger.u = min(max(press, -most), most)

    def report(self) -> dict[str, str]:
        """What it does."""
        return {'stage': self.stages[self.stage].name}


# Stages that fail because of where the thing is put.
PLACING = ('carry', 'put down', 'leave')


def _find(body: Body, name: str, key: str) -> Link:
    for link in body.links:
        if name in (link.name, link.joint_name):
            return link
    raise ParameterError(
        key, f'{body.name} has no link {name!r}; {choices(link.name for link in body.links)}'
    )


def _path_joints(link: Link) -> list[Link]:
    """Joints from the root to a link."""
    found: list[Link] = []
    at: Link | None = link
    while at is not None:
        if at.joint_type.has_displacement:
            found.insert(0, at)
        at = at.parent
    return found
