"""What of a running system a control node would use."""

from __future__ import annotations

from dataclasses import dataclass, field

from cnoid_control.body import StateFlag
from cnoid_control.body.channels import EFFORT
from cnoid_control.ros.check.survey import Controller, Manager, Survey, Topic
from cnoid_control.ros.robot.command_controllers import interfaces_of
from cnoid_control.ros.robot.parameters import Ros2ControlParameters, command_options

# A measured rate is taken for the manager's where it is as near as this share.
SAME_RATE = 0.05


@dataclass
class Wanted:
    """What a configuration and its controllers ask for.

    Attributes:
        name: name of the configuration.
        joints: all joints of its robot.
        commands: joints that are commanded, by interface.
        devices: devices that are read, with their topics.
        rate: joint states per second that it expects [Hz].
        options: the section `hardware.ros2_control`.
        use_sim_time: whether its node goes by /clock.
        problem: why its controllers cannot be initialized; empty where they can.
        with_gains: joints that are commanded with gains besides.
    """

    name: str
    joints: list[str]
    commands: dict[str, list[str]]
    devices: dict[str, str]
    rate: float
    options: Ros2ControlParameters
    use_sim_time: bool = False
    problem: str = ''
    with_gains: list[str] = field(default_factory=list)


@dataclass
class Plan:
    """What would be used.

    Attributes:
        manager: the manager; None for none, or where several could be meant.
        joint_states: the topic of the joint states; None for none, or where several could be
            meant.
        rate: joint states per second [Hz]; 0 where nothing says it.
        commands: the command controllers by interface, in the order in which they are taken.
        devices: topics of the devices by name.
        uncovered: joints that are commanded and that no command controller has, by interface.
    """

    manager: Manager | None = None
    joint_states: Topic | None = None
    rate: float = 0.0
    commands: dict[str, list[Controller]] = field(default_factory=dict)
    devices: dict[str, str] = field(default_factory=dict)
    uncovered: dict[str, list[str]] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        """Namespace of the manager; empty for the root, or without a manager."""
        return self.manager.name.rpartition('/')[0] if self.manager is not None else ''

    @property
    def commanded_joints(self) -> set[str]:
        """Joints of the command controllers that would be used."""
        return {joint for group in self.commands.values() for one in group for joint in one.joints}


def make_plan(survey: Survey, wanted: Wanted | None = None, namespace: str = '') -> Plan:
    """What a configuration, or the most natural one where there is none, would use.

    Args:
        survey: what there is.
        wanted: what a configuration asks for.
        namespace: namespace that the control node would be in.
    """
    plan = Plan(manager=_manager(survey, wanted, namespace))
    plan.joint_states = _joint_states(survey, plan.manager, wanted, namespace)
    plan.rate = wanted.rate if wanted is not None else _rate(plan)
    if plan.manager is not None:
        if wanted is None:
            plan.commands = _natural_commands(plan.manager)
        else:
            plan.commands, plan.uncovered = _wanted_commands(plan.manager, wanted)
    plan.devices = dict(wanted.devices) if wanted is not None else _devices(survey, plan.manager)
    return plan


def full_name(name: str, namespace: str) -> str:
    """Absolute name of a topic or node."""
    return name if name.startswith('/') else f'/{namespace.strip("/")}/{name}'.replace('//', '/')


def _manager(survey: Survey, wanted: Wanted | None, namespace: str) -> Manager | None:
    managers = survey.managers
    if wanted is not None:
        name = full_name(wanted.options.controller_manager, namespace)
        return next((one for one in managers if one.name == name), None)
    if namespace:
        inside = full_name('', namespace)
        managers = [one for one in managers if one.name.startswith(inside)]
    return managers[0] if len(managers) == 1 else None


def _joint_states(
    survey: Survey, manager: Manager | None, wanted: Wanted | None, namespace: str
) -> Topic | None:
    if wanted is not None:
        name = full_name(wanted.options.joint_states, namespace)
        return next((one for one in survey.joint_states if one.name == name), None)
    candidates = [one for one in survey.joint_states if one.name.endswith('/joint_states')]
    if manager is not None:
        beside = full_name('joint_states', manager.name.rpartition('/')[0])
        candidates = [one for one in candidates if one.name == beside] or candidates
    return candidates[0] if len(candidates) == 1 else None


def _rate(plan: Plan) -> float:
    """Rate of the joint states: the manager's where they come at it, else as measured."""
    topic = plan.joint_states
    measured = topic.timing.rate if topic is not None and topic.timing is not None else 0.0
    configured = plan.manager.update_rate if plan.manager is not None else 0.0
    if configured and (not measured or abs(measured - configured) <= SAME_RATE * configured):
        return configured
    return float(f'{measured:.3g}')


def _natural_commands(manager: Manager) -> dict[str, list[Controller]]:
    """For each interface command controllers of different joints: forward ones, active ones first.

    A joint has one of them for each interface: which one is used depends on the controller.
    """
    usable = [
        one
        for one in manager.controllers
        if one.is_command_controller
        and one.joints
        and one.state in ('active', 'inactive')
        and not one.is_chained
    ]
    usable.sort(key=lambda one: (one.kind != 'forward', one.state != 'active'))
    chosen: dict[str, list[Controller]] = {}
    for one in usable:
        group = chosen.setdefault(one.interface, [])
        taken = {joint for other in group for joint in other.joints}
        if not taken & set(one.joints):
            group.append(one)
    return chosen


def _wanted_commands(
    manager: Manager, wanted: Wanted
) -> tuple[dict[str, list[Controller]], dict[str, list[str]]]:
    """Command controllers of a configuration by interface, and joints that none of them has."""
    options = command_options(wanted.options)
    loaded = {one.name: one for one in manager.controllers}
    chosen: dict[str, list[Controller]] = {}
    uncovered: dict[str, list[str]] = {}
    commands = {interface: list(joints) for interface, joints in wanted.commands.items()}
    for joint in wanted.with_gains:
        for interface in _interfaces_for_gains(manager, wanted, joint):
            commands.setdefault(interface, []).append(joint)
    for interface, joints in commands.items():
        left = set(joints)
        for name, given in options.items():
            one = loaded.get(name)
            if given.interface == interface and one is not None and left & set(one.joints):
                chosen.setdefault(interface, []).append(one)
                left -= set(one.joints)
        if left:
            uncovered[interface] = [joint for joint in joints if joint in left]
    return chosen, uncovered


def _interfaces_for_gains(manager: Manager, wanted: Wanted, joint: str) -> list[str]:
    """Interfaces through which a joint is commanded with gains: all, or its effort alone."""
    five = [channel.interface for channel in interfaces_of(StateFlag.JOINT_PID)]
    given = wanted.options
    if given.commands:
        there = {one.interface for one in given.commands.values()} >= set(five)
    else:
        there = all(f'{joint}/{name}' in manager.command_interfaces for name in five)
    if given.joint_pid == 'interfaces' or (given.joint_pid == 'auto' and there):
        return five
    return [EFFORT.interface]


def _devices(survey: Survey, manager: Manager | None) -> dict[str, str]:
    """Topics of the sensors that broadcasters publish, by the sensors' names."""
    found: dict[str, str] = {}
    body = survey.description.body if survey.description is not None else None
    known = {device.name for device in body.devices} if body is not None else None
    for controller in manager.controllers if manager is not None else ():
        prefix = f'{manager.name.rpartition("/")[0]}/{controller.name}/' if manager else ''
        for topic in survey.sensors:
            if (
                controller.sensor
                and topic.name.startswith(prefix)
                and not topic.name.endswith('_filtered')
                and (known is None or controller.sensor in known)
            ):
                found.setdefault(controller.sensor, topic.name)
    return found
