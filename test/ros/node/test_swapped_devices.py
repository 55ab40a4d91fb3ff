"""Which devices are watched after other controllers took over."""

from __future__ import annotations

import pytest

pytest.importorskip('control_msgs.msg', reason='interfaces are not built')

from mujoco_rig import ARM
from node_rig import CONTROLLERS, NodeRig, write_config
from sensor_msgs.msg import Imu

GYRO = '<gazebo reference="lower"><sensor name="gyro" type="imu"/></gazebo></robot>'


@pytest.fixture
def rig(ros_node, spin_until, start_process, tmp_path):
    """Return the rig for an arm with a gyro."""
    config = write_config(tmp_path)
    (tmp_path / 'arm.urdf').write_text(ARM.replace('</robot>', GYRO))
    return NodeRig(ros_node, spin_until, start_process, config)


def test_devices_of_the_new_controllers_are_watched(rig):
    """A device that only the new controller reads is missed by the safe state from then on."""
    rig.publish_states()
    gyro = rig.node.create_publisher(Imu, 'imu_sensor_broadcaster/imu', 10)
    timer = rig.node.create_timer(0.05, lambda: gyro.publish(Imu()))
    rig.start_node(
        *('-p', 'hardware.ros2_control.lock_step:=false', '-p', 'realtime_priority:=0'),
        *('-p', 'rate:=10.0', '-p', "hardware.ros2_control.controller_manager:=''"),
        *('-p', 'watchdog.subscriber_action:=ignore', '-p', 'watchdog.state_action:=ignore'),
        *('-p', 'watchdog.device_timeout:=1.0', '-p', 'watchdog.grace:=0.0'),
    )
    assert rig.spin_until(lambda: 'activate: done' in rig.log, timeout=60.0), rig.log
    assert rig.set(controller=f'{CONTROLLERS}:Balanced') == (True, ''), rig.log
    assert 'safe state' not in rig.log
    rig.node.destroy_timer(timer)
    rig.wait_for_log("safe state: no device 'gyro'")
