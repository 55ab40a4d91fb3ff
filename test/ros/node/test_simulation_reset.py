"""`~/reset` with a simulated robot: one call brings robot and node back to the start."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from node_rig import NodeRig, write_config
from sensor_msgs.msg import JointState

POSTURE = np.array([0.3, -0.2])
SERVICE = ('-p', 'simulation_reset:=cnoid_control_mujoco/reset')
# A busy machine is no fault here.
PATIENT = (
    *('-p', 'realtime_priority:=0', '-p', 'watchdog.state_timeout:=5.0'),
    *('-p', 'watchdog.control_timeout:=5.0', '-p', 'watchdog.subscriber_timeout:=60.0'),
)


@pytest.mark.parametrize('pacing', ['lockstep', 'paced', 'free'])
def test_the_robot_holds_its_first_posture_again(
    ros_node, spin_until, start_process, tmp_path: Path, pacing: str
) -> None:
    """After an emergency stop has let it fall, and while it runs: no jump, no trip, no stop."""
    rig = NodeRig(ros_node, spin_until, start_process, write_config(tmp_path))
    rig.start_robot('-p', f'pacing:={pacing}', '-p', 'realtime_priority:=0')
    lock_step = f'hardware.ros2_control.lock_step:={str(pacing == "lockstep").lower()}'
    rig.start_node(*PATIENT, *SERVICE, '-p', lock_step)
    rig.wait_for_state('active')
    seen: list[np.ndarray] = []
    ros_node.create_subscription(
        JointState, 'joint_states', lambda message: seen.append(np.array(message.position)), 10
    )

    def is_off(limit: float) -> bool:
        return bool(seen) and float(abs(seen[-1] - POSTURE).max()) > limit

    for fallen in (True, False):
        if fallen:
            assert rig.trigger('estop')[0]
            assert spin_until(lambda: is_off(0.5), 60.0), rig.logs
        answer = rig.trigger('reset')
        assert answer == (True, 'running, from the start of the simulation'), rig.logs
        seen.clear()
        # A second of its time: it stands from the first state on.
        assert spin_until(lambda: len(seen) > 250, 60.0), rig.logs
        errors = [float(abs(q - POSTURE).max()) for q in seen]
        assert max(errors) < 0.1, rig.logs
    assert '[ERROR]' not in rig.log, rig.log


def test_a_robot_that_cannot_be_put_back_is_held(
    ros_node, spin_until, start_process, tmp_path: Path
) -> None:
    """The answer says why, and commands go on."""
    rig = NodeRig(ros_node, spin_until, start_process, write_config(tmp_path))
    rig.start_robot()
    rig.start_node(*PATIENT, '-p', 'simulation_reset:=cnoid_control_mujoco/no_reset')
    rig.wait_for_state('active')
    success, reason = rig.trigger('reset')
    assert not success
    assert 'no_reset' in reason
    rig.wait_for_swap(0.1)
