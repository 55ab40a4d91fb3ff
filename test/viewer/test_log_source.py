"""A log as a source of the page: played, scrubbed, stepped, compared."""

from __future__ import annotations

import io

import numpy as np
import pytest

from cnoid_control import Simulation
from cnoid_control.cli.main import main
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.run_files import record_run
from cnoid_control.viewer.frame import ENDED, PAUSED, RUNNING
from cnoid_control.viewer.log_source import LogSource, Player
from cnoid_control.viewer.moments import tasks_of
from cnoid_control.viewer.page import Page


def record(path, name: str, duration: float, **changes):
    """Log of a run, and what the simulation kept of it."""
    config = load_config(name, changes)
    with Simulation(config, os=io.StringIO()) as sim:
        record_run(path, sim.loop, config)
        sim.run(duration / 2)
        if name == 'sr1_walk':
            sim.push('CHEST', [50.0, 0.0, 0.0], 0.1)
        sim.run(duration / 2)
        recorded = sim.recorded
    return path, recorded


@pytest.fixture(scope='module')
def walk(tmp_path_factory):
    """Log of half a second of a walk, pushed in the middle, and the recording."""
    return record(tmp_path_factory.mktemp('log') / 'walk.mcap', 'sr1_walk', 0.6)


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_player_goes_with_the_clock():
    """It stands at first, plays at its speed, stops at the end, and begins anew from there."""
    clock = Clock()
    player = Player(1.0, 3.0, clock)
    clock.now = 10.0
    assert (player.time, player.is_playing) == (1.0, False)
    player.play()
    clock.now = 10.5
    assert (player.time, player.is_playing) == (1.5, True)
    player.set_speed(2.0)
    clock.now = 10.75
    assert player.time == 2.0
    player.pause()
    clock.now = 20.0
    assert player.time == 2.0
    player.play()
    clock.now = 21.0
    assert (player.time, player.is_playing) == (3.0, False)
    player.play()
    assert (player.time, player.is_playing) == (1.0, True)
    player.seek(99.0)
    assert (player.time, player.is_playing) == (3.0, False)


def test_frames_are_the_ticks_of_the_log(walk):
    """State, commands and sensors of the tick that is shown, wherever it is scrubbed to."""
    path, recorded = walk
    source = LogSource([path])
    for time, tick in ((0.0, 0), (0.45, 225), (0.1, 50), (9.0, 299)):
        source.act('seek', time=time)
        frame = source.frame()
        assert frame.tick == tick
        np.testing.assert_array_equal(frame.q, recorded.q[tick])
        np.testing.assert_array_equal(frame.root, recorded['root_q'][tick])
        np.testing.assert_allclose(frame.root_motion, recorded['root_motion'][tick], atol=1e-12)
        np.testing.assert_array_equal(
            frame.devices['LeftAnkleForceSensor']['F'], recorded['LeftAnkleForceSensor'][tick]
        )
    assert frame.state == ENDED
    assert source.frame() is frame


def test_it_plays_and_steps(walk):
    """Frames go on with the clock; a step is one tick, forwards and backwards."""
    source = LogSource([walk[0]])
    clock = Clock()
    source.player._clock = clock
    source.act('resume')
    clock.now = 0.2
    assert (source.frame().state, source.frame().tick) == (RUNNING, 100)
    source.act('step', count=-1)
    assert (source.frame().state, source.frame().tick) == (PAUSED, 99)
    source.act('step', count=5)
    assert source.frame().tick == 104
    source.act('step', count=-1000)
    assert source.frame().tick == 0
    source.act('speed', value=0.5)
    source.act('resume')
    clock.now = 0.4
    assert source.frame().tick == 50
    source.act('reset')
    assert source.frame().tick == 0


@pytest.mark.parametrize(
    ('action', 'arguments', 'message'),
    [
        ('push', {'link': 'CHEST'}, 'a log is what has happened'),
        ('dance', {}, "unknown 'dance'; .* choose from: pause, resume, step, reset, speed, seek"),
        ('seek', {'time': 'now'}, "time is 'now'"),
        ('seek', {'time': float('nan')}, 'time is nan'),
        ('speed', {'value': 0.0}, r'value is 0\.0; it must be from 0\.001 to 1000'),
    ],
)
def test_what_a_log_cannot_do_is_refused(walk, action, arguments, message):
    """By name, with what it can."""
    with pytest.raises(CnoidControlError, match=message):
        LogSource([walk[0]]).act(action, **arguments)


def test_events_and_logged_values_are_shown(walk, tmp_path):
    """Pushes with their times; what controllers logged, tasks among them."""
    source = LogSource([walk[0]])
    assert source.events == [(pytest.approx(0.3), 'push CHEST 50 N, 0.1 s')]
    path, _ = record(tmp_path / 'arm.mcap', 'robocop_tutorial', 0.1)
    source = LogSource([path])
    source.act('seek', time=0.05)
    frame = source.frame()
    assert frame.log
    assert any(task.error.size for task in tasks_of(frame.log).values())


def test_the_page_shows_logs_beside_each_other(walk, tmp_path):
    """Both robots are in the picture, each where its log has it; the timeline moves them."""
    other, recorded = record(
        tmp_path / 'other.mcap', 'sr1_walk', 0.6, **{'sr1_walk.mode': 'position'}
    )
    source = LogSource([walk[0], other])
    page = Page(source, act=True)
    try:
        source.act('seek', time=0.5)
        page.update()
        np.testing.assert_allclose(
            page.scene.body.root_link.p, walk[1].root_position[250], atol=1e-12
        )
        (ghost,) = page._run_panel._ghosts
        np.testing.assert_allclose(
            ghost._body.root_link.p, recorded.root_position[250], atol=1e-12
        )
        assert page._run_panel._time.value == pytest.approx(0.5)
        assert 'tick 250' in page._run_panel._text.content
    finally:
        page.close()


def test_a_log_that_was_cut_off_is_shown_up_to_there(walk, tmp_path):
    """And its last frame says so."""
    whole = LogSource([walk[0]])
    last = whole.log.file._chunks[-1]
    path = tmp_path / 'cut.mcap'
    path.write_bytes(walk[0].read_bytes()[: last.start + 10])
    source = LogSource([path])
    source.act('seek', time=1.0)
    frame = source.frame()
    assert (frame.tick, frame.reason) == (255, 'the log was cut off here')


def test_view_refuses_what_is_no_log(tmp_path, capsys):
    """In one line that names it."""
    (tmp_path / 'x.mcap').write_text('hello')
    assert main(['view', str(tmp_path / 'x.mcap')]) == 1
    assert 'x.mcap: is not an undamaged MCAP file' in capsys.readouterr().err


def test_damage_costs_the_ticks_that_it_is_in(walk, tmp_path):
    """It is said where it is, and the rest of the log is shown."""
    content = bytearray(walk[0].read_bytes())
    content[LogSource([walk[0]]).log.file._chunks[0].start + 9] ^= 0x10
    path = tmp_path / 'broken.mcap'
    path.write_bytes(content)
    with pytest.raises(CnoidControlError, match='undamaged'):
        # The first chunk tells what the topics are.
        LogSource([path])
    content = bytearray(walk[0].read_bytes())
    content[LogSource([walk[0]]).log.file._chunks[1].start + 9] ^= 0x10
    path.write_bytes(content)
    source = LogSource([path])
    assert source.frame().q.size
    source.act('seek', time=0.55)
    frame = source.frame()
    assert (frame.state, frame.q.size) == (PAUSED, 0)
    assert 'is not an undamaged MCAP file' in frame.reason
    source.act('seek', time=0.1)
    assert source.frame().q.size
