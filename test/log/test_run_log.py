"""A recorded run as arrays: what the simulation itself had in those ticks."""

from __future__ import annotations

import io

import numpy as np
import pytest

from cnoid_control import Simulation
from cnoid_control.log import LogError, McapWriter, RunLog
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.replay import replay
from cnoid_control.runtime.run_files import record_run


@pytest.fixture(scope='module')
def walk(tmp_path_factory):
    """Log of a walk that is pushed, and what the simulation kept of it."""
    path = tmp_path_factory.mktemp('log') / 'walk.mcap'
    config = load_config('sr1_walk')
    with Simulation(config, os=io.StringIO()) as sim:
        record_run(path, sim.loop, config)
        sim.run(0.4)
        sim.push('CHEST', [0.0, 30.0, 40.0], 0.1)
        sim.run(0.2)
        recorded, robot = sim.recorded, sim.robot.clone()
    return RunLog(path), recorded, robot


def test_rows_are_those_of_the_run(walk):
    """Positions, velocities and the motion of the root, in world axes, of any ticks."""
    log, recorded, _ = walk
    assert log.ticks == len(recorded) == 300
    np.testing.assert_allclose(log.times, recorded.time, atol=1e-9)
    ticks = np.array([0, 17, 255, 256, 299])
    rows = log.rows(ticks)
    np.testing.assert_array_equal(rows['q'], recorded.q[ticks])
    np.testing.assert_array_equal(rows['u'], recorded.u[ticks])
    np.testing.assert_array_equal(rows['root'], recorded['root_q'][ticks])
    np.testing.assert_allclose(rows['root_motion'], recorded['root_motion'][ticks], atol=1e-12)
    whole = np.concatenate([part['q'] for _, part in log.blocks(0, log.ticks)])
    np.testing.assert_array_equal(whole, recorded.q)


def test_a_body_is_put_into_a_tick(walk):
    """It stands as the robot stood, to its hands."""
    log, _, last = walk
    body = log.body()
    log.put(body, log.tick_at(1e9))
    last.calc_forward_kinematics()
    for name in ('LARM_WRIST_R', 'RLEG_ANKLE_R'):
        np.testing.assert_allclose(body.link(name).p, last.link(name).p, atol=1e-12)


def test_times_lead_to_ticks(walk):
    """The last tick that is not later; the first and the last one beyond the ends."""
    log, _, _ = walk
    times = (-1.0, 0.0, 0.0019, 0.002, 0.5, 99.0)
    assert [log.tick_at(time) for time in times] == [0, 0, 0, 1, 250, 299]


def test_events_and_devices_are_found(walk):
    """The push with its strength; a force sensor with one row per tick."""
    log, recorded, _ = walk
    assert log.events() == [(pytest.approx(0.4), 'push CHEST 50 N, 0.1 s')]
    sensor = next(d for d in log.body().devices if d.name == 'LeftAnkleForceSensor')
    series = log.device(sensor)
    np.testing.assert_array_equal(
        series.values, recorded['LeftAnkleForceSensor'][: len(series.values)]
    )


def test_things_that_move_are_in_the_log(tmp_path):
    """A box that is carried is where the simulation had it, thirty times a second."""
    config = load_config('pick_and_place')
    with Simulation(config, record=False, os=io.StringIO()) as sim:
        record_run(tmp_path / 'x.mcap', sim.loop, config)
        sim.run(3.0)
        things = sim.loop.hardware.things()
    log = RunLog(tmp_path / 'x.mcap')
    assert 88 <= log.file.count('things') <= 92
    found = log.things(3.0)
    assert found.keys() == things.keys()
    for name, pose in things.items():
        np.testing.assert_allclose(found[name][:3], pose[:3], atol=0.02)
    start = log.things(0.0)
    assert max(np.linalg.norm(found[n][:3] - start[n][:3]) for n in found) > 0.05


def test_what_is_no_log_of_a_run_is_refused(tmp_path):
    """Another MCAP file, and a run that ended before its first tick."""
    McapWriter(tmp_path / 'x.mcap', {}).close()
    with pytest.raises(LogError, match='is not the log of a run'):
        RunLog(tmp_path / 'x.mcap')
    McapWriter(tmp_path / 'y.mcap', {'cnoid_control': {'joints': '[]'}}).close()
    with pytest.raises(LogError, match='has no tick'):
        RunLog(tmp_path / 'y.mcap')


def test_a_log_that_was_cut_off_early_says_so(walk, tmp_path):
    """Within its attachments, in front of the first tick: whoever reads it."""
    content = walk[0].path.read_bytes()
    start = min(place for place, _ in walk[0].file._attachments.values())
    path = tmp_path / 'cut.mcap'
    for size in (start + 200, 500):
        path.write_bytes(content[:size])
        for read in (RunLog, lambda path: replay(path, io.StringIO())):
            with pytest.raises(LogError, match=f'cut.mcap: .* cut off .* after {size} bytes'):
                read(path)
