"""What is wrong with a running system, in the order in which to mend it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from cnoid_control.exceptions import choices
from cnoid_control.ros.check.plan import SAME_RATE, Plan, Wanted, full_name
from cnoid_control.ros.check.survey import Controller, Manager, Survey, Topic
from cnoid_control.ros.robot.joint_states import UNKNOWN_NODE
from cnoid_control.ros.robot.parameters import INTERFACES, command_options
from cnoid_control.runtime.realtime import DEFAULT_PRIORITY

ERROR, WARNING = 'error', 'warning'
# A stamp that differs by more from the clock that it should be of is of another one [s].
CLOCK_OFFSET = 0.5
# Share of the period from which on jitter is worth a word.
JITTER = 0.25
# Periods without a message from which on a gap is worth a word.
GAP = 3.5
# Time that a measurement takes at least to say something of a rate [s].
SHORTEST = 0.5
# Commands at a lower rate than this are no control of forces [Hz].
EFFORT_RATE = 250.0


class Finding(NamedTuple):
    """Something that is wrong.

    Attributes:
        level: 'error' where nothing may be commanded before it is mended, else 'warning'.
        subject: what it is about.
        message: what was seen.
        remedy: what to do.
    """

    level: str
    subject: str
    message: str
    remedy: str


def find_problems(survey: Survey, plan: Plan, wanted: Wanted | None = None) -> list[Finding]:
    """Everything that is wrong: what hides other things comes first."""
    rules: tuple[Callable[[Survey, Plan, Wanted | None], Iterable[Finding]], ...] = (
        _graph,
        _managers,
        _descriptions,
        _configurations,
        _hardware,
        _joint_states,
        _clocks,
        _rates,
        _command_controllers,
        _commanders,
        _sensors,
        _limits,
        _machine,
    )
    found: list[Finding] = []
    for rule in rules:
        found += rule(survey, plan, wanted)
        if rule is _graph and found:
            # Where nobody is seen nothing else can be said.
            break
    return found


def _graph(survey: Survey, plan: Plan, wanted: Wanted | None) -> Iterator[Finding]:
    if not survey.nodes and not survey.joint_states and not survey.managers:
        computer = survey.computer
        yield Finding(
            ERROR,
            'graph',
            f'no other node is seen in domain {computer.domain} ({computer.middleware}, '
            f'discovery {computer.discovery})',
            'start the robot, or set ROS_DOMAIN_ID, RMW_IMPLEMENTATION and '
            'ROS_AUTOMATIC_DISCOVERY_RANGE to what it was started with',
        )


def _managers(survey: Survey, plan: Plan, wanted: Wanted | None) -> Iterator[Finding]:
    names = [one.name for one in survey.managers]
    if wanted is not None and not wanted.options.controller_manager:
        return
    if plan.manager is None:
        if wanted is not None and names:
            name = wanted.options.controller_manager
            yield Finding(
                ERROR,
                'controller_manager',
                f'{name!r} is not there; {choices(names)}',
                'set hardware.ros2_control.controller_manager, or start the node in its namespace',
            )
        elif names:
            yield Finding(
                ERROR,
                'controller_manager',
                f'there are several: {", ".join(names)}',
                'name the one that is meant by its --namespace',
            )
        else:
            yield Finding(
                ERROR,
                'controller_manager',
                'there is none',
                'start ros2_control_node; where commands go to topics that nobody manages, set '
                "hardware.ros2_control.controller_manager to ''",
            )
        return
    if plan.manager.problem:
        yield Finding(
            ERROR,
            plan.manager.name,
            f'it does not answer: {plan.manager.problem}',
            'see its log: it may wait for robot_description, or for a clock',
        )


def _descriptions(survey: Survey, plan: Plan, wanted: Wanted | None) -> Iterator[Finding]:
    description = survey.description
    if description is None or wanted is not None:
        return
    if len(set(description.publishers)) > 1:
        yield Finding(
            WARNING,
            description.topic,
            f'it has several publishers: {", ".join(description.publishers)}',
            'leave one: which one is read is chance',
        )
    if description.body is None:
        yield Finding(
            WARNING,
            description.topic,
            f'no robot description: {description.problem}',
            'give the model as robot.model, or have robot_state_publisher publish it',
        )


def _configurations(survey: Survey, plan: Plan, wanted: Wanted | None) -> Iterator[Finding]:
    if wanted is not None and wanted.problem:
        yield Finding(
            ERROR,
            wanted.name,
            wanted.problem,
            f'try it without the robot: cnoid_control run {wanted.name}',
        )


def _hardware(survey: Survey, plan: Plan, wanted: Wanted | None) -> Iterator[Finding]:
    manager = plan.manager
    if manager is None:
        return
    missing = {name for name, there in manager.command_interfaces.items() if not there}
    for component in manager.components:
        if component.state != 'active':
            missing -= set(component.commands)
            lost = 'its joints take no commands' if component.commands else 'it measures nothing'
            yield Finding(
                ERROR if component.commands else WARNING,
                manager.name,
                f'hardware component {component.name!r} ({component.plugin}) is '
                f'{component.state}: {lost}',
                f'ros2 control set_hardware_component_state {component.name} active',
            )
    if missing:
        yield Finding(
            ERROR,
            manager.name,
            f'command interfaces are not available: {_few(sorted(missing))}',
            'activate the hardware component: ros2 control set_hardware_component_state NAME '
            'active',
        )


def _joint_states(survey: Survey, plan: Plan, wanted: Wanted | None) -> Iterator[Finding]:
    topic = plan.joint_states
    if topic is None:
        yield _no_joint_states(survey, plan, wanted)
        return
    nodes = sorted({one.node for one in topic.publishers if UNKNOWN_NODE not in one.node})
    if len(nodes) > 1:
        yield Finding(
            ERROR,
            topic.name,
            f'it has several publishers: {", ".join(nodes)}',
            'leave one: the state of the robot must come from one',
        )
    yield from _incompatible(topic)
    timing = topic.timing
    if timing is None or not timing.count:
        seconds = timing.duration if timing is not None else 0.0
        yield Finding(
            ERROR,
            topic.name,
            f'nothing came in {seconds:.1f} s',
            f'see the log of {", ".join(nodes) or "its publisher"}: it may wait for a clock',
        )
        return
    if topic.problem:
        yield Finding(ERROR, topic.name, topic.problem, f'mend {", ".join(nodes)}')
    known = set(topic.joints)
    needed = _needed_joints(survey, plan, wanted)
    missing = [name for name in needed if name not in known]
    if missing:
        yield Finding(
            ERROR,
            topic.name,
            f'it lacks {_few(missing)}; it has {_few(topic.joints)}',
            "correct the names of the joints in the model, or joint_state_broadcaster's `joints`",
        )
    unknown = [name for name in topic.unknown if name in needed]
    if unknown:
        yield Finding(
            ERROR,
            topic.name,
            f'positions that are not numbers: {_few(unknown)}',
            'the hardware gives no state yet: see its log, or its state interfaces',
        )


def _no_joint_states(survey: Survey, plan: Plan, wanted: Wanted | None) -> Finding:
    names = [one.name for one in survey.joint_states]
    broadcasters = [
        one
        for one in (plan.manager.controllers if plan.manager is not None else ())
        if one.type.startswith('joint_state_broadcaster/')
    ]
    meant = wanted.options.joint_states if wanted is not None else 'joint_states'
    if names:
        message = f'nobody publishes {meant!r}; {choices(names)}'
        remedy = 'set hardware.ros2_control.joint_states, or the namespace of the node'
    elif not broadcasters:
        message = 'nobody publishes joint states, and no joint_state_broadcaster is loaded'
        remedy = 'spawner joint_state_broadcaster'
    else:
        states = ', '.join(f'{one.name} is {one.state}' for one in broadcasters)
        message = f'nobody publishes joint states: {states}'
        remedy = f'ros2 control switch_controllers --activate {broadcasters[0].name}'
    return Finding(ERROR, 'joint states', message, remedy)


def _needed_joints(survey: Survey, plan: Plan, wanted: Wanted | None) -> list[str]:
    if wanted is not None:
        return wanted.joints
    return sorted(plan.commanded_joints)


def _rates(survey: Survey, plan: Plan, wanted: Wanted | None) -> Iterator[Finding]:
    topic = plan.joint_states
    timing = topic.timing if topic is not None else None
    if topic is None or timing is None or timing.count < 3:
        return
    if timing.duration < SHORTEST or _stands_still(topic):
        return
    manager = plan.manager
    if wanted is not None and abs(timing.rate - wanted.rate) > SAME_RATE * wanted.rate:
        ticks = timing.rate / wanted.options.decimation
        yield Finding(
            ERROR,
            'rate',
            f'{topic.name} comes at {timing.rate:.4g} Hz, and {wanted.name} expects '
            f'{wanted.rate:g} Hz',
            f'set rate: {ticks:.4g}, or the update_rate of controller_manager',
        )
    elif manager is not None and manager.update_rate:
        broadcaster = _broadcaster_of(manager, topic)
        expected = broadcaster.update_rate if broadcaster is not None else 0
        expected = expected or round(manager.update_rate)
        if abs(timing.rate - expected) > SAME_RATE * expected:
            yield Finding(
                WARNING,
                'rate',
                f'{topic.name} comes at {timing.rate:.4g} Hz, and its update_rate is '
                f'{expected:g} Hz',
                'the manager cannot keep its rate, or its hardware cannot: see /diagnostics',
            )
    period = 1.0 / timing.rate if timing.rate else 0.0
    calmer = 'give the manager real-time priority, and the machine less to do'
    if survey.computer.shared_memory:
        calmer = f'do without shared memory first, see transport below; then {calmer}'
    if timing.jitter > JITTER * period:
        yield Finding(
            WARNING,
            'rate',
            f'{topic.name} comes irregularly: the time between two messages varies by '
            f'{1e3 * timing.jitter:.2g} ms, the longest was {1e3 * timing.longest:.3g} ms',
            calmer,
        )
    elif timing.longest > GAP * period:
        yield Finding(
            WARNING,
            'rate',
            f'{topic.name} had a gap of {1e3 * timing.longest:.3g} ms',
            calmer,
        )
    if timing.lost:
        yield Finding(
            WARNING,
            'transport',
            f'{topic.name}: {timing.lost} of {timing.lost + timing.count} messages were lost',
            'use a wired network, or larger socket buffers (net.core.rmem_max)',
        )


def _broadcaster_of(manager: Manager, topic: Topic) -> Controller | None:
    nodes = {one.node.rpartition('/')[2] for one in topic.publishers}
    return next((one for one in manager.controllers if one.name in nodes), None)


def _clocks(survey: Survey, plan: Plan, wanted: Wanted | None) -> Iterator[Finding]:
    clock, manager, topic = survey.clock, plan.manager, plan.joint_states
    follows = (manager is not None and manager.use_sim_time) or (
        wanted is not None and wanted.use_sim_time
    )
    if follows and clock is None:
        who = manager.name if manager is not None and manager.use_sim_time else 'the configuration'
        yield Finding(
            ERROR,
            '/clock',
            f'{who} has use_sim_time, and nobody publishes /clock',
            'start the simulator or its bridge, or set use_sim_time to false everywhere',
        )
    if clock is not None:
        nodes = sorted({one.node for one in clock.publishers})
        if len(nodes) > 1:
            yield Finding(
                ERROR,
                '/clock',
                f'it has several publishers: {", ".join(nodes)}',
                'leave one: time would jump to and fro',
            )
        if _stands_still(clock):
            yield Finding(
                WARNING,
                '/clock',
                'simulated time stands still',
                'let the simulator run; one that is paced waits for its first command',
            )
            return
    timing = topic.timing if topic is not None else None
    if topic is None or timing is None or not timing.count:
        return
    if _stands_still(topic):
        yield Finding(
            ERROR,
            topic.name,
            'its stamps stand still: every message repeats the last one',
            'see whether the hardware is alive, and whether its clock runs',
        )
    elif clock is None and abs(timing.stamp_age) > CLOCK_OFFSET:
        way = 'behind' if timing.stamp_age > 0 else 'ahead of'
        yield Finding(
            ERROR,
            topic.name,
            f'its stamps are {abs(timing.stamp_age):.3g} s {way} the clock of this machine',
            'synchronise the clocks (chrony), or start /clock where the stamps are simulated time',
        )


def _stands_still(topic: Topic) -> bool:
    """Whether messages come, with one stamp."""
    timing = topic.timing
    return timing is not None and timing.count > 2 and not timing.stamp_rate


def _command_controllers(survey: Survey, plan: Plan, wanted: Wanted | None) -> Iterator[Finding]:
    manager = plan.manager
    if manager is None or manager.problem:
        return
    loaded = {one.name: one for one in manager.controllers}
    for controller in loaded.values():
        if controller.problem and controller.is_command_controller:
            yield Finding(
                ERROR,
                controller.name,
                controller.problem,
                'see whether its node is alive: nobody says which joints it has, in which order',
            )
    if wanted is None:
        if not plan.commands:
            yield Finding(
                ERROR,
                'command controllers',
                f'none is loaded; there are: {_few(list(loaded)) or "no controllers"}',
                'load a forward_command_controller: spawner --inactive NAME -p FILE.yaml',
            )
    else:
        yield from _lacking(loaded, plan, wanted)
    for controller in _chosen(plan):
        if controller.interface not in INTERFACES:
            yield Finding(
                ERROR,
                controller.name,
                f'it commands {controller.interface!r}; {choices(INTERFACES)}',
                'choose another command controller',
            )
        if controller.is_chained:
            yield Finding(
                ERROR,
                controller.name,
                'it is chained: it takes its references from another controller',
                'deactivate the controller before it in the chain',
            )
        if not controller.receivers and controller.state == 'active':
            yield Finding(
                ERROR,
                controller.name,
                f'nobody subscribes {controller.topic}',
                'see its log; remap the topic by hardware.ros2_control.commands.NAME.topic',
            )
        for receiver in controller.receivers:
            if receiver.incompatible:
                yield Finding(
                    ERROR,
                    controller.topic,
                    f'{receiver.node} would not get the commands: {receiver.incompatible}',
                    'change its quality of service by qos_overrides',
                )
        if controller.type.split('/')[0] in REMOVED_PACKAGES:
            yield Finding(
                WARNING,
                controller.name,
                f'{controller.type} is not in ROS 2 Lyrical any more',
                'use forward_command_controller/ForwardCommandController with interface_name: '
                f'{controller.interface}',
            )
    rate = plan.rate
    if 'effort' in plan.commands and 0.0 < rate < EFFORT_RATE and wanted is not None:
        yield Finding(
            WARNING,
            'rate',
            f'efforts are commanded at {rate:g} Hz',
            f'command positions or velocities, or run the manager at {EFFORT_RATE:g} Hz or more',
        )


REMOVED_PACKAGES = ('position_controllers', 'velocity_controllers', 'effort_controllers')


def _lacking(loaded: dict[str, Controller], plan: Plan, wanted: Wanted) -> Iterator[Finding]:
    options = command_options(wanted.options)
    for interface, joints in plan.uncovered.items():
        named = [name for name, one in options.items() if one.interface == interface]
        states = [
            f'{name} has {_few(loaded[name].joints)}'
            if name in loaded
            else f'{name} is not loaded'
            for name in named
        ]
        others = [
            one.name
            for one in loaded.values()
            if one.is_command_controller and one.interface == interface
        ]
        yield Finding(
            ERROR,
            'command controllers',
            f'none of the configured ones commands the {interface} of {_few(joints)}: '
            f'{"; ".join(states) or f"none has the interface {interface}"}',
            'name one under hardware.ros2_control.commands, or spawn it inactive; loaded: '
            f'{", ".join(others) or "none"}',
        )
    for controller in _chosen(plan):
        unknown = [joint for joint in controller.joints if joint not in wanted.joints]
        if unknown:
            yield Finding(
                ERROR,
                controller.name,
                f'it has {_few(unknown)}, which are not joints of the robot; '
                f'{choices(wanted.joints)}',
                'correct the model, or the joints of the controller',
            )
        if controller.state not in ('active', 'inactive'):
            yield Finding(
                ERROR,
                controller.name,
                f'it is {controller.state}',
                f'ros2 control set_controller_state {controller.name} inactive',
            )


def _commanders(survey: Survey, plan: Plan, wanted: Wanted | None) -> Iterator[Finding]:
    if survey.control_nodes:
        yield Finding(
            ERROR,
            'other commanders',
            f'a control node is running: {", ".join(survey.control_nodes)}',
            'end it first: two nodes would command one robot',
        )
    for controller in _chosen(plan):
        others = sorted({one for one in controller.commanders if not _is_own(one, survey)})
        if others:
            yield Finding(
                ERROR,
                'other commanders',
                f'{controller.name} is commanded by {", ".join(others)}',
                'end it first: commands of both would alternate',
            )
    manager = plan.manager
    if manager is None:
        return
    chosen = {one.name for one in _chosen(plan)}
    joints = plan.commanded_joints
    for controller in manager.controllers:
        claims = [one for one in controller.claimed if one.rpartition('/')[0] in joints]
        if controller.name in chosen or controller.state != 'active' or not claims:
            continue
        yield Finding(
            WARNING,
            'other commanders',
            f'{controller.name} is active on {_few(claims)}',
            'nothing, where this is meant: it is deactivated when the node is activated',
        )


def _is_own(node: str, survey: Survey) -> bool:
    """Whether a commander is a control node, which is reported once, or its heartbeat monitor."""
    return any(node == own or node == f'{own}_heartbeat' for own in survey.control_nodes)


def _sensors(survey: Survey, plan: Plan, wanted: Wanted | None) -> Iterator[Finding]:
    published = {one.name: one for one in survey.sensors}
    for device, name in plan.devices.items():
        full = full_name(name, plan.namespace)
        topic = published.get(full)
        if topic is None:
            yield Finding(
                ERROR,
                f'device {device}',
                f'nobody publishes {full}; {choices(published)}',
                f'activate its broadcaster, or set devices.{device}',
            )
            continue
        if topic.timing is not None and not topic.timing.count:
            yield Finding(
                ERROR,
                f'device {device}',
                f'nothing came on {full} in {topic.timing.duration:.1f} s',
                'see whether its broadcaster is active',
            )
        if topic.problem:
            yield Finding(
                ERROR, f'device {device}', f'{full}: {topic.problem}', 'see the hardware behind it'
            )
        yield from _incompatible(topic)


def _incompatible(topic: Topic) -> Iterator[Finding]:
    for publisher in topic.publishers:
        if publisher.incompatible:
            yield Finding(
                ERROR,
                topic.name,
                f'messages of {publisher.node} would not arrive: {publisher.incompatible}',
                'change its quality of service by qos_overrides',
            )


def _limits(survey: Survey, plan: Plan, wanted: Wanted | None) -> Iterator[Finding]:
    description = survey.description
    for note in description.notes if description is not None else ():
        yield Finding(
            WARNING,
            'limits',
            note,
            'correct the description, or set limits.joints in the configuration',
        )


def _machine(survey: Survey, plan: Plan, wanted: Wanted | None) -> Iterator[Finding]:
    computer = survey.computer
    if computer.realtime_priority < DEFAULT_PRIORITY:
        yield Finding(
            WARNING,
            'scheduling',
            f'this user may ask for real-time priority {computer.realtime_priority} at most',
            f'allow rtprio {DEFAULT_PRIORITY} or more in /etc/security/limits.d: expect late '
            'ticks on a busy machine',
        )
    if computer.shared_memory:
        yield Finding(
            WARNING,
            'transport',
            f'{computer.shared_memory} ports of this domain are in shared memory of Fast DDS: a '
            'reader that is killed can stall the joint states of all others',
            'start the robot with FASTDDS_BUILTIN_TRANSPORTS=UDPv4, or with the profile '
            'config/loopback.xml: see docs/setup.md',
        )
    if computer.cores < 2:
        yield Finding(
            WARNING, 'scheduling', 'this process has one core', 'give the controller one more'
        )


def _chosen(plan: Plan) -> list[Controller]:
    return [one for group in plan.commands.values() for one in group]


# More names than this are counted.
MANY = 8


def _few(names: list[str]) -> str:
    """Names, the first ones where there are many."""
    if len(names) <= MANY:
        return ', '.join(names)
    return f'{", ".join(names[:MANY])} and {len(names) - MANY} more'
