"""A stretch of a motion queue, planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cnoid_control.controllers.motion_queue.motion_state import MotionState
from cnoid_control.controllers.motion_queue.pieces import Piece
from cnoid_control.controllers.motion_queue.requests import Request


@dataclass
class Stretch:
    """The motion that serves one request, or a stop that the queue has put in.

    Attributes:
        request: what was asked for; None for such a stop.
        pieces: the motion.
        duration: its time [s].
    """

    request: Request | None
    pieces: Sequence[Piece]
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        """Sum the times up."""
        self.duration = sum(piece.duration for piece in self.pieces)

    def at(self, time: float) -> MotionState:
        """Commanded state at a time after its begin [s]."""
        for piece in self.pieces[:-1]:
            if time < piece.duration:
                return piece.at(time)
            time -= piece.duration
        return self.pieces[-1].at(time)

    @property
    def end(self) -> MotionState:
        """Commanded state at its end."""
        return self.at(self.duration)
