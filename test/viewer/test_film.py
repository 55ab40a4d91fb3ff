"""Pictures and films of recorded runs: what is in them, and what is refused."""

from __future__ import annotations

import io
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from cnoid_control import Simulation
from cnoid_control.cli.main import main
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.log import RunLog
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.run_files import record_run
from cnoid_control.viewer import film_file
from cnoid_control.viewer.film import FilmParameters, render
from cnoid_control.viewer.shot import Shot

SMALL = Shot(size=(72, 96))
RAYS = FilmParameters(SMALL, rate=10.0, renderer='rays')


def record(path, name: str, duration: float, **changes) -> RunLog:
    """Log of a run."""
    config = load_config(name, changes)
    with Simulation(config, record=False, os=io.StringIO()) as sim:
        record_run(path, sim.loop, config)
        sim.run(duration)
    return RunLog(path)


@pytest.fixture(scope='module')
def pendulum(tmp_path_factory):
    """Log of a pendulum that swings."""
    return record(tmp_path_factory.mktemp('log') / 'pendulum.mcap', 'pendulum', 1.0)


def pictures(path) -> list[np.ndarray]:
    """Pictures of a GIF."""
    with Image.open(path) as image:
        found = []
        for number in range(getattr(image, 'n_frames', 1)):
            image.seek(number)
            found.append(np.asarray(image.convert('RGB')).astype(int))
    return found


def total_time(path) -> int:
    """Time that a GIF takes [ms]."""
    with Image.open(path) as image:
        times = []
        for number in range(image.n_frames):
            image.seek(number)
            times.append(image.info['duration'])
    return sum(times)


def test_a_film_shows_the_run(tmp_path, pendulum):
    """So many pictures a second; the robot moves in them, and the picture is the moment's."""
    made = render([pendulum], tmp_path / 'x.gif', RAYS)
    frames = pictures(tmp_path / 'x.gif')
    assert (made.pictures, made.renderer) == (10, 'rays')
    # Pictures that are the same are one, shown for longer.
    assert 8 <= len(frames) <= 10
    assert total_time(tmp_path / 'x.gif') == 1000
    assert frames[0].shape == (72, 96, 3)
    moved = [np.abs(one - frames[0]).max(axis=2).mean() for one in frames]
    assert max(moved[1:]) > 0.5
    render([pendulum], tmp_path / 'x.png', replace(RAYS, end=0.5))
    still = np.asarray(Image.open(tmp_path / 'x.png').convert('RGB')).astype(int)
    # The same moment, from where it fills the picture.
    assert still.shape == frames[0].shape


def test_times_and_speed_are_those_asked_for(tmp_path, pendulum):
    """From 0.2 s to 0.6 s at half the speed: 9 pictures at 10 Hz."""
    given = replace(RAYS, begin=0.2, end=0.6, speed=0.5)
    assert render([pendulum], tmp_path / 'x.gif', given).pictures == 9
    with pytest.raises(CnoidControlError, match=r'7 s is not in the log, which goes from 0 to'):
        render([pendulum], tmp_path / 'x.gif', replace(RAYS, end=7.0))
    with pytest.raises(CnoidControlError, match=r'before it begins at 0\.5 s'):
        render([pendulum], tmp_path / 'x.gif', replace(RAYS, begin=0.5, end=0.2))


def test_an_mp4_is_encoded(tmp_path, pendulum):
    """It has the pictures and the size; odd sizes are made even."""
    try:
        encoder = film_file.find_encoder()
    except CnoidControlError as error:
        pytest.skip(str(error))
    shot = replace(SMALL, size=(71, 95))
    render([pendulum], tmp_path / 'x.mp4', replace(RAYS, shot=shot))
    told = subprocess.run(
        [encoder, '-i', tmp_path / 'x.mp4', '-f', 'null', '-'], capture_output=True, text=True
    ).stderr
    assert '96x72' in told
    assert 'frame=   10' in told
    assert list(tmp_path.iterdir()) == [tmp_path / 'x.mp4']


def test_without_an_encoder_mp4_is_refused_by_name(tmp_path, pendulum, monkeypatch):
    """Before anything is drawn; with what helps."""
    monkeypatch.setattr(film_file.shutil, 'which', lambda name: None)
    monkeypatch.setitem(__import__('sys').modules, 'imageio_ffmpeg', None)
    with pytest.raises(CnoidControlError, match='pip install imageio-ffmpeg'):
        render([pendulum], tmp_path / 'x.mp4', RAYS)
    assert not (tmp_path / 'x.mp4').exists()


def test_an_encoder_that_fails_says_why(tmp_path, pendulum, monkeypatch):
    """And leaves no file."""
    broken = tmp_path / 'ffmpeg'
    broken.write_text('#!/bin/sh\necho no such codec >&2\nexit 1\n')
    broken.chmod(0o755)
    monkeypatch.setattr(film_file, 'find_encoder', lambda: str(broken))
    with pytest.raises(CnoidControlError, match=r'x\.mp4: the encoder failed: no such codec'):
        render([pendulum], tmp_path / 'x.mp4', RAYS)
    assert list(tmp_path.iterdir()) == [broken]


def test_the_camera_follows_a_robot_that_goes_far():
    """It goes with it, and without the sway of its steps; one that stays is not followed."""
    times = np.arange(0.0, 10.0, 0.1)
    sway = 0.05 * np.sin(2 * np.pi * times)
    roots = np.stack([0.5 * times, sway, np.full(100, 0.7)], axis=1)
    box = np.array([[x, y, z] for x in (-0.2, 0.2) for y in (-0.2, 0.2) for z in (0.0, 1.4)])
    corners = [box + np.append(root[:2], 0.0) for root in roots]
    views = SMALL.views(corners, roots, 0.1)
    targets = np.array([view.target for view in views])
    assert np.abs(targets[20:80, 0] - roots[20:80, 0]).max() < 0.1
    assert np.abs(targets[20:80, 1]).max() < 0.02
    offsets = np.array([view.position for view in views]) - targets
    np.testing.assert_allclose(offsets, offsets[:1].repeat(100, axis=0), atol=1e-9)
    fixed = replace(SMALL, follow=False).views(corners, roots, 0.1)
    assert len(set(fixed)) == 1
    inside = fixed[0].project(np.concatenate(corners))
    assert (inside >= 0).all()
    assert (inside <= (96, 72)).all()
    stays = SMALL.views(corners[:5], roots[:5], 0.1)
    assert len(set(stays)) == 1


def test_the_camera_is_where_it_is_asked_for():
    """Azimuth from X about Z, elevation above the horizon, distance from the target."""
    shot = Shot(np.radians(90.0), np.radians(30.0), 2.0, (1.0, 0.0, 0.5))
    (view,) = shot.views([np.zeros((1, 3))], np.zeros((1, 3)), 0.0)
    expected = (1.0, 2.0 * np.cos(np.radians(30.0)), 1.5)
    np.testing.assert_allclose(view.position, expected, atol=1e-12)
    assert view.target == (1.0, 0.0, 0.5)


def test_a_ghost_is_drawn_over_the_run(tmp_path, pendulum):
    """Another log in its own colour, where that robot was."""
    other = record(tmp_path / 'other.mcap', 'pendulum', 0.1)
    alone = replace(RAYS, shot=replace(SMALL, distance=3.0))
    render([pendulum], tmp_path / 'one.png', replace(alone, moments=(0.5,)))
    with pytest.raises(CnoidControlError, match='not in the log'):
        render([other, pendulum], tmp_path / 'two.png', replace(alone, moments=(0.5,)))
    render([pendulum, other], tmp_path / 'two.png', replace(alone, moments=(0.5,)))
    one, two = (
        np.asarray(Image.open(tmp_path / name).convert('RGB')).astype(int)
        for name in ('one.png', 'two.png')
    )
    orange = (two[..., 0] - two[..., 2] > 60) & (one[..., 0] - one[..., 2] < 40)
    assert orange.sum() > 10


def test_command_runs_a_configuration_and_draws_it(tmp_path, capsys):
    """One picture of several moments; it says what has drawn it."""
    out = tmp_path / 'new' / 'x.png'
    words = ['render', 'pendulum', str(out), '--at', '0.1,0.3', '--apart', '0.5']
    assert main([*words, '--size', '64x48', '--renderer', 'rays', '--camera=-20,10,4']) == 0
    assert capsys.readouterr().out.strip() == f'{out}: 1 picture by rays'
    with Image.open(out) as image:
        assert image.size == (64, 48)


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (
            ['LOG', 'x.avi'],
            'OUT x.avi cannot be written: its name must end otherwise',
        ),
        (['LOG', 'x'], 'its name must end otherwise'),
        (['LOG', 'LOG'], 'its name must end otherwise'),
        (['LOG', 'x.gif', '--controller', 'pd'], 'has run already'),
        (['LOG', 'x.gif', '--at', '0.1'], 'moments are for one picture'),
        (['LOG', 'x.png', '--camera', '0,95'], 'elevation 95 is not within -89 and 89'),
        (['nothing', 'x.png'], "'nothing' is neither a configuration nor a model"),
        (['LOG', 'file/x.png'], 'cannot be written'),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path, pendulum, capsys, monkeypatch, words, message):
    """By name, in one line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'file').touch()
    words = [str(pendulum.path) if word == 'LOG' else word for word in words]
    assert main(['render', *words]) == 1
    told = capsys.readouterr().err
    assert message in told
    assert 'Traceback' not in told


@pytest.mark.parametrize(
    ('option', 'value'),
    [('--size', '640'), ('--size', '0x9'), ('--fps', '0'), ('--at', 'x'), ('--camera', '1')],
)
def test_bad_options_are_refused(option, value, capsys):
    """By the command line itself."""
    with pytest.raises(SystemExit):
        main(['render', 'pendulum', 'x.png', option, value])
    assert repr(value) in capsys.readouterr().err


def test_a_log_that_was_cut_off_is_drawn_up_to_there(tmp_path, capsys):
    """And it is said."""
    log = record(tmp_path / 'x.mcap', 'pendulum', 0.6)
    last = log.file._chunks[-1]
    (tmp_path / 'cut.mcap').write_bytes((tmp_path / 'x.mcap').read_bytes()[: last.start + 20])
    words = ['render', str(tmp_path / 'cut.mcap'), str(tmp_path / 'x.png')]
    assert main([*words, '--size', '48x32', '--renderer', 'rays']) == 0
    assert 'was cut off: it is drawn up to 0.511 s' in ' '.join(capsys.readouterr().err.split())
