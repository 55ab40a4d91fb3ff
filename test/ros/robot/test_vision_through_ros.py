"""`cnoid_control run --hardware ros2_control` on a robot that sees and shines."""

import json
import subprocess
import sys

import pytest

pytest.importorskip('mujoco', reason='needs MuJoCo')

CONTROLLER = '''
import numpy as np

from cnoid_control import SimpleController
from cnoid_control.body import Camera, PointLight, RangeCamera, RangeSensor, StateFlag


class Looking(SimpleController):
    """Looks with everything; the lamp is on at first and off after half of the time."""

    def initialize(self, io):
        self.io = io
        self.pan = io.body.joint('pan')
        io.enable_output(self.pan, StateFlag.JOINT_EFFORT)
        io.enable_input(self.pan, StateFlag.JOINT_DISPLACEMENT)
        self.lamp = io.body.find_device(PointLight, 'Lamp')
        io.enable_output(self.lamp)
        self.lamp.on = True
        self.lamp.notify_state_change()
        for device in io.body.devices:
            if not isinstance(device, PointLight):
                io.enable_input(device)
        self.camera = io.body.find_device(Camera, 'Camera')
        self.depth = io.body.find_device(RangeCamera, 'Depth')
        self.rows = io.body.find_device(RangeSensor, 'Rows')
        self.laser = io.body.find_device(RangeSensor, 'Laser')
        self.brightness = {}
        self.seen = 0
        self.camera.state_changed.connect(self.look)
        return True

    def look(self, camera):
        self.seen += 1
        self.brightness[self.lamp.on] = float(camera.image.mean())

    def control(self):
        self.pan.u = 0.0
        if self.io.current_time > 1.0 and self.lamp.on:
            self.lamp.on = False
            self.lamp.notify_state_change()
        return self.io.current_time < 2.0

    def report(self):
        rows = self.rows.range_data.reshape(self.rows.num_pitch_samples, -1)
        return {
            'bright': self.brightness.get(True, -1.0),
            'dark': self.brightness.get(False, -1.0),
            'pictures': self.seen,
            'picture_pixels': self.depth.image.size,
            'points': len(self.depth.points),
            'nearest_point': float(np.abs(self.depth.points[np.isfinite(
                self.depth.points).all(axis=1)][:, 2]).min()),
            'rows': len(rows),
            'ahead': float(rows[2, rows.shape[1] // 2]),
            'below': float(rows[0, rows.shape[1] // 2]),
            'laser': float(self.laser.range_data[45]),
        }
'''

MORE = """
  <cnoid_control>
    <device name="Depth" type="RangeCamera" link="head" optical_frame="cv" width="20" height="16"
      rpy="-1.5707963 0 -1.5707963" organized="true" frame_rate="10"/>
    <device name="Rows" type="RangeSensor" link="head" optical_frame="robotics" yaw_range="1.0"
      yaw_step="0.25" pitch_range="1.6" pitch_step="0.4" rpy="0 0 0"/>
  </cnoid_control>
</robot>
"""


@pytest.fixture
def config(root, tmp_path):
    """Return a robot with a lamp, two cameras and two scanners in front of a wall."""
    model = (root / 'urdf' / 'lantern.urdf').read_text()
    (tmp_path / 'seeing.urdf').write_text(model.replace('</robot>', MORE))
    (tmp_path / 'looking.py').write_text(CONTROLLER)
    path = tmp_path / 'seeing.yaml'
    path.write_text(f"""
/**:
  ros__parameters:
    robot: {{model: {tmp_path / 'seeing.urdf'}, base: fixed}}
    rate: 100.0
    controller: {tmp_path / 'looking.py'}:Looking
    hardware:
      type: ros2_control
      mujoco:
        ambient_light: 0.2
        objects:
          wall: {{shape: box, size: [0.1, 4.0, 3.0], position: [2.05, 0.0, 1.0]}}
      ros2_control: {{lock_step: true}}
""")
    return path


def test_a_robot_behind_ros_sees_and_shines(start_process, config):
    """Pictures, points and all rows arrive; a lamp that is switched off makes it dark."""
    pacing = ('-p', 'pacing:=lockstep', '-p', 'real_time_factor:=2.0')
    simulator = start_process(
        'cnoid_control.ros.sim.node', '--ros-args', '--params-file', str(config), *pacing
    )
    command = [sys.executable, '-m', 'cnoid_control.cli.main', 'run', str(config), '--json']
    result = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert result.returncode == 0, result.stderr + simulator.log_path.read_text()
    summary = json.loads(result.stdout)
    assert summary['exit'] == 'finished', result.stderr
    (report,) = summary['reports'].values()
    assert report['pictures'] > 5
    assert 0.0 <= report['dark'] < 0.6 * report['bright']
    assert report['picture_pixels'] == 20 * 16 * 3
    assert report['points'] == 20 * 16
    # The wall is 2 m ahead of the mast; the floor is a metre below.
    assert report['nearest_point'] == pytest.approx(2.0, abs=0.02)
    assert report['rows'] == 5
    assert report['ahead'] == pytest.approx(2.0, abs=0.02)
    assert report['below'] == pytest.approx(1.05 / 0.717356, abs=0.02)
    assert report['laser'] == pytest.approx(1.94, abs=0.02)
