"""First motion of a robot: the node in a dry run, and a scale that is raised while it runs."""

from __future__ import annotations

import pytest
import ros_controllers
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from served_node import ServedNode
from std_msgs.msg import Float64MultiArray

HOLD = f'{ros_controllers.__file__}:Hold'


@pytest.fixture
def make_node(rig, tmp_path):
    """Return a function that makes a node with options; it is closed at the end."""
    made = []

    def make(**options):
        served = ServedNode(rig, tmp_path, HOLD, **options)
        made.append(served)
        return served

    yield make
    for served in made:
        served.close()


def test_a_dry_run_shows_what_would_have_been_sent(rig, make_node) -> None:
    """On its own topic and in the diagnostics; the command topic and the heartbeat stay silent."""
    commands = rig.listen(Float64MultiArray, '/effort_controller/commands')
    sent = rig.listen(JointState, '/cnoid_control/joint_commands')
    shown = rig.listen(JointState, '/cnoid_control/dry_run_commands')
    diagnostics = rig.listen(DiagnosticArray, '/diagnostics')
    served = make_node(hardware__ros2_control__dry_run=True, hold__kp=100.0)
    served.activate()
    served.controller.q_ref[:] += 0.5

    def statuses():
        return {
            status.name: status
            for message in list(diagnostics)
            for status in message.status
            if status.name.startswith('cnoid_control')
        }

    rig.wait(lambda: any(message.effort and message.effort[0] > 40.0 for message in list(shown)))
    rig.wait(lambda: 'cnoid_control: dry run' in statuses())
    status = statuses()['cnoid_control: dry run']
    assert status.message == 'nothing is sent to the robot'
    assert [value.key for value in status.values] == [
        '/effort_controller/commands shoulder',
        '/effort_controller/commands elbow',
    ]
    # The robot does not move: P control asks for the same again and again.
    assert shown[-1].effort[0] == pytest.approx(50.0, rel=0.02)
    assert not served.session.safe_state.is_engaged
    assert rig.robot.count_publishers('/effort_controller/commands') == 0
    assert commands == []
    assert sent == []
    result = served.set('hardware.ros2_control.dry_run', False)
    rig.wait(result.done)
    assert not result.result().successful


def test_the_scale_is_changed_while_the_node_runs(rig, make_node) -> None:
    """Efforts follow `scale`; a value that makes no sense is refused and changes nothing."""
    received = rig.listen(Float64MultiArray, '/effort_controller/commands')
    served = make_node(scale=0.1, hold__kp=100.0)
    served.activate()
    served.controller.q_ref[:] += 0.5

    def last():
        return received[-1].data[0] if received else None

    rig.wait(lambda: last() == pytest.approx(5.0, rel=0.02))
    result = served.set('scale', 0.4)
    rig.wait(result.done)
    assert result.result().successful
    rig.wait(lambda: last() == pytest.approx(20.0, rel=0.02))
    # Little by little: values in between were sent.
    assert any(8.0 < message.data[0] < 12.0 for message in list(received))
    for value in (1.5, -0.1):
        result = served.set('scale', value)
        rig.wait(result.done)
        assert not result.result().successful
    assert served.session.limiter.wanted_scale == 0.4
    result = served.set('scale', 0.0)
    rig.wait(result.done)
    rig.wait(lambda: last() == 0.0)
