"""A successor takes over on the node: through DDS, and the parameter says who has the robot."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')
pytest.importorskip('mujoco', reason='needs MuJoCo')

from node_rig import CONTROLLERS, NodeRig, write_config

HOLD = f'{CONTROLLERS}:Hold'
STANDBY = f"""
    then: second
    standby:
      first: {{type: "{HOLD}"}}
      second: {{type: "{HOLD}"}}
      third: {{type: "{HOLD}", then: first}}
    first: {{kp: 300.0}}
    second: {{kp: 100.0}}
    third: {{kp: 200.0, raises: true}}
"""


@pytest.fixture
def rig(ros_node, spin_until, start_process, tmp_path: Path) -> NodeRig:
    """Node and robot with three controllers that wait."""
    config = write_config(tmp_path)
    text = config.read_text().replace(
        f'    controller: {HOLD}\n', f'    controller: first{STANDBY}'
    )
    config.write_text(text.replace('    hold: {kp: 300.0}\n', ''))
    rig = NodeRig(ros_node, spin_until, start_process, config)
    rig.start_robot()
    rig.start_node()
    rig.wait_for_state('active')
    return rig


def test_successors_take_over_on_the_node(rig: NodeRig) -> None:
    """By name while it runs; of one that fails; and options reach whoever has the robot."""
    assert rig.set(controller='nobody')[0] is False
    assert rig.set(first__raises=True) == (True, '')
    assert rig.spin_until(lambda: rig.get('controller') == 'second', timeout=20.0), rig.logs
    rig.wait_for_log('second takes over')
    assert rig.trigger('pause')[0]
    assert rig.trigger('resume')[0]
    assert rig.set(second__kp=150.0) == (True, '')
    rig.wait_for_swap(0.6)
    # The third one fails in its first tick: the second one keeps the robot.
    success, reason = rig.set(controller='third')
    assert not success
    assert 'raised' in reason
    assert rig.get('controller') == 'second'
    assert rig.set(first__raises=False) == (True, '')
    assert rig.set(controller='first') == (True, '')
    rig.wait_for_swap()
    assert rig.get('controller') == 'first'
    assert rig.state() == 'active'
