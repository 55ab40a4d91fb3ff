"""Options of a recorded run as hardware."""

from __future__ import annotations

from dataclasses import dataclass

from cnoid_control.parameters import parameter


@dataclass
class ReplayParameters:
    """The log that is played."""

    file: str = parameter(description='log file of the run')
