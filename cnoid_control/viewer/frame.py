"""One moment of a run as it is shown, and its bytes."""

from __future__ import annotations

import dataclasses
import json
import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# What the state of a run is called.
READY, RUNNING, PAUSED = 'ready', 'running', 'paused'
SAFE_STATE, ESTOP, ENDED = 'safe state', 'e-stop', 'ended'

_SIZE = struct.Struct('<I')
# Arrays in the bytes begin at multiples of this, as a view on them wants.
_ALIGN = 8


def _empty() -> np.ndarray:
    return np.zeros(0)


@dataclass
class Frame:
    """What is known of one moment.

    Vectors of joints are in joint-id order [rad, rad/s, N m] or [m, m/s, N]. An array that is
    empty is not known: a source has what it has.

    Attributes:
        time: the robot's time [s].
        tick: number of the tick.
        state: one of the states above.
        reason: why it is in that state, where there is a reason.
        controller: name of the controller that has the robot.
        revision: another number when the description of the source has changed.
        speed: simulated time per wall-clock time, measured; 0 where not known.
        q, dq: measured displacements and velocities, shape (num_joints,).
        u: efforts, measured or, where the joint is commanded by them, commanded.
        q_target, dq_target: what was commanded, as it was sent.
        q_wanted: q_target before limits and the safe state acted.
        root: pose of the root link, x y z and quaternion x y z w, shape (7,).
        root_motion: its linear and angular velocity in world axes, shape (6,).
        limited: joints that a limit acts on since the last frame, by the kind of the limit.
        contacts: one row per contact point: index of the link, position, force on the link;
            world axes [m, N], shape (points, 7).
        devices: measured fields of the devices, by device and field (`F`, `image`, ...).
        log: what the controllers log of their own, by 'controller/name'; see `moments` for the
            tasks and the estimate of the base in it.
        compute: mean and longest time from reading to commanding since the last frame [s].
        period: mean and longest time between two ticks since the last frame [s].
        things: poses of what moves besides, x y z and quaternion x y z w, by name.
    """

    time: float = 0.0
    tick: int = 0
    state: str = READY
    reason: str = ''
    controller: str = ''
    revision: int = 0
    speed: float = 0.0
    q: np.ndarray = field(default_factory=_empty)
    dq: np.ndarray = field(default_factory=_empty)
    u: np.ndarray = field(default_factory=_empty)
    q_target: np.ndarray = field(default_factory=_empty)
    dq_target: np.ndarray = field(default_factory=_empty)
    q_wanted: np.ndarray = field(default_factory=_empty)
    root: np.ndarray = field(default_factory=_empty)
    root_motion: np.ndarray = field(default_factory=_empty)
    limited: dict[str, list[str]] = field(default_factory=dict)
    contacts: np.ndarray = field(default_factory=lambda: np.zeros((0, 7)))
    devices: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    log: dict[str, np.ndarray] = field(default_factory=dict)
    compute: np.ndarray = field(default_factory=_empty)
    period: np.ndarray = field(default_factory=_empty)
    things: dict[str, np.ndarray] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """A head in JSON that says where each array lies, and the arrays."""
        parts: list[bytes] = []
        values = {name.name: getattr(self, name.name) for name in dataclasses.fields(self)}
        head = json.dumps(_pack(values, parts, [0])).encode()
        head += b' ' * (-(_SIZE.size + len(head)) % _ALIGN)
        return b''.join([_SIZE.pack(len(head)), head, *parts])

    @classmethod
    def from_bytes(cls, data: bytes) -> Frame:
        """Frame of its bytes; its arrays are views on them, and read-only."""
        (size,) = _SIZE.unpack_from(data)
        start = _SIZE.size + size
        values = _unpack(json.loads(data[_SIZE.size : start]), data, start)
        return cls(**values)


def _pack(value: Any, parts: list[bytes], place: list[int]) -> Any:
    """Value whose arrays are replaced by where they lie in the parts."""
    if isinstance(value, np.ndarray):
        data = np.ascontiguousarray(value).tobytes()
        parts += [data, bytes(-len(data) % _ALIGN)]
        start = place[0]
        place[0] += len(data) + len(parts[-1])
        return {'@': [value.dtype.str, list(value.shape), start]}
    if isinstance(value, dict):
        return {name: _pack(part, parts, place) for name, part in value.items()}
    return value


def _unpack(value: Any, data: bytes, base: int) -> Any:
    if not isinstance(value, dict):
        return value
    if '@' not in value:
        return {name: _unpack(part, data, base) for name, part in value.items()}
    kind, shape, start = value['@']
    count = int(np.prod(shape, dtype=int))
    return np.frombuffer(data, np.dtype(kind), count, base + start).reshape(shape)
