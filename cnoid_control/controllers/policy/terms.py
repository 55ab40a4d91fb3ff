"""Observation terms: what a policy can be told, by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from cnoid_control.body import Body, StateFlag
from cnoid_control.controllers.policy.base import Base
from cnoid_control.controllers.policy.reference import ORDERS, ReferenceOrientation
from cnoid_control.controllers.sensor_reading import find_device
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.parameters import PluginName, parameter
from cnoid_control.plugin import ControllerIO
from cnoid_control.plugin.mailbox import Mailbox, Value

# Computes the present value of a term.
Read = Callable[[], np.ndarray]


@dataclass(frozen=True)
class Elements:
    """A term that is elements of an array which stays where it is, less their origin.

    Attributes:
        array: the array.
        ids: the elements in order; None for all.
        origin: what is taken off, shape (size,); None for nothing.
    """

    array: np.ndarray
    ids: np.ndarray | None = None
    origin: np.ndarray | None = None

    def __call__(self) -> np.ndarray:
        """The present value."""
        value = self.array.copy() if self.ids is None else self.array.take(self.ids)
        return value if self.origin is None else value - self.origin


@dataclass(frozen=True)
class Written:
    """A term that is computed where it is wanted.

    Attributes:
        write: computes it in a given array; in a new one where that is None.
    """

    write: Callable[[np.ndarray | None], np.ndarray]

    def __call__(self) -> np.ndarray:
        """The present value."""
        return self.write(None)


@dataclass
class TermParameters:
    """How one term is observed."""

    source: PluginName = parameter(
        '',
        "kind of term; the term's own name where empty; also 'device:NAME.FIELD', 'mailbox:NAME', "
        "'output:NAME' and 'orientation:NAME' of the network, 'file.py:function'",
        read_only=True,
    )
    scale: float | list[float] = parameter(
        1.0, 'factor, for all values or one per value', read_only=True
    )
    clip: list[float] = parameter([], 'least and largest value, before the scale', read_only=True)
    history: int = parameter(1, 'values of so many periods', minimum=1, read_only=True)
    delay: int = parameter(
        0, 'age of the value, in ticks of the loop', minimum=0, maximum=1000, read_only=True
    )
    joints: list[str] = parameter(
        [], "joints of a joint term, in this order; the policy's where empty", read_only=True
    )
    value: list[float] = parameter([], "values of a term 'constant'", read_only=True)
    period: float = parameter(
        0.0, "time of a cycle of a term 'gait_phase'", unit='s', minimum=0.0, read_only=True
    )
    link: str = parameter(
        '',
        "link that a term 'orientation:NAME' is seen from; the root where empty",
        read_only=True,
    )
    quaternion: str = parameter(
        'xyzw', "order of a term 'orientation:NAME'", choices=ORDERS, read_only=True
    )
    row: int = parameter(
        0,
        "which quaternion of a term 'orientation:NAME', where the output has several",
        minimum=0,
        read_only=True,
    )


@dataclass
class Situation:
    """What terms are computed from; the controller refreshes it before each inference.

    Attributes:
        io: inputs and outputs of the controller.
        joints: ids of the policy's joints, in the policy's order.
        default: default displacements of all joints of the body [rad] or [m].
        base: pose and motion of the base.
        gait: phases of a gait.
        action: last output of the network, in the policy's order, always this array.
        command: velocity command: forward and to the left [m/s], turning left [rad/s], always this
            array.
        time_step: number of the inference, from 0.
        time: time since the policy has begun [s].
        outputs: outputs of the last inference, by name.
        folder: folder that 'file.py:function' starts from.
    """

    io: ControllerIO
    joints: np.ndarray
    default: np.ndarray
    base: Base
    gait: Gait
    action: np.ndarray = field(default_factory=lambda: np.zeros(0))
    command: np.ndarray = field(default_factory=lambda: np.zeros(3))
    time_step: int = 0
    time: float = 0.0
    outputs: dict[str, np.ndarray] = field(default_factory=dict)
    folder: Path = field(default_factory=Path)

    @property
    def body(self) -> Body:
        """The controller's body."""
        return self.io.body

    @property
    def phases(self) -> np.ndarray:
        """Phases of the gait [rad]."""
        return self.gait.phases


def _base(what: str) -> Callable[[Situation, TermParameters], Read]:
    """What the base says by a method of its own."""

    def make(situation: Situation, given: TermParameters) -> Read:
        situation.base.enable(what)
        return getattr(situation.base, what)

    return make


def _written_base(what: str) -> Callable[[Situation, TermParameters], Read]:
    """What the base computes in a given place."""

    def make(situation: Situation, given: TermParameters) -> Read:
        situation.base.enable(what)
        return Written(getattr(situation.base, what))

    return make


def _quaternion(order: Sequence[int]) -> Callable[[Situation, TermParameters], Read]:
    """Orientation of the base; `order` picks from w, x, y, z."""

    def make(situation: Situation, given: TermParameters) -> Read:
        import pinocchio as pin

        base = situation.base
        base.enable('rotation')

        def read() -> np.ndarray:
            x, y, z, w = pin.Quaternion(base.rotation()).coeffs()
            return np.array([w, x, y, z])[list(order)]

        return read

    return make


def _joint_ids(situation: Situation, given: TermParameters) -> np.ndarray:
    if not given.joints:
        return situation.joints
    return situation.body.joint_ids(given.joints)


def _joint_position(situation: Situation, given: TermParameters) -> Read:
    ids, body = _joint_ids(situation, given), situation.body
    return _elements(body.q, ids, situation.default[ids])


def _absolute_joint_position(situation: Situation, given: TermParameters) -> Read:
    ids, body = _joint_ids(situation, given), situation.body
    return _elements(body.q, ids)


def _joint_velocity(situation: Situation, given: TermParameters) -> Read:
    ids, body = _joint_ids(situation, given), situation.body
    for index in ids:
        situation.io.enable_input(body.joint(int(index)), StateFlag.JOINT_VELOCITY)
    return _elements(body.dq, ids)


def _elements(values: np.ndarray, ids: np.ndarray, origin: np.ndarray | None = None) -> Elements:
    """These elements; all of a view where they are in one piece and in order."""
    piece = in_one_piece(ids)
    return (
        Elements(values, ids, origin) if piece is None else Elements(values[piece], None, origin)
    )


def in_one_piece(ids: np.ndarray) -> slice | None:
    """What ids are as a slice; None where they do not follow each other."""
    if not ids.size or (ids != np.arange(ids[0], ids[0] + ids.size)).any():
        return None
    return slice(int(ids[0]), int(ids[0]) + ids.size)


def _gait_phase(situation: Situation, given: TermParameters) -> Read:
    if not given.period > 0.0:
        raise CnoidControlError("a term 'gait_phase' needs a period [s]")

    def read() -> np.ndarray:
        phase = 2.0 * math.pi * situation.time / given.period
        return np.array([math.sin(phase), math.cos(phase)])

    return read


def _constant(situation: Situation, given: TermParameters) -> Read:
    if not given.value:
        raise CnoidControlError("a term 'constant' needs a value")
    return Elements(np.array(given.value))


TERMS: dict[str, Callable[[Situation, TermParameters], Read]] = {
    'base_linear_velocity': _written_base('linear_velocity'),
    'base_angular_velocity': _written_base('angular_velocity'),
    'projected_gravity': _written_base('gravity'),
    'quaternion_wxyz': _quaternion((0, 1, 2, 3)),
    'quaternion_xyzw': _quaternion((1, 2, 3, 0)),
    'height': _base('height'),
    'joint_position': _joint_position,
    'absolute_joint_position': _absolute_joint_position,
    'joint_velocity': _joint_velocity,
    'last_action': lambda situation, given: Elements(situation.action),
    'velocity_command': lambda situation, given: Elements(situation.command),
    'linear_velocity_command': lambda situation, given: Elements(situation.command[:2]),
    'yaw_rate_command': lambda situation, given: Elements(situation.command[2:]),
    'sin_phase': lambda situation, given: Elements(situation.gait.sin),
    'cos_phase': lambda situation, given: Elements(situation.gait.cos),
    'gait_phase': _gait_phase,
    'time_step': lambda situation, given: lambda: np.array([float(situation.time_step)]),
    'constant': _constant,
}
# Terms with one value per joint.
JOINT_TERMS = ('joint_position', 'absolute_joint_position', 'joint_velocity')
AXES = ('x', 'y', 'z')
ELEMENTS: dict[str, tuple[str, ...]] = {
    'base_linear_velocity': AXES,
    'base_angular_velocity': AXES,
    'projected_gravity': AXES,
    'quaternion_wxyz': ('w', *AXES),
    'quaternion_xyzw': (*AXES, 'w'),
    'height': ('z',),
    'velocity_command': ('vx', 'vy', 'yaw rate'),
    'linear_velocity_command': ('vx', 'vy'),
    'yaw_rate_command': ('yaw rate',),
    'gait_phase': ('sin', 'cos'),
}
SOURCES = [
    *TERMS,
    'device:NAME.FIELD',
    'mailbox:NAME',
    'output:NAME',
    'orientation:NAME',
    'file.py:function',
]


def make_term(name: str, situation: Situation, given: TermParameters) -> Read:
    """What computes a term; enables what it reads.

    Raises:
        CnoidControlError: there is no such term, or it cannot be had from this robot.
    """
    source = given.source or name
    kind, colon, rest = source.partition(':')
    if source in TERMS:
        return TERMS[source](situation, given)
    if kind == 'device' and colon:
        return _device(situation, rest)
    if kind == 'mailbox' and colon:
        return _mailbox(situation.io.mailbox(rest, Value))
    if kind == 'output' and colon:
        return _output(situation, rest)
    if kind == 'orientation' and colon:
        return ReferenceOrientation(situation, rest, given.link, given.quaternion, given.row)
    if colon:
        return _function(situation, source)
    raise CnoidControlError(f'unknown term {source!r}; {choices(SOURCES)}')


def element_names(
    source: str, size: int, situation: Situation, given: TermParameters
) -> list[str]:
    """Names of the values of a term: joints, axes, or numbers."""
    if source in JOINT_TERMS or source == 'last_action':
        ids = situation.joints if source == 'last_action' else _joint_ids(situation, given)
        return [situation.body.joint(int(i)).joint_name for i in ids]
    names = ELEMENTS.get(source, ())
    if len(names) != size:
        return [str(i) for i in range(size)]
    return list(names)


def _device(situation: Situation, text: str) -> Read:
    name, _, attribute = text.partition('.')
    device = find_device(situation.body, name)
    fields: tuple[str, ...] = getattr(device, 'measured_fields', ())
    if attribute not in fields:
        raise CnoidControlError(f'device {name!r} measures no {attribute!r}; {choices(fields)}')
    situation.io.enable_input(device)
    return lambda: np.ravel(getattr(device, attribute))


def _mailbox(mailbox: Mailbox[Value]) -> Read:
    value = np.zeros(1)

    def read() -> np.ndarray:
        message = mailbox.take_latest()
        if message is not None:
            value[0] = message.value
        return value

    return read


def _output(situation: Situation, name: str) -> Read:
    if name not in situation.outputs:
        raise CnoidControlError(
            f'the network has no output {name!r}; {choices(situation.outputs)}'
        )
    return lambda: situation.outputs[name]


def _function(situation: Situation, source: str) -> Read:
    from cnoid_control.plugin.registry import find_object

    function = find_object(source, situation.folder)
    if not callable(function):
        raise CnoidControlError(f'term {source!r} is no function')

    size: int | None = None

    def read() -> np.ndarray:
        nonlocal size
        try:
            values = np.ravel(np.asarray(function(situation), dtype=float))
        except CnoidControlError:
            raise
        except Exception as error:
            raise CnoidControlError(f'term {source!r}: {type(error).__name__}: {error}') from error
        if size is None:
            size = values.size
        elif values.size != size:
            # numpy would spread one value over all.
            raise CnoidControlError(
                f'term {source!r} returned {values.size} values at {situation.time:g} s, and '
                f'{size} in its first call: it must be as many in every call'
            )
        return values

    # Its first call says what it needs of the base; what nobody enables would stand still.
    base = situation.base
    situation.base = cast(Base, _EnablingBase(base))
    try:
        read()
    finally:
        situation.base = base
    return read


class _EnablingBase:
    """A base that has read whatever is asked of it."""

    def __init__(self, base: Base) -> None:
        self._base = base

    def __getattr__(self, what: str) -> Any:
        found = getattr(self._base, what)
        if callable(found) and what not in ('enable', 'tick', 'reset'):
            self._base.enable(what)
        return found


class Gait:
    """Phases that advance with each inference, and stand where no motion is commanded.

    Attributes:
        phases: the phases [rad], in [-pi, pi), always this array.
        sin: their sines, always this array.
        cos: their cosines, always this array.
    """

    def __init__(self, period: float, offsets: Sequence[float], standing: Sequence[float]) -> None:
        """Begin at the offsets.

        Args:
            period: time of a cycle in inferences.
            offsets: phases at the start [rad].
            standing: phases while the command is zero [rad]; empty where they go on.

        Raises:
            CnoidControlError: the two are not as many.
        """
        self._step = 2.0 * math.pi / period
        self._offsets, self._standing = list(offsets), list(standing)
        if len(self._standing) not in (0, len(self._offsets)):
            raise CnoidControlError(
                f'gait: {len(self._offsets)} offsets and {len(self._standing)} phases while it '
                'stands: as many of both, or none of these'
            )
        self.phases: np.ndarray = np.zeros(len(self._offsets))
        # Beside each other: as terms that follow each other they are copied as one.
        both = np.zeros((2, len(self._offsets)))
        self.sin: np.ndarray = both[0]
        self.cos: np.ndarray = both[1]
        self.reset()

    def reset(self) -> None:
        """Begin again."""
        self._count = 0
        self._stands = False
        self._set(self._offsets)

    def _set(self, phases: Sequence[float]) -> None:
        # One by one: there are two or four of them, and numpy takes longer for so few.
        for i, phase in enumerate(phases):
            self.phases[i], self.sin[i], self.cos[i] = phase, math.sin(phase), math.cos(phase)

    def advance(self, command: np.ndarray) -> None:
        """Go on by one inference."""
        if self._standing and not any(command.tolist()):
            if not self._stands:
                self._count = 0
                self._stands = True
                self._set(self._standing)
            return
        self._stands = False
        self._count += 1
        turned = self._count * self._step + math.pi
        self._set([(offset + turned) % (2.0 * math.pi) - math.pi for offset in self._offsets])
