"""Options of the MuJoCo node besides the configuration of the run."""

from __future__ import annotations

from dataclasses import dataclass, field

from cnoid_control.parameters import parameter
from cnoid_control.ros.sim.controllers import BEST_EFFORT, STRICT
from cnoid_control.ros.sim.pacing import PACED, PACINGS
from cnoid_control.runtime.realtime import DEFAULT_PRIORITY

CONTROLLERS, TOPIC = 'controllers', 'topic'
STRICTNESS = {'best_effort': BEST_EFFORT, 'strict': STRICT}


@dataclass
class PushParameters:
    """The push that the service `~/push` gives."""

    link: str = parameter('', 'link that is pushed; the root where empty')
    point: list[float] = parameter(
        [], 'where, in the axes of the link; its centre of mass where empty', unit='m'
    )
    force: list[float] = parameter([150.0, 0.0, 0.0], 'force, world axes', unit='N')
    duration: float = parameter(0.1, 'how long it acts', unit='s', minimum=0.0, maximum=60.0)


@dataclass
class SimulationParameters:
    """How the simulated robot goes with its controller, and what it serves."""

    pacing: str = parameter(
        PACED,
        'free: goes with the clock; paced: with the clock, but waits for late commands; '
        'lockstep: every state waits for its command',
        choices=PACINGS,
        read_only=True,
    )
    real_time_factor: float = parameter(
        1.0, 'simulated time per time; 0 for as fast as possible', minimum=0.0, maximum=1000.0
    )
    command_age: float = parameter(
        0.002,
        'simulated age of the last command from which a paced robot waits for the next one',
        unit='s',
        minimum=0.0,
        maximum=1.0,
        read_only=True,
    )
    command_timeout: float = parameter(
        0.5, 'longest wait for a command', unit='s', minimum=0.001, maximum=60.0
    )
    hold_time: float = parameter(
        -1.0,
        'time for which commands must have been finite and fresh before the robot is let go; '
        'negative for 1 s when free-running or behind a manager, and 0 otherwise',
        unit='s',
        maximum=60.0,
        read_only=True,
    )
    interface: str = parameter(
        CONTROLLERS,
        'controllers: what ros2_control serves; topic: what JointStateTopicSystem speaks',
        choices=(CONTROLLERS, TOPIC),
        read_only=True,
    )
    joint_commands_topic: str = parameter(
        'robot_joint_commands', 'commands where the interface is topic', read_only=True
    )
    joint_states_topic: str = parameter(
        'robot_joint_states', 'states where the interface is topic', read_only=True
    )
    active_controllers: list[str] = parameter(
        [], 'command controllers that are active from the start', read_only=True
    )
    default_strictness: str = parameter(
        'strict',
        'strictness of a switch of controllers that names none: best_effort as in Jazzy and '
        'Kilted, strict as from Lyrical on',
        choices=tuple(STRICTNESS),
        read_only=True,
    )
    clock_rate: float = parameter(
        100.0, 'rate of /clock; 0 for none', unit='Hz', minimum=0.0, maximum=1e5, read_only=True
    )
    root_rate: float = parameter(
        -1.0,
        'rate of ~/root and /tf; 0 for none; negative for 100 Hz, but in lock-step a ~/root with '
        'every state where hardware.ros2_control.odometry is set, whose reader needs it',
        unit='Hz',
        maximum=1e5,
        read_only=True,
    )
    link_frames: bool = parameter(
        True,
        'whether /tf has all links and devices, as robot_state_publisher would publish them, or '
        'the root alone; the root alone where the interface is topic',
        read_only=True,
    )
    frame_prefix: str = parameter(
        'auto',
        "what the names of all frames begin with; auto for the node's namespace",
        read_only=True,
    )
    realtime_priority: int = parameter(
        DEFAULT_PRIORITY,
        'SCHED_FIFO priority of the process; 0 for none, and none in lock-step',
        minimum=0,
        maximum=99,
        read_only=True,
    )
    push: PushParameters = field(default_factory=PushParameters)
