"""Growth is measured on robots that are what they are said to be."""

from __future__ import annotations

import numpy as np
import pytest

from cnoid_control.bench.growth import Case, TimedWorld, exponent, robot_text, tick_times
from cnoid_control.body import ForceSensor, Imu, load_body

pytest.importorskip('mujoco', reason='needs MuJoCo')


@pytest.mark.parametrize(('joints', 'devices'), [(6, 0), (29, 7), (120, 30)])
def test_robots_have_the_size_that_is_asked_for(joints, devices, tmp_path):
    """With devices of two kinds in turn."""
    path = tmp_path / 'limbs.urdf'
    path.write_text(robot_text(joints, devices))
    body = load_body(path)
    assert (body.num_joints, body.num_devices) == (joints, devices)
    kinds = [type(device) for device in body.devices]
    assert kinds.count(Imu) == -(-devices // 2)
    assert kinds.count(ForceSensor) == devices // 2


def test_the_exponent_is_that_of_a_power():
    """Also where the times are scattered, by least squares of the logarithms."""
    sizes = np.array([6.0, 29.0, 60.0, 120.0])
    assert exponent(sizes, 3.0 * sizes**1.3) == pytest.approx(1.3)
    assert exponent([1.0, 10.0], [5.0, 5.0]) == pytest.approx(0.0)


def test_the_framework_is_the_tick_without_the_physics(monkeypatch):
    """By a clock that only the physics and one controller's tick move on."""
    import mujoco

    now = [0]
    monkeypatch.setattr('time.thread_time_ns', lambda: now[0])
    for name, duration in (('mj_step1', 300), ('mj_step2', 700)):
        real = getattr(mujoco, name)

        def step(model, data, real=real, duration=duration):
            real(model, data)
            now[0] += duration

        monkeypatch.setattr(mujoco, name, step)
    real_control = 'cnoid_control.bench.growth.HoldAll.control'

    def control(self):
        now[0] += 50
        self.body.u[:] = 0.0
        return True

    monkeypatch.setattr(real_control, control)
    world = TimedWorld(Case(6, 2, robots=3))
    assert world.take(4).tolist() == [[150.0, 1000.0]] * 4
    world.close()


def test_cases_are_measured_by_turns():
    """Every case has its times."""
    cases = [Case(6, 0), Case(6, 2)]
    times = tick_times(cases, ticks=5, rounds=2)
    assert list(times) == cases
    assert all(framework > 0.0 and physics > 0.0 for framework, physics in times.values())
