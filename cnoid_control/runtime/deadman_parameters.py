"""Options of the process that stops the robot when the node goes silent."""

from __future__ import annotations

from dataclasses import dataclass

from cnoid_control.parameters import parameter

# Above the node's own priority: it must run when the node does not let go of a core.
PRIORITY = 60


@dataclass
class DeadmanParameters:
    """The `deadman` section of a parameter file."""

    node: str = parameter('cnoid_control', 'node whose `~/joint_commands` are watched')
    timeout: float = parameter(
        0.035, 'silence after which the robot is stopped', unit='s', minimum=0.001, maximum=10.0
    )
    grace: float = parameter(
        1.0,
        'time for which commands must have come steadily before it is armed',
        unit='s',
        minimum=0.0,
        maximum=60.0,
    )
    repeat: float = parameter(
        0.5, 'time for which the safe command is repeated', unit='s', minimum=0.0, maximum=60.0
    )
    realtime_priority: int = parameter(
        PRIORITY, 'SCHED_FIFO priority; 0 for none', minimum=0, maximum=99
    )
