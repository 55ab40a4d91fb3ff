"""Options of the node besides the configuration of the run."""

from __future__ import annotations

from dataclasses import dataclass

from cnoid_control.parameters import parameter
from cnoid_control.ros.scheduling import DEFAULT_PRIORITY


@dataclass
class NodeParameters:
    """What only the node needs to know."""

    robot_description: str = parameter(
        '', 'URDF text of the robot; where empty, robot.model is used, and without that the topic'
    )
    robot_description_topic: str = parameter(
        'robot_description', 'latched topic of the URDF text', read_only=True
    )
    robot_description_timeout: float = parameter(
        20.0, 'longest wait for the topic', unit='s', minimum=0.0, maximum=3600.0
    )
    realtime_priority: int = parameter(
        DEFAULT_PRIORITY,
        'SCHED_FIFO priority of the process; 0 for none, and none in lock-step',
        minimum=0,
        maximum=99,
        read_only=True,
    )
    allow_file_plugins: bool = parameter(
        False,
        'whether a controller of a file (path/to/file.py:Class) may be swapped in while running',
        read_only=True,
    )
    swap_time: float = parameter(
        0.3,
        "time in which commands move from the old controller's to the new one's",
        unit='s',
        minimum=0.0,
        maximum=60.0,
    )
