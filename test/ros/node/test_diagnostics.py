"""Diagnostics of both nodes, as a monitor on /diagnostics sees them."""

from types import SimpleNamespace

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.qos import DurabilityPolicy, QoSProfile

pytest.importorskip('control_msgs.msg', reason='interfaces are not built')

from control_msgs.msg import Float64Values, Keys
from fake_hardware import two_joint_body

from cnoid_control.ros.node.diagnostics import Diagnostics, NodeDiagnostics, make_status
from cnoid_control.runtime.safety.safe_state import SafeState, SafeStateParameters

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def test_statuses_and_numbers_are_published(ros_node, spin_until):
    """Statuses carry the node's name and robot; numbers come with their names, latched."""
    status = make_status('loop', DiagnosticStatus.WARN, 'slow', {'rate': 99.123456789, 'n': 3})
    diagnostics = Diagnostics(ros_node, lambda: [status], lambda: {'a': 1.5, 'b': 2.0}, 'SR1')
    arrays, keys, values = [], [], []
    ros_node.create_subscription(DiagnosticArray, '/diagnostics', arrays.append, 1)
    ros_node.create_subscription(Float64Values, 'tester/statistics/values', values.append, 1)
    assert spin_until(
        lambda: (
            diagnostics._publisher.get_subscription_count()
            and diagnostics._value_publisher.get_subscription_count()
        )
    )
    diagnostics.publish()
    ros_node.create_subscription(Keys, 'tester/statistics/names', keys.append, LATCHED)
    assert spin_until(lambda: arrays and keys and values)
    seen = arrays[0].status[0]
    assert (seen.name, seen.level, seen.hardware_id) == ('tester: loop', b'\x01', 'SR1')
    assert {pair.key: pair.value for pair in seen.values} == {'rate': '99.1235', 'n': '3'}
    assert keys[0].keys == ['a', 'b']
    assert list(values[0].values) == [1.5, 2.0]


def test_both_nodes_tell_how_they_are(start_process, ros_node, spin_until, root):
    """The control node tells loop, robot, limits and controller; the robot its simulation."""
    config = ['--ros-args', '--params-file', str(root / 'config' / 'sr1_pd.yaml')]
    robot = start_process('cnoid_control.ros.sim.node', *config, '-p', 'pacing:=lockstep')
    node = start_process(
        'cnoid_control.ros.node.control_node',
        *config,
        '-p',
        'hardware.ros2_control.lock_step:=true',
    )
    seen = {}

    def receive(array):
        seen.update({status.name: status for status in array.status})

    ros_node.create_subscription(DiagnosticArray, '/diagnostics', receive, 10)
    wanted = [f'cnoid_control: {name}' for name in ('loop', 'robot', 'limits', 'controller')]
    wanted.append('cnoid_control_mujoco: simulation')
    reached = spin_until(
        lambda: all(name in seen for name in wanted) and seen[wanted[4]].message == 'running', 60
    )
    assert reached, f'{sorted(seen)}\n{robot.log_path.read_text()}{node.log_path.read_text()}'
    loop = {pair.key: pair.value for pair in seen['cnoid_control: loop'].values}
    assert int(loop['ticks']) > 0
    assert float(loop['rate [Hz]']) > 0.0
    assert seen['cnoid_control: controller'].message == 'sr1_minimum runs'
    assert seen['cnoid_control: robot'].level == DiagnosticStatus.OK
    assert seen[wanted[4]].hardware_id == 'SR1'


def test_limits_of_the_last_second_and_since_the_start_are_told_apart():
    """A list of clamps never stands below the sentence that there were none."""
    counts = {'effort': {'elbow': 0}}
    session = SimpleNamespace(limiter=SimpleNamespace(report=lambda: counts, scale=1.0))
    watch = NodeDiagnostics(lambda: session)
    assert watch._limits(session).message == 'no command was limited lately'
    counts['effort']['elbow'] = 3
    assert watch._limits(session).message == '3 commands were limited lately'
    status = watch._limits(session)
    assert status.message == 'no command was limited lately; 3 were since the start'
    assert {pair.key: pair.value for pair in status.values} == {'effort elbow': '3', 'scale': '1'}


@pytest.mark.parametrize(
    ('how', 'level'), [({'finished': True}, b'\x00'), ({'pause': True}, b'\x01'), ({}, b'\x02')]
)
def test_a_held_robot_is_an_error_only_where_something_is_wrong(how, level):
    """Finished is well, a pause is worth a look, everything else is an error."""
    body = two_joint_body()
    safe = SafeState(body, SafeStateParameters(), 0.01)
    host = SimpleNamespace(controllers=[])
    session = SimpleNamespace(safe_state=safe, loop=SimpleNamespace(host=host))
    safe.enter('why', **how)
    status = NodeDiagnostics(lambda: session)._controllers(session)
    assert (status.level, status.message) == (level, 'safe state: why')
