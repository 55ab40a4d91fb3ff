"""SR1 in a real Gazebo, where one is installed, compared with MuJoCo."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from cnoid_control import Simulation
from cnoid_control.body import load_body
from cnoid_control.body.formats.gazebo_urdf import gazebo_world
from cnoid_control.faults.gazebo_testbed import GazeboRig, missing_gazebo

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(missing_gazebo()), reason=f'needs Gazebo: {missing_gazebo()}'),
]
FORCES = ('LeftAnkleForceSensor', 'RightAnkleForceSensor')
IMU = 'WaistIMU'
# SR1 creeps into its posture for so long [s].
SETTLING = 12.0
PUSH, STEPS = 150.0, 100


class Sensors:
    """Last measurements of SR1 in Gazebo, and its largest tilt."""

    def __init__(self, rig: GazeboRig) -> None:
        from geometry_msgs.msg import WrenchStamped
        from sensor_msgs.msg import Imu

        self.values: dict[str, np.ndarray] = {}
        self.tilts: list[float] = []
        node = rig.observer.node
        for name in FORCES:
            node.create_subscription(
                WrenchStamped,
                f'{name}_broadcaster/wrench',
                lambda message, name=name: self._force(name, message.wrench),
                1,
            )
        node.create_subscription(Imu, 'imu_sensor_broadcaster/imu', self._imu, 100)

    def _force(self, name, wrench) -> None:
        parts = [
            getattr(vector, axis) for vector in (wrench.force, wrench.torque) for axis in 'xyz'
        ]
        self.values[name] = np.array(parts)

    def _imu(self, message) -> None:
        acceleration = message.linear_acceleration
        self.values[IMU] = np.array([acceleration.x, acceleration.y, acceleration.z])
        x, y = message.orientation.x, message.orientation.y
        self.tilts.append(math.degrees(math.acos(1.0 - 2.0 * (x * x + y * y))))


@pytest.fixture
def rig(tmp_path: Path, root: Path) -> Iterator[GazeboRig]:
    """Return SR1 standing in a world of the user's own, by arguments of the user's own."""
    world = tmp_path / 'own world.sdf'
    world.write_text(gazebo_world(1000.0, load_body(root / 'urdf' / 'sr1.urdf').description))
    made = GazeboRig(f'world:={world}', 'gz_args:=-r -v 2')
    try:
        with open(f'/proc/{made.gazebo}/cmdline', 'rb') as file:
            words = file.read().decode().split('\0')
        assert words[-6:-1] == ['-r', '-v', '2', '-s', str(world)]
        yield made
    finally:
        made.close()


def tilt_of(simulation: Simulation) -> float:
    """Angle between SR1's waist and the vertical [deg]."""
    return math.degrees(math.acos(min(1.0, simulation.robot.root_link.R[2, 2])))


def test_sensors_and_a_push_are_those_of_mujoco(rig: GazeboRig) -> None:
    """IMU and vertical forces within 2 %; the push tilts as much, and as far as one may say."""
    sensors = Sensors(rig)
    simulation = Simulation('sr1_pd')
    for name in (IMU, *FORCES):
        simulation.sensor(name)
    simulation.run(SETTLING)
    rig.wait_for(lambda: rig.sim_time > SETTLING and len(sensors.values) == 3, 300.0)
    for name in FORCES:
        expected = np.asarray(simulation.sensor(name).measurements)
        seen = sensors.values[name]
        print(name, seen.round(3), expected.round(3))
        assert seen[2] == pytest.approx(expected[2], rel=0.02)
        assert seen[4] == pytest.approx(expected[4], rel=0.02)
    expected = np.asarray(simulation.sensor(IMU).measurements)[3:]
    print(IMU, sensors.values[IMU].round(4), expected.round(4), rig.tilt, tilt_of(simulation))
    assert sensors.values[IMU] == pytest.approx(expected, abs=0.02 * 9.80665)
    assert sensors.values[IMU][2] == pytest.approx(expected[2], rel=0.02)
    before = rig.tilt
    assert before == pytest.approx(tilt_of(simulation), abs=0.02)

    name = 'entity: {name: "SR1::WAIST", type: LINK}'
    rig.control('pause: true')
    time.sleep(0.5)
    rig.publish('wrench/persistent', 'EntityWrench', f'{name}, wrench: {{force: {{x: {PUSH}}}}}')
    sensors.tilts.clear()
    paused = rig.sim_time
    rig.control(f'pause: true, multi_step: {STEPS}')
    rig.wait_for(lambda: rig.sim_time >= paused + 0.95e-3 * STEPS, 60.0)
    time.sleep(0.5)
    rig.publish('wrench/clear', 'Entity', 'name: "SR1::WAIST", type: LINK')
    rig.control('pause: false')
    rig.wait_for(lambda: rig.sim_time > paused + 3.0, 120.0)

    simulation.push('WAIST', [PUSH, 0.0, 0.0], 1e-3 * STEPS)
    expected_tilts = []
    for _ in range(3000):
        simulation.step()
        expected_tilts.append(tilt_of(simulation))
    print('tilts', before, max(sensors.tilts), max(expected_tilts), rig.tilt)
    change = max(sensors.tilts) - before
    assert change == pytest.approx(max(expected_tilts) - before, rel=0.3)
    assert change > 0.2
    assert rig.stands
    assert rig.tilt < before + 0.2
    assert not rig.when('safe state')[0]
