"""Rules of `check --ros`: what is wrong, what to do, and in which order."""

from __future__ import annotations

import contextlib
import fcntl
from dataclasses import replace

import pytest

from cnoid_control.ros.check.computer import shared_memory_ports
from cnoid_control.ros.check.findings import find_problems
from cnoid_control.ros.check.plan import Wanted, make_plan
from cnoid_control.ros.check.section import hardware_section
from cnoid_control.ros.check.survey import (
    Component,
    Computer,
    Controller,
    Description,
    Endpoint,
    Manager,
    Survey,
    Timing,
    Topic,
)
from cnoid_control.ros.robot.parameters import CommandParameters, Ros2ControlParameters

JOINTS = ['shoulder', 'elbow']
FORWARD = 'forward_command_controller/ForwardCommandController'


def make_endpoint(node: str, incompatible: str = '') -> Endpoint:
    """Endpoint of a node."""
    return Endpoint(node, 'reliable', 'volatile', incompatible)


def make_controller(name: str, interface: str, state: str = 'inactive', **more) -> Controller:
    """Forward controller of both joints."""
    needs = [f'{joint}/{interface}' for joint in JOINTS]
    found = Controller(
        name,
        FORWARD,
        state,
        needs,
        needs if state == 'active' else [],
        list(JOINTS),
        interface,
        'forward',
        topic=f'/{name}/commands',
        receivers=[make_endpoint(f'/{name}')],
    )
    return replace(found, **more)


def make_survey(*controllers: Controller) -> Survey:
    """A system in which nothing is wrong."""
    broadcaster = Controller(
        'joint_state_broadcaster', 'joint_state_broadcaster/JointStateBroadcaster', 'active'
    )
    timing = Timing(
        count=300,
        duration=3.0,
        rate=100.0,
        jitter=1e-4,
        longest=0.011,
        stamp_rate=100.0,
        stamp_age=0.001,
        has_stamps=True,
    )
    states = Topic(
        '/joint_states',
        'sensor_msgs/msg/JointState',
        [make_endpoint('/joint_state_broadcaster')],
        timing,
        list(JOINTS),
        fields=['position', 'velocity'],
    )
    given = controllers or (make_controller('effort_controller', 'effort'),)
    return Survey(
        Computer(realtime_priority=99, cores=4),
        ['/controller_manager'],
        [Manager('/controller_manager', 100.0, controllers=[broadcaster, *given])],
        [states],
        description=Description('/robot_description'),
    )


def make_wanted(**more) -> Wanted:
    """Configuration that commands efforts of both joints at 100 Hz."""
    wanted = Wanted(
        'arm', list(JOINTS), {'velocity': list(JOINTS)}, {}, 100.0, Ros2ControlParameters()
    )
    return replace(wanted, **more)


def problems(survey: Survey, wanted: Wanted | None = None) -> list[tuple[str, str, str]]:
    """Level, subject and message of what is found, missing description left out."""
    found = find_problems(survey, make_plan(survey, wanted), wanted)
    return [
        (one.level, one.subject, one.message)
        for one in found
        if one.subject != '/robot_description'
    ]


def test_a_good_system_has_no_problem_and_a_section() -> None:
    """What would be used goes into the section, names relative to the manager's namespace."""
    survey = make_survey()
    assert problems(survey) == []
    section = hardware_section(make_plan(survey))
    assert section == {
        'rate': 100.0,
        'hardware': {
            'type': 'ros2_control',
            'ros2_control': {
                'joint_states': 'joint_states',
                'controller_manager': 'controller_manager',
                'commands': {'effort_controller': {'interface': 'effort', 'type': 'forward'}},
            },
        },
    }


def test_nobody_in_the_graph_hides_everything_else() -> None:
    """One error that names domain and middleware, and nothing that follows from it."""
    found = problems(Survey(Computer(domain=7, middleware='rmw_x', discovery='SUBNET')))
    assert [(level, subject) for level, subject, _ in found] == [('error', 'graph')]
    assert 'domain 7 (rmw_x, discovery SUBNET)' in found[0][2]


def test_forward_controllers_come_before_trajectory_controllers_of_the_same_joints() -> None:
    """One controller for a joint and an interface; one that is active is preferred."""
    trajectory = make_controller('arm_controller', 'position', 'active', kind='trajectory')
    forward = make_controller('position_controller', 'position')
    other = make_controller('spare', 'position', 'active')
    plan = make_plan(make_survey(trajectory, forward, other))
    assert [one.name for one in plan.commands['position']] == ['spare']
    plan = make_plan(make_survey(trajectory, forward))
    assert [one.name for one in plan.commands['position']] == ['position_controller']


def first(found: list[tuple[str, str, str]]) -> tuple[str, str, str]:
    """The only problem."""
    assert len(found) == 1, found
    return found[0]


def test_managers() -> None:
    """None, several, one that does not answer, and one that a configuration does not mean."""
    survey = make_survey()
    survey.managers.clear()
    assert first(problems(survey)) == ('error', 'controller_manager', 'there is none')
    survey = make_survey()
    survey.managers.append(Manager('/left/controller_manager'))
    assert 'several: /controller_manager, /left/controller_manager' in problems(survey)[0][2]
    survey = make_survey()
    survey.managers[0].problem = 'no answer'
    assert problems(survey)[0] == ('error', '/controller_manager', 'it does not answer: no answer')
    options = Ros2ControlParameters(controller_manager='other')
    found = problems(make_survey(), make_wanted(options=options))
    assert found[0][:2] == ('error', 'controller_manager')
    assert "'other' is not there" in found[0][2]
    # Where nobody manages the topics, none is missed.
    survey = make_survey()
    survey.managers.clear()
    options = Ros2ControlParameters(controller_manager='')
    assert problems(survey, make_wanted(options=options)) == []


def test_interfaces_of_hardware_that_is_not_active() -> None:
    """Command interfaces that are not available are named."""
    survey = make_survey()
    survey.managers[0].command_interfaces = {'shoulder/effort': True, 'elbow/effort': False}
    level, subject, message = first(problems(survey))
    assert (level, subject) == ('error', '/controller_manager')
    assert message.endswith('not available: elbow/effort')


def test_gaps_are_put_down_to_shared_memory_where_it_is_used() -> None:
    """Jitter and a gap say what to do first, and the transport comes with them."""
    for changes in ({'jitter': 0.01}, {'longest': 0.2}):
        survey = make_survey()
        topic = survey.joint_states[0]
        topic.timing = replace(topic.timing, **changes)
        (found,) = find_problems(survey, make_plan(survey))[-1:]
        assert found.remedy.startswith('give the manager real-time priority')
        survey.computer.shared_memory = 2
        rate, transport = find_problems(survey, make_plan(survey))[-2:]
        assert rate.remedy.startswith('do without shared memory first')
        assert (transport.subject, 'UDPv4' in transport.remedy) == ('transport', True)


def test_a_hardware_component_that_is_not_active_is_named() -> None:
    """It is the error, not its interfaces; one that only measures is a warning."""
    survey = make_survey()
    manager = survey.managers[0]
    manager.command_interfaces['elbow/effort'] = False
    manager.components = [
        Component('arm', 'x/Arm', 'inactive', 100, ['shoulder/effort', 'elbow/effort']),
        Component('imu', 'x/Imu', 'unconfigured'),
        Component('gripper', 'x/Gripper', 'active', 100, ['finger/position']),
    ]
    arm, imu = (
        one for one in find_problems(survey, make_plan(survey)) if 'component' in one.message
    )
    assert arm.level == 'error'
    assert "'arm' (x/Arm) is inactive" in arm.message
    assert arm.remedy == 'ros2 control set_hardware_component_state arm active'
    assert (imu.level, "'imu'" in imu.message) == ('warning', True)
    assert not any('not available' in message for *_, message in problems(survey))


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'publishers': [make_endpoint('/a'), make_endpoint('/b')]}, 'several publishers: /a, /b'),
        ({'timing': Timing(duration=3.0)}, 'nothing came in 3.0 s'),
        ({'joints': ['shoulder', 'wrist']}, 'it lacks elbow; it has shoulder, wrist'),
        ({'unknown': ['elbow']}, 'not numbers: elbow'),
        ({'publishers': [make_endpoint('/a', 'deadline')]}, '/a would not arrive: deadline'),
        ({'problem': 'nonsense'}, 'nonsense'),
    ],
)
def test_joint_states(change: dict, words: str) -> None:
    """Several publishers, silence, missing joints, values and quality of service."""
    survey = make_survey()
    survey.joint_states[0] = replace(survey.joint_states[0], **change)
    level, subject, message = first(problems(survey))
    assert (level, subject) == ('error', '/joint_states')
    assert words in message


def test_no_joint_states_says_what_to_do_next() -> None:
    """Another topic, an inactive broadcaster, or none at all."""
    survey = make_survey()
    survey.joint_states.clear()
    assert 'joint_state_broadcaster is active' in first(problems(survey))[2]
    survey.managers[0].controllers[0].state = 'inactive'
    found = find_problems(survey, make_plan(survey))
    assert found[-1].remedy.endswith('--activate joint_state_broadcaster')
    del survey.managers[0].controllers[0]
    assert 'no joint_state_broadcaster is loaded' in first(problems(survey))[2]
    options = Ros2ControlParameters(joint_states='states')
    wanted = make_wanted(options=options, commands={'effort': list(JOINTS)})
    assert "nobody publishes 'states'" in problems(make_survey(), wanted)[0][2]


def velocity_survey() -> Survey:
    """System of a velocity controller."""
    return make_survey(make_controller('velocity_controller', 'velocity'))


def test_rates() -> None:
    """A wrong rate is an error with a configuration, and a warning against update_rate."""
    survey = velocity_survey()
    assert problems(survey, make_wanted()) == []
    level, subject, message = first(problems(survey, make_wanted(rate=1000.0)))
    assert (level, subject) == ('error', 'rate')
    assert message == '/joint_states comes at 100 Hz, and arm expects 1000 Hz'
    options = Ros2ControlParameters(decimation=4)
    found = find_problems(survey, make_plan(survey), make_wanted(rate=200.0, options=options))
    assert 'set rate: 25' in found[0].remedy
    survey.managers[0].update_rate = 500.0
    assert first(problems(survey))[:2] == ('warning', 'rate')
    # A broadcaster may have a rate of its own.
    survey.managers[0].controllers[0].update_rate = 100
    assert problems(survey) == []
    timing = survey.joint_states[0].timing
    assert timing is not None
    timing.jitter, timing.longest, timing.lost = 0.004, 0.03, 5
    assert [subject for _, subject, _ in problems(survey)] == ['rate', 'transport']
    timing.jitter, timing.lost = 1e-4, 0
    timing.longest = 0.036
    assert 'gap of 36 ms' in first(problems(survey))[2]


def test_clocks() -> None:
    """A clock that is missing, double or standing, and stamps of another one."""
    survey = velocity_survey()
    survey.managers[0].use_sim_time = True
    level, subject, message = first(problems(survey))
    assert (level, subject) == ('error', '/clock')
    assert message == '/controller_manager has use_sim_time, and nobody publishes /clock'
    survey.managers[0].use_sim_time = False
    assert first(problems(survey, make_wanted(use_sim_time=True)))[1] == '/clock'
    timing = survey.joint_states[0].timing
    assert timing is not None
    timing.stamp_age = 1.7e9
    assert first(problems(survey))[2].endswith('behind the clock of this machine')
    timing.stamp_age = -2.0
    assert '2 s ahead of' in first(problems(survey))[2]
    # Simulated time need not agree with the machine's.
    clock = Topic('/clock', 'rosgraph_msgs/msg/Clock', [make_endpoint('/sim')])
    clock.timing = Timing(count=9, stamp_rate=100.0)
    survey.clock = clock
    assert problems(survey) == []
    clock.publishers.append(make_endpoint('/other'))
    assert 'several publishers: /other, /sim' in first(problems(survey))[2]
    del clock.publishers[1]
    clock.timing.stamp_rate = timing.stamp_rate = 0.0
    assert first(problems(survey)) == ('warning', '/clock', 'simulated time stands still')
    survey.clock = None
    assert first(problems(survey))[0] == 'error'


def test_command_controllers() -> None:
    """None at all, not the configured ones, other joints, wrong states and quality of service."""
    survey = make_survey()
    del survey.managers[0].controllers[1]
    assert first(problems(survey))[2].startswith('none is loaded; there are: joint_state_b')
    found = problems(make_survey(), make_wanted())
    assert 'velocity of shoulder, elbow: velocity_controller is not loaded' in first(found)[2]
    options = Ros2ControlParameters(commands={'mine': CommandParameters(interface='velocity')})
    strange = make_controller('mine', 'velocity', joints=['shoulder', 'nose'])
    found = problems(make_survey(strange), make_wanted(options=options))
    assert 'velocity of elbow: mine has shoulder, nose' in found[0][2]
    assert 'it has nose, which are not joints' in found[1][2]
    one = make_controller('velocity_controller', 'velocity', 'unconfigured')
    assert first(problems(make_survey(one), make_wanted()))[2] == 'it is unconfigured'
    one = replace(one, state='active', receivers=[])
    assert (
        'nobody subscribes /velocity_controller/commands' in first(problems(make_survey(one)))[2]
    )
    one = replace(one, receivers=[make_endpoint('/fcc', 'durability')])
    assert '/fcc would not get the commands' in first(problems(make_survey(one)))[2]
    mute = make_controller('mute', 'velocity', joints=[], problem='it does not answer')
    found = problems(make_survey(make_controller('effort_controller', 'effort'), mute))
    assert first(found) == ('error', 'mute', 'it does not answer')
    chained = make_controller('velocity_controller', 'velocity', 'active', is_chained=True)
    assert 'it is chained' in problems(make_survey(chained), make_wanted())[0][2]


def test_types_that_later_distributions_do_not_have() -> None:
    """JointGroup controllers are told to become ForwardCommandController."""
    one = make_controller(
        'arm', 'velocity', type='velocity_controllers/JointGroupVelocityController'
    )
    survey = make_survey(one)
    found = find_problems(survey, make_plan(survey))
    assert [finding.level for finding in found if finding.subject == 'arm'] == ['warning']
    assert any('interface_name: velocity' in finding.remedy for finding in found)


def test_efforts_at_a_low_rate_are_worth_a_word() -> None:
    """100 Hz is too slow for torques."""
    wanted = make_wanted(commands={'effort': list(JOINTS)})
    assert first(problems(make_survey(), wanted))[:2] == ('warning', 'rate')


def test_others_who_command() -> None:
    """A node that publishes commands, a control node, and a controller that is active."""
    one = make_controller('velocity_controller', 'velocity', commanders=['/keyboard'])
    level, subject, message = first(problems(make_survey(one)))
    assert (level, subject) == ('error', 'other commanders')
    assert message == 'velocity_controller is commanded by /keyboard'
    one = replace(one, commanders=['/cnoid_control', '/cnoid_control_heartbeat'])
    survey = make_survey(one)
    survey.control_nodes = ['/cnoid_control']
    assert first(problems(survey))[2] == 'a control node is running: /cnoid_control'
    other = make_controller('arm_controller', 'position', 'active', kind='', joints=[])
    found = problems(make_survey(replace(one, commanders=[]), other))
    assert first(found)[0] == 'warning'
    assert 'arm_controller is active on shoulder/position, elbow/position' in found[0][2]


def test_sensors() -> None:
    """A device without a topic, without messages, and with values that make no sense."""
    wanted = make_wanted(devices={'gyro': 'imu/data'})
    survey = velocity_survey()
    assert 'nobody publishes /imu/data' in first(problems(survey, wanted))[2]
    topic = Topic('/imu/data', 'sensor_msgs/msg/Imu', timing=Timing(duration=3.0))
    survey.sensors = [topic]
    assert first(problems(survey, wanted))[2] == 'nothing came on /imu/data in 3.0 s'
    topic.timing, topic.problem = Timing(count=3, duration=3.0), 'all zero'
    assert first(problems(survey, wanted)) == ('error', 'device gyro', '/imu/data: all zero')


def test_machine_and_limits() -> None:
    """Scheduling and limits are warnings, and come last."""
    survey = make_survey()
    survey.computer = Computer(realtime_priority=0, cores=1)
    survey.description = Description('/robot_description', notes=['elbow has no effort limit'])
    found = problems(survey)
    assert [subject for _, subject, _ in found] == ['limits', 'scheduling', 'scheduling']
    assert {level for level, _, _ in found} == {'warning'}


def test_shared_memory_of_the_domain_is_seen(tmp_path) -> None:
    """Ports of the domain, 7400 + 250 domain + 10 on, that a living reader has locked."""
    for name in ('port8410_el', 'port8411_el', 'port8412', 'port8401_el', 'port8662_el', 'abc_el'):
        (tmp_path / f'fastrtps_{name}').touch()
    assert shared_memory_ports(4, tmp_path) == 0
    with contextlib.ExitStack() as stack:
        for path in tmp_path.iterdir():
            fcntl.flock(stack.enter_context(path.open()), fcntl.LOCK_EX)
        assert shared_memory_ports(4, tmp_path) == 2
        assert shared_memory_ports(5, tmp_path) == 1
        assert shared_memory_ports(6, tmp_path) == 0
    survey = make_survey()
    survey.computer.shared_memory = 2
    assert first(problems(survey))[:2] == ('warning', 'transport')


def test_what_hides_other_things_comes_first() -> None:
    """Manager, states, clock, rate, commanders, sensors: in the order in which to mend them."""
    one = make_controller('velocity_controller', 'velocity', commanders=['/keyboard'])
    survey = make_survey(one)
    survey.managers[0].use_sim_time = True
    survey.joint_states[0].publishers.append(make_endpoint('/second'))
    survey.computer.realtime_priority = 0
    wanted = make_wanted(rate=500.0, devices={'gyro': 'imu'})
    subjects = [subject for _, subject, _ in problems(survey, wanted)]
    assert subjects == [
        '/joint_states',
        '/clock',
        'rate',
        'other commanders',
        'device gyro',
        'scheduling',
    ]


@pytest.mark.parametrize('has_gains', [True, False])
def test_joints_with_gains_use_what_the_robot_has(has_gains: bool) -> None:
    """Five interfaces where the hardware exports them, else the effort."""
    names = ['position', 'velocity', 'effort', 'damping', 'stiffness']
    survey = make_survey(*(make_controller(f'{name}_controller', name) for name in names))
    there = names if has_gains else names[:3]
    survey.managers[0].command_interfaces = {
        f'{joint}/{name}': True for joint in JOINTS for name in there
    }
    wanted = Wanted('c', JOINTS, {}, {}, 100.0, Ros2ControlParameters(), with_gains=JOINTS)
    plan = make_plan(survey, wanted)
    assert list(plan.commands) == (names if has_gains else ['effort'])
    assert plan.uncovered == {}
    wanted.options.joint_pid = 'effort'
    assert list(make_plan(survey, wanted).commands) == ['effort']


def test_a_robot_in_a_namespace() -> None:
    """Names of the section are relative to it, and of several robots one can be meant."""
    survey = make_survey()
    other = make_survey(make_controller('velocity_controller', 'velocity'))
    survey.managers.append(replace(other.managers[0], name='/left/controller_manager'))
    survey.joint_states.append(replace(other.joint_states[0], name='/left/joint_states'))
    assert make_plan(survey).manager is None
    plan = make_plan(survey, None, 'left')
    assert plan.namespace == '/left'
    options = hardware_section(plan)['hardware']['ros2_control']
    assert options['joint_states'] == 'joint_states'
    assert options['controller_manager'] == 'controller_manager'
    assert list(options['commands']) == ['velocity_controller']
    wanted = make_wanted()
    assert make_plan(survey, wanted, '/left').joint_states is survey.joint_states[1]
    assert make_plan(survey, wanted).joint_states is survey.joint_states[0]
