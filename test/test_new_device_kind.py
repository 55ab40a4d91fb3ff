"""A kind of device that is new: its class and three rows see it through physics, log and ROS."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs MuJoCo')
pytest.importorskip('rclpy', reason='needs ROS 2')

import mujoco
from mujoco_rig import ARM, Rig

from cnoid_control.body import Device
from cnoid_control.body.formats.load import load_body
from cnoid_control.cli.main import main
from cnoid_control.controllers.sensor_reading import SensorReading
from cnoid_control.hardware.mujoco import devices as in_mujoco
from cnoid_control.log.reader import LogFile
from cnoid_control.messages import devices as in_messages
from cnoid_control.messages.devices import DeviceKind, MeasuredField, NumbersMessage
from cnoid_control.ros.robot.device_readers import open_readers

# The field that MuJoCo has by default [its own unit].
FIELD = np.array([0.0, -0.5, 0.0])

CONFIG = """
/**:
  ros__parameters:
    robot: {{model: {model}, base: fixed, posture: [0.0, 0.0]}}
    rate: 500.0
    controller: pd
    hardware:
      type: mujoco
      mujoco: {{floor: false}}
"""
DEVICE = """
<cnoid_control>
  <device name="Compass" type="Compass" link="base" rpy="0 0 0.5" B_max="1 1 1"/>
</cnoid_control>
</robot>
"""


class Compass(Device):
    """Magnetic field in device axes."""

    measured_fields = ('B',)
    state_fields = (*Device.state_fields, *measured_fields)

    def __init__(self, name, **device):
        super().__init__(name, **device)
        self.B = np.zeros(3)
        self.B_max = np.full(3, np.inf)


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Return a robot with the device, after the rows of MuJoCo and of messages were added."""
    kind = in_mujoco.SensorKind((mujoco.mjtSensor.mjSENS_MAGNETOMETER,))
    monkeypatch.setitem(in_mujoco.SENSOR_KINDS, Compass, kind)
    message = NumbersMessage(in_messages.VECTOR, (MeasuredField('B', 'vector'),), {})
    row = DeviceKind(Compass, '{name}/field', (message,), (message,))
    monkeypatch.setattr(in_messages, 'DEVICE_KINDS', (*in_messages.DEVICE_KINDS, row))
    model = tmp_path / 'arm.urdf'
    model.write_text(ARM.replace('</robot>', DEVICE))
    path = tmp_path / 'arm.yaml'
    path.write_text(CONFIG.format(model=model))
    return path


def expected(device: Device) -> np.ndarray:
    """Return the field in the device's axes."""
    return device.R_local.T @ FIELD


def test_physics_log_and_model_know_it(config, tmp_path):
    """It is read from the model, measured, recorded without being asked for, and a sensor."""
    device = load_body(tmp_path / 'arm.urdf').devices[0]
    assert isinstance(device, Compass)
    np.testing.assert_array_equal(device.B_max, [1.0, 1.0, 1.0])
    log = tmp_path / 'run.mcap'
    assert main(['run', str(config), '--duration', '0.02', '--log', str(log), '--json']) == 0
    recorded = LogFile(log)
    topic = next(topic for topic in recorded.topics if 'Compass' in topic)
    layout = in_messages.kind_of(device).log[0].layout(device.name)
    rows = layout.decode(recorded.rows(topic), 'vector')
    np.testing.assert_allclose(rows[-1], expected(device), atol=1e-9)
    reading = SensorReading.of_device(device)
    device.B[:] = [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(reading.measurements, [1.0, 2.0, 3.0])


def test_a_choreonoid_file_has_it(tmp_path):
    """Its attributes are called in the file as in the class."""
    (tmp_path / 'robot.body').write_text("""
format: ChoreonoidBody
format_version: 2.0
name: robot
links:
  - name: root
    elements:
      - {type: Compass, name: North, id: 3, B_max: [1, 2, 3]}
""")
    device = load_body(tmp_path / 'robot.body').devices[0]
    assert isinstance(device, Compass)
    assert device.id == 3
    np.testing.assert_array_equal(device.B_max, [1.0, 2.0, 3.0])


def test_ros_carries_it(config, ros_context, ros_node, spin_until, tmp_path):
    """The simulated robot publishes it, and the control side reads it."""
    rig = Rig(ros_context, ros_node, spin_until, config)
    try:
        body = load_body(tmp_path / 'arm.urdf')
        (reader,) = open_readers(ros_node, body, ['Compass'], {}, False, False, lambda *_: None)
        assert reader.topic == '/Compass/field'
        assert reader.wait_for_good(20.0), reader.problem
        np.testing.assert_allclose(body.devices[0].B, expected(body.devices[0]), atol=1e-9)
        reader.close()
    finally:
        assert rig.close() == ''
