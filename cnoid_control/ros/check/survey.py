"""What was seen of a running system: plain data, for rules, tables and JSON."""

from __future__ import annotations

from dataclasses import dataclass, field

from cnoid_control.body import Body


@dataclass
class Endpoint:
    """One publisher or subscription of a topic.

    Attributes:
        node: full name of its node.
        reliability: 'reliable' or 'best_effort'.
        durability: 'volatile' or 'transient_local'.
        incompatible: why nothing would pass between it and the endpoint that the control node
            would have; empty where all passes.
    """

    node: str
    reliability: str
    durability: str
    incompatible: str = ''


@dataclass
class Timing:
    """How regularly messages of a topic arrive.

    Attributes:
        count: messages that came.
        duration: time for which they were counted [s].
        rate: messages per second, between the first and the last [Hz]; 0 for less than two.
        jitter: standard deviation of the time between two messages [s].
        longest: longest time between two messages [s].
        lost: messages that the publisher counted and that did not come.
        repeated: messages with the stamp of the one before.
        stamp_rate: stamps per second of their own clock [Hz]; 0 where they stand still.
        stamp_age: stamp of the last message before the time of its arrival on this machine's
            clock [s].
        has_stamps: whether the messages are stamped.
    """

    count: int = 0
    duration: float = 0.0
    rate: float = 0.0
    jitter: float = 0.0
    longest: float = 0.0
    lost: int = 0
    repeated: int = 0
    stamp_rate: float = 0.0
    stamp_age: float = 0.0
    has_stamps: bool = False


@dataclass
class Topic:
    """A topic that the control node would read.

    Attributes:
        name: full name.
        type: ROS type.
        publishers: who publishes it.
        timing: as measured; None where it was not.
        joints: names in a joint state, in its order; empty for other messages.
        unknown: joints whose position was no number in the last message.
        fields: arrays of a joint state that have values: position, velocity, effort.
        problem: what is wrong with the last message; empty for nothing.
    """

    name: str
    type: str
    publishers: list[Endpoint] = field(default_factory=list)
    timing: Timing | None = None
    joints: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    problem: str = ''


@dataclass
class Controller:
    """A controller that a controller_manager has loaded.

    Attributes:
        name: its name.
        type: its plugin.
        state: its life-cycle state.
        required: command interfaces that it needs, as 'joint/interface'.
        claimed: command interfaces that it has.
        joints: its joints in its own order; empty for a broadcaster.
        interface: interface that it would be commanded through; empty where it takes no commands
            of ours.
        kind: 'forward' or 'trajectory', as `hardware.ros2_control.commands` has it; empty where
            it takes no commands of ours.
        sensor: sensor that a broadcaster reads; empty for none.
        update_rate: its own rate [Hz]; 0 for the manager's.
        topic: full name of its command topic; empty for none.
        receivers: its subscriptions of that topic.
        commanders: nodes that publish to that topic, or have a client of its action.
        is_chained: whether it gets its references from another controller.
        problem: why it could not be asked; empty for nothing.
    """

    name: str
    type: str
    state: str
    required: list[str] = field(default_factory=list)
    claimed: list[str] = field(default_factory=list)
    joints: list[str] = field(default_factory=list)
    interface: str = ''
    kind: str = ''
    sensor: str = ''
    update_rate: int = 0
    topic: str = ''
    receivers: list[Endpoint] = field(default_factory=list)
    commanders: list[str] = field(default_factory=list)
    is_chained: bool = False
    problem: str = ''

    @property
    def is_command_controller(self) -> bool:
        """Whether the control node can command joints through it."""
        return bool(self.kind)


@dataclass
class Component:
    """A hardware component of a controller_manager.

    Attributes:
        name: its name.
        plugin: its plug-in.
        state: its life-cycle state.
        rate: how often it is read and written [Hz]; 0 where it is not told.
        commands: its command interfaces, as 'joint/interface'.
    """

    name: str
    plugin: str
    state: str
    rate: int = 0
    commands: list[str] = field(default_factory=list)


@dataclass
class Manager:
    """A controller_manager.

    Attributes:
        name: full name.
        update_rate: its rate as configured [Hz]; 0 where it did not say.
        use_sim_time: whether it goes by /clock.
        controllers: what it has loaded.
        components: its hardware components; none where it does not tell them.
        command_interfaces: its command interfaces: whether each is available.
        state_interfaces: its state interfaces.
        problem: why it did not answer; empty where it did.
    """

    name: str
    update_rate: float = 0.0
    use_sim_time: bool = False
    controllers: list[Controller] = field(default_factory=list)
    components: list[Component] = field(default_factory=list)
    command_interfaces: dict[str, bool] = field(default_factory=dict)
    state_interfaces: list[str] = field(default_factory=list)
    problem: str = ''


@dataclass
class Description:
    """The robot's description.

    Attributes:
        topic: where it was published.
        publishers: who publishes it.
        body: the robot; None where there is none.
        problem: why there is none; empty where there is one.
        notes: what is wrong with its limits, one sentence each.
    """

    topic: str
    publishers: list[str] = field(default_factory=list)
    body: Body | None = None
    problem: str = ''
    notes: list[str] = field(default_factory=list)


@dataclass
class Computer:
    """What this machine gives a controller.

    Attributes:
        domain: ROS_DOMAIN_ID.
        middleware: implementation of the middleware.
        discovery: range of discovery.
        transport: what the middleware sends with.
        cores: processor cores.
        kernel: its version, with 'PREEMPT_RT' where it is that.
        realtime_priority: highest SCHED_FIFO priority that this user may ask for; 0 for none.
        locked_memory: memory that this user may lock [bytes]; -1 for any.
        shared_memory: ports of the domain that somebody reads in shared memory of Fast DDS.
    """

    domain: int = 0
    middleware: str = ''
    discovery: str = ''
    transport: str = ''
    cores: int = 1
    kernel: str = ''
    realtime_priority: int = 0
    locked_memory: int = -1
    shared_memory: int = 0


@dataclass
class Survey:
    """All that was seen.

    Attributes:
        computer: this machine.
        nodes: full names of the nodes, hidden ones left out.
        managers: the controller_managers.
        joint_states: topics of joint states that somebody publishes.
        sensors: topics of sensors that somebody publishes.
        clock: /clock; None where nobody publishes it.
        description: the robot's description; None where it was not looked for.
        control_nodes: nodes of this package that may command a robot already.
    """

    computer: Computer = field(default_factory=Computer)
    nodes: list[str] = field(default_factory=list)
    managers: list[Manager] = field(default_factory=list)
    joint_states: list[Topic] = field(default_factory=list)
    sensors: list[Topic] = field(default_factory=list)
    clock: Topic | None = None
    description: Description | None = None
    control_nodes: list[str] = field(default_factory=list)
