"""A neural network commands joints: observations in; positions, velocities or efforts out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from cnoid_control.body import StateFlag
from cnoid_control.catalog import find_policy
from cnoid_control.controllers.estimators.base_estimator import BaseEstimatorParameters
from cnoid_control.controllers.policy.base import Base, EstimatedBase, HardwareBase
from cnoid_control.controllers.policy.metadata import Metadata
from cnoid_control.controllers.policy.metadata_reader import read_metadata
from cnoid_control.controllers.policy.network import Network
from cnoid_control.controllers.policy.observation import Observation
from cnoid_control.controllers.policy.pd_follower import PDFollower
from cnoid_control.controllers.policy.terms import Gait, Situation, TermParameters, in_one_piece
from cnoid_control.controllers.velocity_command import VelocityCommand, VelocityParameters
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.interpolation import smoothstep
from cnoid_control.parameters import (
    FileName,
    ParameterError,
    ParameterInfo,
    not_allowed,
    parameter,
)
from cnoid_control.plugin import ControllerIO, SimpleController
from cnoid_control.plugin.joint_values import JointPosture, joint_ids, posture_of

# Share of a period by which the policy's period may differ from a whole number of ticks.
PERIOD_TOLERANCE = 1e-6

# Inferences in a cycle of the gait, where nobody says another number.
USUAL_STEPS = 50.0

# How fast a joint that is commanded by velocity comes back to its way to the posture [1/s], and
# which share of what it lacks in one tick at most.
APPROACH_RATE = 10.0
APPROACH_SHARE = 0.1


@dataclass
class ActionParameters:
    """What the network's output means."""

    output: str = parameter(
        '', 'output with the action; the first one where empty', read_only=True
    )
    kind: str = parameter(
        '',
        'position: target = offset + scale * action; position_residual: target = present position '
        '+ scale * action; velocity, effort: offset + scale * action; where empty, the '
        "policy's own, else position",
        choices=('', 'position', 'position_residual', 'velocity', 'effort'),
        read_only=True,
    )
    scale: float | list[float] = parameter(
        [], "factor, for all or one per joint; where empty, the policy's own, else 1"
    )
    scale_of: dict[str, float] = parameter({}, 'scale of a joint, by name')
    offset: dict[str, float] = parameter(
        {}, 'offset by joint name; of positions the default posture where empty', unit='rad or m'
    )
    clip: list[float] = parameter([], 'least and largest action')
    largest: float = parameter(
        100.0, 'magnitude above which an action is nonsense and stops the policy', minimum=0.0
    )
    lowest: dict[str, float] = parameter({}, 'least command of a joint, by name')
    highest: dict[str, float] = parameter({}, 'largest command of a joint, by name')


@dataclass
class GaitParameters:
    """Phases for the terms `sin_phase` and `cos_phase`."""

    steps: float = parameter(
        0.0,
        f"inferences in one cycle; 0 for the policy's own, else {USUAL_STEPS:g}",
        minimum=0.0,
        read_only=True,
    )
    offsets: list[float] = parameter(
        [0.0, np.pi], 'phases at the start', unit='rad', read_only=True
    )
    standing: list[float] = parameter(
        [np.pi, np.pi],
        'phases while the command is zero; empty where they go on',
        unit='rad',
        read_only=True,
    )


@dataclass
class PolicyParameters:
    """Options of PolicyController. What the policy's file says need not be given."""

    file: FileName = parameter(
        description='the ONNX file, or the name of one in the cache', read_only=True
    )
    metadata: Path = parameter(
        Path(),
        "Unitree's deploy.yaml or Isaac Lab's env.yaml beside it; none where empty",
        read_only=True,
    )
    joints: list[str] = parameter(
        [], "joints of the network, in its order; the policy's own where empty", read_only=True
    )
    observations: list[str] = parameter(
        [], "terms of the observation, in order; the policy's own where empty", read_only=True
    )
    terms: dict[str, TermParameters] = parameter({}, 'options of terms by name', read_only=True)
    history: int = parameter(
        1, 'values of so many periods, of terms that say no number', minimum=1, read_only=True
    )
    history_order: str = parameter(
        'oldest_first',
        'order in a history',
        choices=('oldest_first', 'newest_first'),
        read_only=True,
    )
    history_of: str = parameter(
        'term',
        'whether each term has its history, or the whole observation',
        choices=('term', 'whole'),
        read_only=True,
    )
    inputs: dict[str, str] = parameter(
        {},
        "other inputs of the network by name: a term, or 'state:OUTPUT' for what an output said "
        'last',
        read_only=True,
    )
    action: ActionParameters = field(default_factory=ActionParameters)
    gait: GaitParameters = field(default_factory=GaitParameters)
    velocity: VelocityParameters = field(default_factory=VelocityParameters)
    posture: JointPosture = parameter(
        {},
        "default posture: by joint name, a list in the policy's order, or the name of a model's; "
        "of joints that it leaves out the policy's own, else the one that the robot starts in",
        unit='rad or m',
        read_only=True,
    )
    period: float = parameter(
        0.0,
        "time between two inferences; where 0, the policy's own",
        unit='s',
        minimum=0.0,
        read_only=True,
    )
    actuators: str = parameter(
        'controller',
        "who follows position targets: PD here with effort commands, the hardware's own PID "
        'actuators, or its position servos',
        choices=('controller', 'hardware', 'servo'),
        read_only=True,
    )
    kp: float | list[float] = parameter(
        [],
        "position gain: of all joints, or of each of the policy's in its order; where empty, the "
        "policy's own, else the model's",
        minimum=0.0,
        unit='N m/rad',
    )
    kd: float | list[float] = parameter(
        [],
        "velocity gain: of all joints, or of each of the policy's in its order; where empty, the "
        "policy's own, else the model's",
        minimum=0.0,
        unit='N m s/rad',
    )
    kp_of: dict[str, float] = parameter({}, 'kp of a joint, by name', minimum=0.0)
    kd_of: dict[str, float] = parameter({}, 'kd of a joint, by name', minimum=0.0)
    imu: str = parameter(
        '', "device whose axes and rates are the base's; the root link where empty", read_only=True
    )
    base: str = parameter(
        'hardware',
        'where pose and motion of the base come from: the hardware (the truth in a simulation, '
        'odometry on a robot), or an estimator from IMU and leg kinematics',
        choices=('hardware', 'estimator'),
        read_only=True,
    )
    estimator: BaseEstimatorParameters = field(
        default_factory=BaseEstimatorParameters,
        metadata={'parameter': ParameterInfo('how the estimator finds the base', read_only=True)},
    )
    approach_time: float = parameter(
        0.0,
        'time in which the robot goes to the default posture first',
        unit='s',
        minimum=0.0,
        read_only=True,
    )
    no_delay: bool = parameter(
        False,
        'whether a command acts in the step in which it was computed, as in most training code',
        read_only=True,
    )
    steps: int = parameter(
        0, 'inferences after which the policy has finished; 0 for never', minimum=0, read_only=True
    )


class PolicyController(SimpleController):
    """Calls the network once per period of the policy; its targets are followed in every tick.

    Attributes:
        network: the network.
        observation: what it is told.
        base: pose and motion of the base.
        joints: ids of its joints, in its order.
        q_target: what is followed now [rad] or [m], shape (num_joints,).
        action: the last output, in the network's order.
        has_ended: whether its `steps` are done: it holds its last target.
    """

    Parameters = PolicyParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Load the network and check every size and name before anything moves."""
        self.io, self.body = io, io.body
        self._prepare(io.parameters)
        return True

    def _prepare(self, given: PolicyParameters) -> None:
        io, body = self.io, self.body
        self.network, self.known = self.load(given)
        self._kind = given.action.kind or self.known.kind or 'position'
        self.joints = self._find_joints(given, self.known)
        self._names = [body.joint(int(i)).joint_name for i in self.joints]
        self._output = output = self._output_name(given)
        if self.network.outputs[output] != self.joints.size:
            raise CnoidControlError(
                f'output {output!r} of {self.network.file.name} has '
                f'{self.network.outputs[output]} values, and the policy has {self.joints.size} '
                f'joints: {", ".join(self._names)}'
            )
        # Not the present posture: a policy may take over while the robot moves.
        own = posture_of(body, 'posture', self.known.default, body.start_posture)
        posture = given.posture
        if isinstance(posture, list) and posture:
            posture = self._by_name('posture', posture)
        self.default = posture_of(body, 'posture', posture, own)
        self._ticks = self._ticks_of(given.period or self.known.period)
        self._approach_ticks = round(given.approach_time / io.time_step)
        self._enable(given)
        self.base: Base = (
            EstimatedBase(io, given.estimator, given.imu)
            if given.base == 'estimator'
            else HardwareBase(io, given.imu)
        )
        low, high = self._ranges()
        self._command = VelocityCommand(io, given.velocity, 'velocity', low, high)
        self._situation = Situation(
            io,
            self.joints,
            self.default,
            self.base,
            self._gait_of(given),
            action=np.zeros(self.joints.size),
            command=self._command.velocity,
            outputs={name: np.zeros(size) for name, size in self.network.outputs.items()},
            folder=io.folder,
        )
        self.action = self._situation.action
        self._make_observation(given)
        self._period = self._ticks * io.time_step
        self._follower = PDFollower(body)
        self.q_target = self._follower.q_target
        self.q_target[:] = self.default
        # Where its joints follow each other, the command is computed where it is followed.
        piece = in_one_piece(self.joints)
        self._is_direct = piece is not None and self._kind == 'position'
        self._commanded = self.q_target[piece] if self._is_direct else np.zeros(self.joints.size)
        self._q_target_sent, self._u = body.q_target, body.u
        self._use(given)
        self._reset()

    def load(self, given: PolicyParameters) -> tuple[Network, Metadata]:
        """Load the network, and what is known of it; others may have another one in its place.

        Raises:
            CnoidControlError: it cannot be had.
        """
        network = Network(find_policy(given.file))
        return network, self.read_metadata(network.metadata, given)

    def read_metadata(self, written: dict[str, str], given: PolicyParameters) -> Metadata:
        """What is known of a policy, by what is written in its file and beside it.

        Raises:
            CnoidControlError: it cannot be read.
        """
        beside = Path(given.metadata)
        return read_metadata(
            written, None if beside == Path() else beside, self.body.joint_names, given.joints
        )

    def _find_joints(self, given: PolicyParameters, known: Metadata) -> np.ndarray:
        names = given.joints or known.joints
        if not names:
            size = self.network.outputs[self._output_name(given)]
            raise ParameterError(
                'joints',
                f'{known.origin or self.network.file.name} does not name the joints: give the '
                f'{size} of the network in its order; {choices(self.body.joint_names)}',
            )
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise not_allowed('joints', names, f'named twice: {", ".join(twice)}')
        return joint_ids(self.body, 'joints', names)

    def _output_name(self, given: PolicyParameters) -> str:
        output = given.action.output or next(iter(self.network.outputs))
        self.network.demand('output', output, self.network.outputs)
        return output

    def _ticks_of(self, period: float) -> int:
        if not period > 0.0:
            raise ParameterError(
                'period', f'{self.network.file.name} does not say it: give it in seconds'
            )
        ticks = period / self.io.time_step
        if abs(ticks - round(ticks)) > PERIOD_TOLERANCE * ticks or round(ticks) < 1:
            raise not_allowed(
                'period',
                period,
                f'it needs a whole number of ticks of {self.io.time_step:g} s: choose a rate that '
                f'is a multiple of {1.0 / period:g} Hz',
            )
        return round(ticks)

    def _enable(self, given: PolicyParameters) -> None:
        io, kind = self.io, self._kind
        mode = {
            'velocity': StateFlag.JOINT_VELOCITY,
            'effort': StateFlag.JOINT_EFFORT,
        }.get(kind)
        if mode is None:
            mode = {
                'controller': StateFlag.JOINT_EFFORT,
                'hardware': StateFlag.JOINT_PID,
                'servo': StateFlag.JOINT_DISPLACEMENT,
            }[given.actuators]
        io.no_delay_mode = given.no_delay
        self._follows = kind.startswith('position') and given.actuators == 'controller'
        self._mode = mode
        # Efforts on the way to the posture are damped, too.
        damps = mode == StateFlag.JOINT_EFFORT and (self._follows or given.approach_time > 0.0)
        for joint in self.body.joints:
            # Joints that the policy does not know are held in the default posture.
            joint.actuation_mode = mode
            io.enable_io(joint)
            io.enable_input(joint, StateFlag.JOINT_DISPLACEMENT)
            if damps:
                io.enable_input(joint, StateFlag.JOINT_VELOCITY)
        if mode in (StateFlag.JOINT_VELOCITY, StateFlag.JOINT_EFFORT) and not self._follows:
            unknown = set(range(self.body.num_joints)) - set(self.joints.tolist())
            if unknown:
                listed = ', '.join(self.body.joint(i).joint_name for i in sorted(unknown))
                raise CnoidControlError(
                    f'the policy commands {kind} and does not know {listed}: only a policy of '
                    'positions holds what it does not know'
                )

    def _gait_of(self, given: PolicyParameters) -> Gait:
        """The gait of the configuration where that gives `steps`, else the policy's own."""
        gait, own = given.gait, dict(self.known.gait)
        if 0.0 < gait.steps < 1.0:
            raise not_allowed('gait.steps', gait.steps, 'it is 0, or at least 1')
        if gait.steps or not own:
            gait = replace(gait, steps=gait.steps or USUAL_STEPS)
        else:
            usual = GaitParameters()
            for name in ('offsets', 'standing'):
                if getattr(gait, name) != getattr(usual, name):
                    own[name] = getattr(gait, name)
            gait = GaitParameters(**own)
        return Gait(gait.steps, gait.offsets, gait.standing)

    def _make_observation(self, given: PolicyParameters) -> None:
        names = given.observations or self.known.observations
        if not names:
            raise ParameterError(
                'observations',
                f'{self.network.file.name} does not say what it observes: list the terms in order',
            )
        terms = self._merged_terms(given.terms)
        if given.history > 1:
            for name in names:
                term = terms.get(name, TermParameters())
                if term.history == 1:
                    terms[name] = replace(term, history=given.history)
        for name in given.terms:
            if name not in names and name not in given.inputs.values():
                raise not_allowed(f'terms.{name}', name, choices([*names, *given.inputs.values()]))
        self.observation = Observation(
            names,
            terms,
            self._situation,
            given.history_order == 'newest_first',
            given.history_of == 'whole',
        )
        self._inputs: dict[str, Observation] = {}
        for name, source in given.inputs.items():
            self.network.demand('input', name, self.network.inputs)
            if source.startswith('state:'):
                self.network.carry(name, source.removeprefix('state:'))
                continue
            other = Observation([source], terms, self._situation)
            self.network.fit(name, other)
            self._inputs[name] = other
        rest = [name for name in self.network.inputs if name not in given.inputs]
        if len(rest) != 1:
            raise ParameterError(
                'inputs',
                f'{self.network.file.name} has the inputs {", ".join(self.network.inputs)}: say '
                'of all but the observation what they are',
            )
        self._input = rest[0]
        self.network.fit(self._input, self.observation)
        self._inputs = {self._input: self.observation, **self._inputs}
        self._fed = [
            (observation, self.network.feed[name]) for name, observation in self._inputs.items()
        ]
        # What has to be done in the ticks in which it does not infer, too.
        self._every_tick: list[Callable[[], None]] = []
        if self.base.has_ticks:
            self._every_tick.append(self.base.tick)
        self._every_tick += [one.tick for one in self._inputs.values() if one.has_delays]

    def _merged_terms(self, given: dict[str, TermParameters]) -> dict[str, TermParameters]:
        """Terms as the files say them, with what the options say of one in its place."""
        merged = {**given, **self.known.terms}
        options = (self.io.structured_options or {}).get('terms', {})
        for name, term in given.items():
            if name in self.known.terms:
                changes = {key: getattr(term, key) for key in options.get(name, {})}
                merged[name] = replace(self.known.terms[name], **changes)
        return merged

    def _ranges(self) -> tuple[np.ndarray, np.ndarray]:
        if self.known.lower:
            return np.array(self.known.lower), np.array(self.known.upper)
        return np.full(3, -np.inf), np.full(3, np.inf)

    def _use(self, given: PolicyParameters) -> None:
        """Take over the options that may change while it runs; nothing changes where one fails."""
        size, body = self.joints.size, self.body
        scale = given.action.scale
        if isinstance(scale, (int, float)):
            scales = np.full(size, float(scale))
        elif scale:
            scales = np.array(scale, dtype=float)
        else:
            own = self.known.action_scale
            scales = np.array([own.get(name, 1.0) for name in self._names])
        if scales.size != size:
            raise not_allowed('action.scale', scale, f'it needs 1 or {size} values')
        for name, value in given.action.scale_of.items():
            scales[self._place('action.scale_of', name)] = value
        is_position = self._kind == 'position'
        offsets = self.default[self.joints].copy() if is_position else np.zeros(size)
        for name, value in {**self.known.action_offset, **given.action.offset}.items():
            offsets[self._place('action.offset', name)] = value
        clip = given.action.clip
        if clip and (len(clip) != 2 or not clip[0] < clip[1]):
            raise not_allowed('action.clip', clip, 'it needs a lower and an upper bound')
        lowest = self._bounds('lowest', -np.inf, {**self.known.lowest, **given.action.lowest})
        highest = self._bounds('highest', np.inf, {**self.known.highest, **given.action.highest})
        gains = [
            self._gain(name, one, special, known)
            for name, one, special, known in (
                ('kp', given.kp, given.kp_of, self.known.kp),
                ('kd', given.kd, given.kd_of, self.known.kd),
            )
        ]
        self._command.use(given.velocity)
        self._scales, self._offsets, self._clip = scales, offsets, clip
        self._largest = given.action.largest
        self._largest_square = given.action.largest**2
        self._is_bounded = bool(np.isfinite(lowest).any() or np.isfinite(highest).any())
        self._kp, self._kd = gains
        self._follower.use(*gains)
        self._lowest, self._highest = lowest, highest
        if self._mode == StateFlag.JOINT_PID:
            body.kp[:], body.kd[:] = gains

    def _bounds(self, key: str, other: float, given: dict[str, float]) -> np.ndarray:
        bounds = np.full(self.joints.size, other)
        for name, value in given.items():
            bounds[self._place(f'action.{key}', name)] = value
        return bounds

    def _place(self, key: str, name: str) -> int:
        if name not in self._names:
            raise not_allowed(f'{key}.{name}', name, choices(self._names))
        return self._names.index(name)

    def _by_name(self, key: str, values: list[float]) -> dict[str, float]:
        """Values of a list in the order of the network, by joint name."""
        if len(values) != len(self._names):
            raise not_allowed(
                key, values, f'it needs one value for each of {", ".join(self._names)}'
            )
        return dict(zip(self._names, values, strict=True))

    def _gain(
        self,
        name: str,
        given: float | list[float],
        special: dict[str, float],
        known: dict[str, float],
    ) -> np.ndarray:
        """One gain of every joint of the body."""
        body = self.body
        if isinstance(given, (int, float)):
            gains = np.full(body.num_joints, float(given))
        else:
            gains = np.array([getattr(joint.description, name) for joint in body.joints])
            own = {**known, **(self._by_name(name, given) if given else {})}
            gains[joint_ids(body, name, own)] = list(own.values())
        gains[joint_ids(body, f'{name}_of', special)] = list(special.values())
        missing = [body.joint(int(i)).joint_name for i in self.joints if gains[i] <= 0.0]
        approaches = self._mode == StateFlag.JOINT_EFFORT and self._approach_ticks > 0
        is_used = self._follows or approaches or self._mode == StateFlag.JOINT_PID
        if name == 'kp' and missing and is_used:
            raise ParameterError(
                'kp',
                f'neither the policy nor the model has a gain for {", ".join(missing)}: give kp, '
                'or kp_of by joint',
            )
        return gains

    @property
    def input_name(self) -> str:
        """Input of the network that the observation goes to."""
        return self._input

    @property
    def output_name(self) -> str:
        """Output of the network that is the action."""
        return self._output

    @property
    def kind(self) -> str:
        """What an action is."""
        return self._kind

    @property
    def period(self) -> float:
        """Time between two inferences [s]."""
        return self._period

    @property
    def situation(self) -> Situation:
        """What the terms are computed from."""
        return self._situation

    @property
    def joint_values(self) -> dict[str, np.ndarray]:
        """Default posture, gains, scales and offsets, each in the order of the network."""
        return {
            'default': self.default[self.joints],
            'kp': self._kp[self.joints],
            'kd': self._kd[self.joints],
            'scale': self._scales,
            'offset': self._offsets,
        }

    def start_again(self) -> None:
        """Forget histories, phases and the state of the network."""
        self._reset()

    def update_parameters(self, old: PolicyParameters, new: PolicyParameters) -> None:
        """Use other gains, scales and velocities at once; what defines the network stays."""
        self._use(new)

    def _reset(self) -> None:
        self.network.reset()
        self.observation.reset()
        self.base.reset()
        self._situation.gait.reset()
        self.action.fill(0.0)
        self._situation.time_step = 0
        self._read_reference()
        self._tick = 0
        self.has_ended = False
        self.q_start = self.body.q.copy()
        self.q_target[:] = self.body.q if self._approach_ticks else self.default

    def _read_reference(self) -> None:
        """Have the other outputs of the network, such as a reference, before the first inference.

        A tracking policy is told where its reference is, and puts that out with the action.
        """
        if len(self.network.outputs) < 2:
            return
        values: dict[str, Any] = {}
        for name, observation in self._inputs.items():
            if observation is self.observation:
                values[name] = np.zeros(observation.size)
                continue
            values[name] = observation.refresh()
            observation.reset()
        self._situation.outputs = self.network(**values)
        self.network.reset()

    def control(self) -> bool:
        """Infer where the policy's period begins; follow the target."""
        tick = self._tick - self._approach_ticks
        if self._tick == 0:
            # Not when it was initialized: it may have waited for a swap since.
            self.q_start[:] = self.body.q
        self._tick += 1
        for advance in self._every_tick:
            advance()
        if tick < 0:
            share = smoothstep(self._tick / self._approach_ticks)
            before = self.q_target.copy()
            self.q_target[:] = self.q_start + share * (self.default - self.q_start)
            if self._mode in (StateFlag.JOINT_VELOCITY, StateFlag.JOINT_EFFORT):
                self._hold((self.q_target - before) / self.io.time_step)
                return True
        elif tick % self._ticks == 0:
            steps = self.io.parameters.steps
            self.has_ended = bool(steps) and self._situation.time_step >= steps
            if not self.has_ended:
                self._infer(tick * self.io.time_step)
            elif self._kind == 'velocity':
                self._direct[:] = 0.0
        self._follow()
        return not self.has_ended

    def observe(self, time: float, command: np.ndarray) -> dict[str, Any]:
        """Compute what the network is told.

        Args:
            time: time since the policy has begun [s].
            command: forward and to the left [m/s], turning left [rad/s].

        Returns:
            Inputs of the network by name, without its state.
        """
        self._begin_period(time, command)
        return {name: observation.refresh() for name, observation in self._inputs.items()}

    def _begin_period(self, time: float, command: np.ndarray) -> None:
        situation = self._situation
        situation.time = time
        if command is not situation.command:
            situation.command[:] = command
        if situation.time_step or not command.any():
            situation.gait.advance(command)

    def _infer(self, time: float) -> None:
        """Call the network.

        Raises:
            CnoidControlError: an observation is not finite, or an action is nonsense.
        """
        situation, network = self._situation, self.network
        self._begin_period(time, self._command.read(time, self._period))
        for observation, feed in self._fed:
            vector = observation.refresh()
            # A network may well make a number of it, and a command. The square is quick to find,
            # and finite but for values that are far beyond every range.
            if not math.isfinite(vector.dot(vector)) and not np.isfinite(vector).all():
                listed = ', '.join(observation.bad_terms())
                raise CnoidControlError(f'the observation is not finite: {listed}')
            feed[...] = vector
        network.infer()
        # A new array: it is what the log keeps.
        action = network.results[self._output].astype(float)
        # What is within the radius is within the bounds, and finite.
        if not action.dot(action) <= self._largest_square:
            self._demand_sense(action)
        if self._clip:
            np.maximum(action, self._clip[0], out=action)
            np.minimum(action, self._clip[1], out=action)
        self.action[...] = action
        situation.outputs = network.results
        situation.time_step += 1
        command = np.multiply(self._scales, action, self._commanded)
        command += self._offsets
        if self._is_bounded:
            np.maximum(command, self._lowest, out=command)
            np.minimum(command, self._highest, out=command)
        if self._kind == 'position':
            if not self._is_direct:
                self.q_target[self.joints] = command
        elif self._kind == 'position_residual':
            self.q_target[self.joints] = self.body.q[self.joints] + command
        else:
            self._direct = command.copy()
        logged = self.io.log_fields
        logged['policy_action'] = action
        logged['policy_command'] = situation.command.copy()

    def _demand_sense(self, action: np.ndarray) -> None:
        """Raise CnoidControlError where an action is not finite, or larger than any can be."""
        if not np.isfinite(action).all():
            names = [self._names[i] for i in np.flatnonzero(~np.isfinite(action))]
            raise CnoidControlError(f'the action of {", ".join(names)} is not finite')
        i = int(np.abs(action).argmax())
        if abs(action[i]) > self._largest:
            raise CnoidControlError(
                f'the action of {self._names[i]} is {action[i]:g}: no network that fits its '
                f'observation says more than {self._largest:g} (action.largest)'
            )

    def _hold(self, velocity: np.ndarray) -> None:
        """Go to the posture before a policy of velocities or efforts begins.

        Args:
            velocity: of the target [rad/s] or [m/s], shape (num_joints,).
        """
        body = self.body
        if self._mode == StateFlag.JOINT_EFFORT:
            body.u[:] = self._kp * (self.q_target - body.q) + self._kd * (velocity - body.dq)
        else:
            rate = min(APPROACH_RATE, APPROACH_SHARE / self.io.time_step)
            body.dq_target[:] = velocity + rate * (self.q_target - body.q)
        body.q_target[:] = self.q_target

    def _follow(self) -> None:
        self._q_target_sent[...] = self.q_target
        if self._follows:
            self._follower.compute(self._u)
        elif self._kind == 'velocity':
            self.body.dq_target[self.joints] = self._direct
        elif self._kind == 'effort':
            self._u[self.joints] = self._direct
        elif self._mode == StateFlag.JOINT_PID:
            self.body.dq_target[:] = 0.0
            self._u[:] = 0.0
