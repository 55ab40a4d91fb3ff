"""The shipped configuration light_camera on the node: a lamp that blinks, seen by a camera."""

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs MuJoCo')

from sensor_msgs.msg import Image
from std_msgs.msg import Float64MultiArray


def test_the_lamp_blinks_and_the_camera_sees_it(root, ros_node, spin_until, start_process):
    """The node commands the lamp on its topic, and the simulated picture follows."""
    arguments = ('--ros-args', '--params-file', str(root / 'config' / 'light_camera.yaml'))
    pictures, commands = [], []
    ros_node.create_subscription(
        Image, 'Camera/image', lambda message: pictures.append(np.mean(message.data)), 10
    )
    ros_node.create_subscription(
        Float64MultiArray, 'Lamp/command', lambda message: commands.append(message.data[0]), 10
    )
    simulator = start_process('cnoid_control.ros.sim.node', *arguments)
    # A busy machine may miss a picture.
    node = start_process(
        'cnoid_control.ros.node.control_node', *arguments, '-p', 'watchdog.device_action:=ignore'
    )
    done = spin_until(lambda: len(commands) > 2 and max(pictures) > 3 * min(pictures), 60.0)
    assert done, node.log_path.read_text() + simulator.log_path.read_text()
    assert set(commands) == {0.0, 1.0}
