"""The launch files: their arguments, and what they start.

launch and launch_ros come with ROS 2 and are not on PyPI; where they are missing these tests say
so and are skipped.
"""

import runpy
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

pytest.importorskip('launch_ros', reason='launch_ros is not installed: it comes with ROS 2')

from launch import LaunchContext
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit, OnProcessStart
from launch.events.process import ProcessExited, ProcessStarted
from launch.utilities import perform_substitutions
from launch_ros.actions import Node
from launch_ros.utilities import evaluate_parameters

from cnoid_control.body import load_body
from cnoid_control.exceptions import CnoidControlError

NAMES = ('robot', 'sr1_pd', 'sr1_routine', 'sr1_walk')
CHOICES = ['mujoco', 'mock', 'topic', 'gazebo', 'mujoco_ros2_control', 'real']


def describe(root, name):
    """Return the launch description of a launch file."""
    file = root / 'launch' / f'{name}.launch.py'
    return runpy.run_path(str(file))['generate_launch_description']()


def started(root, name='sr1_pd', **arguments):
    """Return what a launch file starts with these arguments: package/executable to Node."""
    nodes, context = every_node(root, name, **arguments)
    return {f'{node.node_package}/{node.node_executable}': node for node in nodes}, context


def every_node(root, name='sr1_pd', **arguments):
    """Return all nodes that a launch file starts with these arguments."""
    context = LaunchContext()
    context.launch_configurations.update(arguments)
    nodes = []
    for entity in describe(root, name).entities:
        if isinstance(entity, DeclareLaunchArgument):
            entity.execute(context)
        elif isinstance(entity, OpaqueFunction):
            nodes = [action for action in entity.execute(context) if isinstance(action, Node)]
    return nodes, context


def words_of(node, context):
    """Return the arguments of a program."""
    return [perform_substitutions(context, word) for word in node.cmd[1:]]


def spawned(root, **arguments):
    """Return the controllers that are started, those that are loaded, and their file's content."""
    nodes, context = every_node(root, **arguments)
    words = [words_of(node, context) for node in nodes if node.node_executable == 'spawner']
    active = next(line for line in words if '--inactive' not in line)
    loaded = next(line for line in words if '--inactive' in line)
    file = active[active.index('--param-file') + 1]
    return (
        active[: active.index('--param-file')],
        loaded[: loaded.index('--inactive')],
        yaml.safe_load(Path(file).read_text()),
    )


def parameters(node, context):
    """Return the parameters given to a node besides its files."""
    given = {}
    for entry in evaluate_parameters(context, node._Node__parameters):
        if isinstance(entry, dict):
            given.update(entry)
    return given


@pytest.mark.parametrize('name', NAMES)
def test_every_argument_is_described(root, name):
    """`--show-args` has a sentence for each argument, and the choices of those that have any."""
    arguments = {
        entity.name: entity
        for entity in describe(root, name).entities
        if isinstance(entity, DeclareLaunchArgument)
    }
    assert {'hardware', 'controller', 'rate', 'viewer', 'namespace', 'use_sim_time'} <= set(
        arguments
    )
    assert all(argument.description for argument in arguments.values())
    assert arguments['hardware'].choices == CHOICES
    assert {'config', 'controllers_file', 'heartbeat', 'world', 'headless'} <= set(arguments)


@pytest.mark.parametrize(
    ('hardware', 'expected'),
    [
        ('mujoco', {'cnoid_control/cnoid_control_mujoco'}),
        ('real', set()),
        (
            'mock',
            {
                'robot_state_publisher/robot_state_publisher',
                'controller_manager/ros2_control_node',
                'controller_manager/spawner',
            },
        ),
        (
            'topic',
            {
                'cnoid_control/cnoid_control_mujoco',
                'robot_state_publisher/robot_state_publisher',
                'controller_manager/ros2_control_node',
                'controller_manager/spawner',
            },
        ),
        (
            'gazebo',
            {
                'robot_state_publisher/robot_state_publisher',
                'ros_gz_sim/create',
                'ros_gz_bridge/parameter_bridge',
                'controller_manager/spawner',
            },
        ),
        (
            'mujoco_ros2_control',
            {
                'robot_state_publisher/robot_state_publisher',
                'mujoco_ros2_control/ros2_control_node',
                'controller_manager/spawner',
            },
        ),
    ],
)
def test_each_hardware_starts_what_it_needs(root, hardware, expected):
    """Each choice of hardware starts its own programs, and always the node."""
    nodes, context = started(root, hardware=hardware)
    always = {'cnoid_control/cnoid_control', 'cnoid_control/cnoid_control_heartbeat'}
    assert set(nodes) == always | expected
    given = parameters(nodes['cnoid_control/cnoid_control'], context)
    assert given['use_sim_time'] is (hardware in ('mujoco', 'gazebo', 'mujoco_ros2_control'))
    publisher = nodes.get('robot_state_publisher/robot_state_publisher')
    if publisher is not None:
        description = parameters(publisher, context)['robot_description']
        plugins = {
            'gazebo': 'GazeboSimSystem',
            'mock': 'GenericSystem',
            'topic': 'TopicSystem',
            'mujoco_ros2_control': 'MujocoSystemInterface',
        }
        assert plugins[hardware] in description
        assert 'initial_value' in description


def test_arguments_reach_the_nodes(root):
    """Controller, rate, namespace and clock are passed on."""
    nodes, context = started(
        root,
        controller='pd',
        rate='500',
        namespace='left',
        use_sim_time='false',
        pacing='lockstep',
        autostart='false',
    )
    node = nodes['cnoid_control/cnoid_control']
    given = parameters(node, context)
    assert (given['controller'], given['rate']) == ('pd', 500.0)
    assert given['use_sim_time'] is False
    assert given['autostart'] is False
    assert given['hardware.ros2_control.lock_step'] is True
    assert parameters(nodes['cnoid_control/cnoid_control_mujoco'], context)['rate'] == 500.0


def test_a_first_motion_is_asked_for_by_arguments(root, tmp_path):
    """Dry run, scale and enabling switch reach the node; the robot may describe itself alone."""
    file = tmp_path / 'arm.yaml'
    file.write_text('/**: {ros__parameters: {controller: pd, rate: 100.0}}')
    arguments = {'config': str(file), 'hardware': 'real'}
    nodes, context = started(root, **arguments, dry_run='true', scale='0.1', enable='joy')
    given = parameters(nodes['cnoid_control/cnoid_control'], context)
    assert given['hardware.ros2_control.dry_run'] is True
    assert given['scale'] == 0.1
    assert given['enable.topic'] == 'joy'
    nodes, context = started(root, **arguments)
    given = parameters(nodes['cnoid_control/cnoid_control'], context)
    assert not {'hardware.ros2_control.dry_run', 'scale', 'enable.topic'} & set(given)


def test_behind_a_manager_repeated_states_are_no_new_ones(root):
    """With the MuJoCo node behind ros2_control the node is told so; its clock fits the rate."""
    nodes, context = started(root, hardware='topic', rate='500', use_sim_time='true')
    given = parameters(nodes['cnoid_control/cnoid_control'], context)
    assert given['hardware.ros2_control.repetition_time'] > 0.0
    assert given['hardware.ros2_control.rate_check'] == 'ignore'
    assert (given['watchdog.state_timeout'], given['watchdog.time_jump']) == (3.0, 3.0)
    robot = parameters(nodes['cnoid_control/cnoid_control_mujoco'], context)
    assert (robot['interface'], robot['clock_rate']) == ('topic', 500.0)
    manager = parameters(nodes['controller_manager/ros2_control_node'], context)
    assert manager['update_rate'] == 500


def test_a_file_may_have_what_only_the_nodes_know(root, tmp_path):
    """Options of one node are no mistake of the launch file or of the other node."""
    file = tmp_path / 'mine.yaml'
    text = (root / 'config' / 'sr1_pd.yaml').read_text(encoding='utf-8')
    file.write_text(f'{text}    realtime_priority: 0\n    pacing: free\n')
    nodes, _ = started(root, config=str(file))
    assert 'cnoid_control/cnoid_control' in nodes


def test_the_controllers_are_those_of_the_robot(root):
    """SR1 has an IMU and two force sensors; their broadcasters are named as on the MuJoCo node."""
    active, loaded, content = spawned(root, hardware='mock', rate='500')
    assert active == [
        'joint_state_broadcaster',
        'imu_sensor_broadcaster',
        'LeftAnkleForceSensor_broadcaster',
        'RightAnkleForceSensor_broadcaster',
    ]
    assert loaded == ['effort_controller', 'position_controller', 'velocity_controller']
    manager = content['/**/controller_manager']['ros__parameters']
    assert manager['update_rate'] == 500
    assert set(manager) == {'update_rate', *active, *loaded}
    imu = content['/**/imu_sensor_broadcaster']['ros__parameters']
    assert imu == {'sensor_name': 'WaistIMU', 'frame_id': 'WAIST'}
    assert len(content['/**/effort_controller']['ros__parameters']['joints']) == 29


def test_another_robot_has_others(root):
    """An arm without sensors has no broadcasters but that of the joint states."""
    active, loaded, content = spawned(root, name='robot', config='pd', hardware='mock')
    assert active == ['joint_state_broadcaster']
    joints = [f'joint{number}' for number in range(1, 8)]
    for name in loaded:
        assert content[f'/**/{name}']['ros__parameters']['joints'] == joints


def test_gains_are_offered_by_option(root):
    """The description has the interfaces, the controllers are loaded, and the node insists."""
    _, loaded, content = spawned(
        root, name='robot', config='pd', hardware='mock', joint_pid='interfaces'
    )
    assert set(loaded) >= {'stiffness_controller', 'damping_controller'}
    stiffness = content['/**/stiffness_controller']['ros__parameters']
    assert stiffness['interface_name'] == 'stiffness'
    assert len(stiffness['joints']) == 7
    nodes, context = every_node(
        root, name='robot', config='pd', hardware='mock', joint_pid='interfaces'
    )
    by_name = {node.node_executable: node for node in nodes}
    text = parameters(by_name['robot_state_publisher'], context)['robot_description']
    assert text.count('<command_interface name="damping"') == 7
    given = parameters(by_name['cnoid_control'], context)
    assert given['hardware.ros2_control.joint_pid'] == 'interfaces'
    with pytest.raises(CnoidControlError, match='gazebo has no stiffness and damping'):
        started(root, hardware='gazebo', joint_pid='interfaces')


def test_behind_topics_only_joint_states_are_broadcast(root):
    """The MuJoCo node publishes the sensors itself."""
    assert spawned(root, hardware='topic')[0] == ['joint_state_broadcaster']


def test_own_controllers_are_started_by_their_names(root, tmp_path):
    """Of the user's parameter file, broadcasters are started and the others loaded."""
    file = tmp_path / 'mine.yaml'
    file.write_text(
        'controller_manager:\n  ros__parameters:\n    update_rate: 100\n'
        '    states: {type: joint_state_broadcaster/JointStateBroadcaster}\n'
        '    arm: {type: joint_trajectory_controller/JointTrajectoryController}\n'
    )
    active, loaded, _ = spawned(root, hardware='mock', controllers_file=str(file))
    assert (active, loaded) == (['states'], ['arm'])


def test_gazebo_has_the_names_rate_and_namespace_of_the_robot(root):
    """In the URDF, in the parameter files that it names, and in the arguments of `create`."""
    nodes, context = every_node(root, hardware='gazebo', rate='500', namespace='left')
    by_name = {node.node_executable: node for node in nodes}
    text = parameters(by_name['robot_state_publisher'], context)['robot_description']
    plugin = ElementTree.fromstring(text).find('gazebo/plugin')
    assert plugin.findtext('ros/namespace') == '/left'
    controllers, rate = [Path(tag.text) for tag in plugin.findall('parameters')]
    manager = yaml.safe_load(rate.read_text())['/**/controller_manager']
    assert manager == {'ros__parameters': {'update_rate': 500}}
    content = yaml.safe_load(controllers.read_text())
    force = content['/**/LeftAnkleForceSensor_broadcaster']['ros__parameters']
    assert force['frame_id'] == 'LLEG_ANKLE_R_link'
    words = words_of(by_name['create'], context)
    assert words[words.index('-name') + 1] == 'left'
    assert float(words[words.index('-z') + 1]) > 0.5


def test_a_second_robot_joins_the_gazebo_that_runs(root):
    """Without a Gazebo and a clock of its own, at another place, and its end is waited for."""
    context = LaunchContext()
    given = {'namespace': 'right', 'world': 'running', 'place': '0.5 -1.5'}
    context.launch_configurations.update(hardware='gazebo', **given)
    actions = [
        action
        for entity in describe(root, 'sr1_pd').entities
        for action in [*(entity.execute(context) or [])]
    ]
    assert not [one for one in actions if type(one) is ExecuteProcess]
    nodes = {action.node_executable: action for action in actions if isinstance(action, Node)}
    assert {'create', 'spawner', 'robot_state_publisher', 'cnoid_control'} <= set(nodes)
    assert 'parameter_bridge' not in nodes
    words = words_of(nodes['create'], context)
    place = [float(words[words.index(f'-{axis}') + 1]) for axis in 'xy']
    assert place == pytest.approx([0.5, -1.5])
    changes = parameters(nodes['cnoid_control'], context)
    # Gazebo goes on: the controllers have to be let go.
    assert 'hardware.ros2_control.release_timeout' not in changes


def test_a_fixed_robot_has_its_place_in_gazebo(root):
    """In its URDF, for it is held to the world."""
    config = str(root / 'config/pendulum.yaml')
    found = []
    for place in ('', '1 2'):
        given = {'hardware': 'gazebo', 'config': config, 'place': place}
        nodes, context = started(root, 'robot', **given)
        publisher = nodes['robot_state_publisher/robot_state_publisher']
        text = parameters(publisher, context)['robot_description']
        joint = ElementTree.fromstring(text).find("joint/parent[@link='world']/../origin")
        found.append(np.array(joint.get('xyz').split(), float))
    np.testing.assert_allclose(found[1] - found[0], [1.0, 2.0, 0.0], atol=1e-9)


def test_a_place_that_is_none_is_refused(root):
    """By its value, and with the kind of hardware that has places."""
    for wrong in ('1', '1 two', '1 2 3', 'nan 0'):
        with pytest.raises(CnoidControlError, match=f"place: '{wrong}' is not two numbers"):
            started(root, hardware='gazebo', place=wrong)
    with pytest.raises(CnoidControlError, match='only Gazebo has several robots'):
        started(root, hardware='mujoco', place='1 2')


def test_gazebo_may_be_paused(root):
    """A simulation that stands still moves nothing; the node repeats its command meanwhile."""
    nodes, context = started(root, hardware='gazebo')
    given = parameters(nodes['cnoid_control/cnoid_control'], context)
    assert given['watchdog.state_timeout'] > 60.0
    assert given['watchdog.device_timeout'] > 60.0
    # Its clock goes on to be told: without that it is gone.
    assert given['watchdog.clock_timeout'] == 3.0
    monitor = parameters(nodes['cnoid_control/cnoid_control_heartbeat'], context)
    assert monitor['heartbeat.timeout'] == 1.0


def gazebo_of(root, **arguments):
    """Return all that a launch in Gazebo begins with, Gazebo itself, and the context."""
    context = LaunchContext()
    context.launch_configurations.update(hardware='gazebo', **arguments)
    actions = [
        action
        for entity in describe(root, 'sr1_pd').entities
        for action in [*(entity.execute(context) or [])]
    ]
    return actions, next(one for one in actions if type(one) is ExecuteProcess), context


def test_gazebo_ends_with_the_launch(root, tmp_path):
    """It is signalled itself, not a shell around it; and nobody waits for its last switch."""
    world = tmp_path / 'own world.sdf'
    world.touch()
    actions, gazebo, context = gazebo_of(
        root, headless='true', gz_args='-r -v "4"', world=str(world)
    )
    words = [perform_substitutions(context, word) for word in gazebo.cmd]
    assert words == ['gz', 'sim', '-r', '-v', '4', '-s', str(world)]
    assert not gazebo.shell
    nodes = {action.node_executable: action for action in actions if isinstance(action, Node)}
    given = parameters(nodes['cnoid_control'], context)
    assert given['hardware.ros2_control.release_timeout'] < 1.0
    assert given['hardware.ros2_control.effort_is_final'] is True
    # A simulator on a busy machine leaves states out, and is no reason for an e-stop.
    assert given['watchdog.rate_action'] == 'warn'


def ended(gazebo, code, context=None):
    """Return what follows when Gazebo has ended with a status."""
    event = ProcessExited(
        action=gazebo, name='gazebo', cmd=['gz'], cwd=None, env=None, pid=1, returncode=code
    )
    # How the action knows what to do then is its own affair.
    (handler,) = [value for key, value in vars(gazebo).items() if key.endswith('__on_exit')]
    return handler(event, context or LaunchContext())


def test_gazebo_with_a_window_by_default(root):
    """Its own world, made from the robot, is run at once."""
    _, gazebo, context = gazebo_of(root)
    words = [perform_substitutions(context, word) for word in gazebo.cmd]
    assert words[:5] == ['gz', 'sim', '-r', '-v', '1']
    assert len(words) == 6
    text = Path(words[5]).read_text()
    assert 'gz-sim-apply-link-wrench-system' in text


def test_a_gazebo_that_was_killed_is_started_again_by_option(root):
    """With the robot in it; one that ends by itself ends the launch in any case."""
    _, gazebo, _ = gazebo_of(root)
    for code in (0, -9):
        assert [type(action) for action in ended(gazebo, code)] == [EmitEvent]
    actions, gazebo, context = gazebo_of(root, respawn='true', namespace='left')
    assert [type(action) for action in ended(gazebo, 0)] == [EmitEvent]
    for _ in range(4):
        (said,) = ended(gazebo, -9)
        assert isinstance(said, LogInfo)
    # Where the launch ends, so does Gazebo.
    ending = LaunchContext()
    ending._set_is_shutdown(True)
    assert ended(gazebo, -2, ending) == []
    # One that dies again and again has a reason.
    assert [type(action) for action in ended(gazebo, -9)] == [EmitEvent]
    assert '/left/cnoid_control/reset' in perform_substitutions(context, said.msg)
    (handler,) = [
        one.event_handler
        for one in actions
        if isinstance(one, RegisterEventHandler) and isinstance(one.event_handler, OnProcessStart)
    ]
    event = ProcessStarted(action=gazebo, name='gazebo', cmd=['gz'], cwd=None, env=None, pid=1)
    assert handler.handle(event, context) == []
    for _ in range(2):
        again = handler.handle(event, context)
        names = [action.node_executable for action in again]
        assert names == ['create', 'spawner', 'spawner']


@pytest.mark.parametrize(
    ('given', 'message'),
    [
        ({'world': 'empty.sdf'}, "world: 'empty.sdf' is for hardware:=gazebo, not for mujoco"),
        ({'gz_args': '-s'}, "gz_args: '-s' is for hardware:=gazebo"),
        ({'respawn': 'true'}, "respawn: 'true' is for hardware:=gazebo"),
        ({'hardware': 'gazebo', 'world': 'no/such.sdf'}, "world: 'no/such.sdf' is not a file"),
        ({'hardware': 'gazebo', 'world': 'running', 'respawn': 'true'}, 'world:=running'),
        ({'hardware': 'gazebo', 'gz_args': '-v "1'}, 'gz_args: .* No closing quotation'),
    ],
)
def test_what_gazebo_cannot_take_is_refused(root, given, message):
    """By the argument's name and value, before anything is started."""
    with pytest.raises(CnoidControlError, match=message):
        started(root, **given)


def test_mujoco_ros2_control_gets_a_model_of_the_robot(root):
    """With a motor per joint, sensors by the names that it looks for, and the start posture."""
    mujoco = pytest.importorskip('mujoco', reason='needs MuJoCo')
    nodes, context = every_node(root, hardware='mujoco_ros2_control')
    by_name = {node.node_executable: node for node in nodes}
    text = parameters(by_name['robot_state_publisher'], context)['robot_description']
    robot = ElementTree.fromstring(text)
    given = {tag.get('name'): tag.text for tag in robot.iterfind('ros2_control/hardware/param')}
    model = mujoco.MjModel.from_xml_path(given['mujoco_model'])
    assert (model.nu, model.nkey) == (29, 1)
    assert model.joint(given['odom_free_joint_name']).id == 0
    assert sum(model.body_mass) == pytest.approx(load_body(root / 'urdf/sr1.urdf').mass)
    for name in ('WaistIMU_quat', 'WaistIMU_gyro', 'WaistIMU_accel', 'LeftAnkleForceSensor_force'):
        assert model.sensor(name).id >= 0
    tag = robot.find("ros2_control/sensor[@name='WaistIMU']")
    assert tag.findtext("param[@name='mujoco_type']") == 'imu'
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    assert data.joint('RLEG_KNEE').qpos[0] == pytest.approx(0.07854)
    # With gains its motors take positions and velocities as well, and hold the robot at the start.
    assert spawned(root, hardware='mujoco_ros2_control')[1] == [
        *('effort_controller', 'position_controller', 'velocity_controller')
    ]
    pids = yaml.safe_load(Path(given['pids_config_file']).read_text())
    assert len(pids['/**']['ros__parameters']['pid_gains']['position']) == 29
    assert 'sim_speed_factor' not in given
    node = parameters(by_name['cnoid_control'], context)
    assert node['simulation_reset'] == 'mujoco_ros2_control_node/reset_world'
    # It may be paused, and then tells no time.
    assert node['watchdog.state_timeout'] > 60.0
    assert 'watchdog.clock_timeout' not in node


def test_mujoco_ros2_control_may_be_slower(root):
    """By an argument that no other hardware takes."""
    pytest.importorskip('mujoco', reason='needs MuJoCo')
    nodes, context = started(root, hardware='mujoco_ros2_control', speed='0.25')
    publisher = nodes['robot_state_publisher/robot_state_publisher']
    robot = ElementTree.fromstring(parameters(publisher, context)['robot_description'])
    given = {tag.get('name'): tag.text for tag in robot.iterfind('ros2_control/hardware/param')}
    assert given['sim_speed_factor'] == '0.25'
    for wrong in ('0', '-1', 'fast', 'nan', 'inf'):
        with pytest.raises(CnoidControlError, match=f"speed: '{wrong}' is not a positive number"):
            started(root, hardware='mujoco_ros2_control', speed=wrong)
    with pytest.raises(CnoidControlError, match="speed: '2' is for hardware:=mujoco_ros2_control"):
        started(root, speed='2')


def test_the_end_of_mujoco_ros2_control_ends_the_launch(root):
    """Nothing is left to control; spawners would wait for ever."""
    pytest.importorskip('mujoco', reason='needs MuJoCo')
    context = LaunchContext()
    context.launch_configurations.update(hardware='mujoco_ros2_control')
    actions = [
        action
        for entity in describe(root, 'sr1_pd').entities
        for action in [*(entity.execute(context) or [])]
    ]
    manager = next(
        one
        for one in actions
        if isinstance(one, Node) and one.node_executable == 'ros2_control_node'
    )
    event = ProcessExited(
        action=manager, name='manager', cmd=['x'], cwd=None, env=None, pid=1, returncode=-6
    )
    handlers = [
        one.event_handler
        for one in actions
        if isinstance(one, RegisterEventHandler) and isinstance(one.event_handler, OnProcessExit)
    ]
    (matching,) = [one for one in handlers if one.matches(event)]
    assert [type(action) for action in matching.handle(event, context)] == [EmitEvent]


@pytest.mark.parametrize(('hardware', 'ends'), [('mujoco', True), ('mock', True), ('real', False)])
def test_on_a_real_robot_nothing_else_is_stopped(root, hardware, ends):
    """Elsewhere the launch ends with the node."""
    context = LaunchContext()
    context.launch_configurations['hardware'] = hardware
    entities = describe(root, 'sr1_pd').entities
    for entity in entities[:-1]:
        entity.execute(context)
    handlers = [
        action.event_handler
        for action in entities[-1].execute(context)
        if isinstance(action, RegisterEventHandler)
    ]
    assert any(isinstance(handler, OnProcessExit) for handler in handlers) is ends


def test_the_monitor_waits_for_a_simulation(root):
    """It is started unless it is not wanted; simulated time may stand still for a while."""
    nodes, context = started(root, hardware='mujoco')
    monitor = nodes['cnoid_control/cnoid_control_heartbeat']
    assert parameters(monitor, context)['heartbeat.timeout'] == 1.0
    nodes, context = started(root, hardware='real')
    monitor = nodes['cnoid_control/cnoid_control_heartbeat']
    assert parameters(monitor, context)['heartbeat.timeout'] == 0.035
    nodes, context = started(root, hardware='real', rate='10')
    monitor = nodes['cnoid_control/cnoid_control_heartbeat']
    given = parameters(monitor, context)['heartbeat.timeout']
    assert given == pytest.approx(0.35), 'a node of a low rate'
    nodes, _ = started(root, heartbeat='false')
    assert 'cnoid_control/cnoid_control_heartbeat' not in nodes


def test_a_model_is_configuration_enough(root, tmp_path, monkeypatch):
    """A robot without a configuration is held by `pd`; its file is found wherever nodes start."""
    model = tmp_path / 'mine.urdf'
    model.write_text((root / 'urdf' / 'arm.urdf').read_text())
    monkeypatch.chdir(tmp_path)
    for name, path in (('mine.urdf', model), ('arm', root / 'urdf' / 'arm.urdf')):
        nodes, context = started(root, name='robot', config=name)
        given = nodes['cnoid_control/cnoid_control']._Node__parameters
        first = evaluate_parameters(context, given)[0]
        file = Path(getattr(first, 'param_file', first))
        values = yaml.safe_load(file.read_text())['/**']['ros__parameters']
        assert values['controller'] == 'pd'
        assert values['robot']['model'] == str(path)


def test_what_is_neither_is_refused(root):
    """With the places where both were looked for."""
    with pytest.raises(CnoidControlError, match='neither a configuration nor a model'):
        started(root, name='robot', config='nothing')


@pytest.mark.parametrize('acts', ['true', 'false'])
def test_the_browser_view_looks_at_the_robot_of_the_namespace(root, acts):
    """It is the program's own command, and acts only where that is asked for."""
    context = LaunchContext()
    context.launch_configurations.update(viewer='true', viewer_act=acts, namespace='left')
    found = []
    for entity in describe(root, 'sr1_pd').entities:
        if isinstance(entity, DeclareLaunchArgument):
            entity.execute(context)
        elif isinstance(entity, OpaqueFunction):
            found = [one for one in entity.execute(context) if type(one) is ExecuteProcess]
    (view,) = found
    words = [perform_substitutions(context, word) for word in view.cmd]
    assert words[3:6] == ['view', '--namespace', 'left']
    assert words[words.index('--frame-prefix') + 1] == 'left/'
    assert ('--act' in words) == (acts == 'true')


@pytest.mark.parametrize(
    ('hardware', 'publishers', 'fixed'),
    [
        ('mujoco', 0, 'world'),
        ('topic', 1, 'world'),
        ('mock', 1, 'left/WAIST'),
        ('real', 0, 'WAIST'),
    ],
)
def test_rviz_finds_the_frames_in_every_mode(root, hardware, publishers, fixed):
    """Its configuration names the robot's topic and frames; one node has the links, never two."""
    nodes, context = every_node(root, hardware=hardware, viewer='rviz', namespace='left')
    by_name = {node.node_executable: node for node in nodes}
    found = [node for node in nodes if node.node_executable == 'robot_state_publisher']
    assert len(found) == publishers
    for node in found:
        assert parameters(node, context)['frame_prefix'] == 'left/'
    words = words_of(by_name['rviz2'], context)
    shown = yaml.safe_load(Path(words[words.index('-d') + 1]).read_text())['Visualization Manager']
    assert shown['Global Options']['Fixed Frame'] == fixed
    model = next(one for one in shown['Displays'] if one['Class'].endswith('/RobotModel'))
    assert model['Description Topic']['Value'] == '/left/robot_description'
    assert model['Description Topic']['Durability Policy'] == 'Transient Local'
    assert model['TF Prefix'] == ('' if hardware == 'real' else 'left')


@pytest.mark.parametrize(('namespace', 'clock'), [('left', '/left/clock'), ('', None)])
def test_the_clock_of_a_simulation_is_in_its_namespace(root, namespace, clock):
    """Two robots have two clocks: each node hears the one of its own robot."""
    nodes, context = every_node(root, namespace=namespace)
    for node in nodes:
        rules = {
            perform_substitutions(context, list(old)): perform_substitutions(context, list(new))
            for old, new in node._Node__remappings
        }
        assert rules.get('/clock') == clock


@pytest.mark.parametrize(('namespace', 'prefix'), [('', ''), ('left', '/left'), ('/a/b/', '/a/b')])
def test_every_program_has_its_enclave_where_security_is_on(root, monkeypatch, namespace, prefix):
    """By its own name in the namespace; elsewhere none is named."""
    nodes, context = started(root, namespace=namespace)
    for node in nodes.values():
        assert '--enclave' not in words_of(node, context)
    monkeypatch.setenv('ROS_SECURITY_ENABLE', 'true')
    nodes, context = started(root, namespace=namespace)
    assert set(nodes) >= {'cnoid_control/cnoid_control', 'cnoid_control/cnoid_control_mujoco'}
    for name, node in nodes.items():
        words = words_of(node, context)
        assert words[words.index('--enclave') + 1] == f'{prefix}/{name.partition("/")[2]}'


def test_scripts_count_for_simulated_robots_alone(root, tmp_path):
    """The launch files say so; what the configuration says does not set a real robot off."""
    config = tmp_path / 'bold.yaml'
    options = {'ros2_control': {'allow_scripts': True}}
    values = {'robot': {'model': str(root / 'urdf' / 'arm.urdf')}, 'controller': 'pd'}
    values['hardware'] = options
    config.write_text(yaml.safe_dump({'/**': {'ros__parameters': values}}))
    for hardware in CHOICES:
        for given, expected in (('auto', hardware != 'real'), ('true', True), ('false', False)):
            nodes, context = started(
                root, 'robot', config=str(config), hardware=hardware, scripts=given
            )
            told = parameters(nodes['cnoid_control/cnoid_control'], context)
            assert told['hardware.ros2_control.allow_scripts'] is expected, (hardware, given)
