"""The page of curves: what is on it, that no peak is lost, and what is refused."""

from __future__ import annotations

import io
import itertools

import matplotlib.image
import numpy as np
import pytest

from cnoid_control import Simulation
from cnoid_control.cli.main import main
from cnoid_control.log import RunLog
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.defaults import load_run
from cnoid_control.runtime.run_files import record_run
from cnoid_control.viewer import plot_data
from cnoid_control.viewer.plot_data import read_run
from cnoid_control.viewer.plot_layout import distinct_colors, event_rows, spread
from cnoid_control.viewer.plot_page import PlotPage, make_figure, save_page


def record(path, config, duration: float, push: bool = False):
    """Log of a run, and what the simulation kept of it."""
    with Simulation(config, os=io.StringIO()) as sim:
        record_run(path, sim.loop, config)
        sim.run(duration / 2)
        if push:
            sim.push('CHEST', [300.0, 0.0, 0.0], 0.02)
        sim.run(duration / 2)
        recorded = sim.recorded
    return RunLog(path), recorded


@pytest.fixture(scope='module')
def walk(tmp_path_factory):
    """A walk that is pushed."""
    path = tmp_path_factory.mktemp('log') / 'walk.mcap'
    return record(path, load_config('sr1_walk'), 1.0, push=True)


@pytest.fixture(scope='module')
def arm(tmp_path_factory):
    """An arm with tasks."""
    path = tmp_path_factory.mktemp('log') / 'arm.mcap'
    return record(path, load_config('robocop_tutorial'), 0.3)[0]


def titles(*logs: RunLog) -> list[str]:
    """Panels of a page."""
    return [panel.title for panel in PlotPage([read_run(log) for log in logs]).panels()]


def test_only_panels_that_say_something(walk, arm, tmp_path):
    """A walker has a base and forces, an arm has tasks, one that is held has errors alone."""
    assert titles(walk[0]) == [
        'joints: position; dotted: reference',
        'joints: tracking error',
        'joints: effort sent',
        'base: position',
        'base: roll and pitch',
        'force sensors: normal force',
    ]
    of_arm = titles(arm)
    assert 'tasks: norm of the error' in of_arm
    assert not [title for title in of_arm if title.startswith(('base', 'force'))]
    held = record(
        tmp_path / 'held.mcap',
        load_run('arm', {'robot.posture': [0, 0.3, 0, 1.5, 0, 0.4, 0]}),
        0.2,
    )[0]
    assert titles(held) == ['joints: tracking error', 'joints: effort sent']


def test_curves_are_those_of_the_run(walk):
    """Short runs as they are: positions, errors, efforts, the base in its heading."""
    log, recorded = walk
    data = read_run(log)
    np.testing.assert_array_equal(data.joints['q'], recorded.q)
    np.testing.assert_array_equal(data.joints['error'], recorded.q - recorded.q_target)
    np.testing.assert_allclose(data.root['position'][:, 2], recorded.root_position[:, 2])
    assert data.root['position'][0, :2].tolist() == [0.0, 0.0]
    part = read_run(log, 0.2, 0.4)
    np.testing.assert_allclose((part.times[0], part.times[-1]), (0.2, 0.4), atol=1e-9)
    assert part.events == []


def test_no_peak_of_a_long_run_is_lost(walk, monkeypatch):
    """Least and largest values of a curve of few points are those of all ticks."""
    log, recorded = walk
    monkeypatch.setattr(plot_data, 'MAX_POINTS', 40)
    monkeypatch.setattr(plot_data, 'BLOCK', 100)
    data = read_run(log)
    assert len(data.times) == len(data.joints['u']) == 40
    assert (np.diff(data.times) >= 0.0).all()
    for name, values in (('q', recorded.q), ('u', recorded.u)):
        np.testing.assert_array_equal(data.joints[name].max(axis=0), values.max(axis=0))
        np.testing.assert_array_equal(data.joints[name].min(axis=0), values.min(axis=0))
    (name, (_, force)), *_ = data.forces.items()
    assert force[:, 2].max() == recorded[name][: log.ticks, 2].max()


def test_a_joint_has_one_colour_throughout(walk):
    """And no two joints of a page share one."""
    page = PlotPage([read_run(walk[0])])
    assert len(set(page.colors.values())) == len(page.colors) >= 6


def drawn(figure):
    """Panels by title, drawn."""
    figure.canvas.draw()
    return {axes.get_title('left'): axes for axes in figure.axes if axes.get_title('left')}


def names_beside(axes):
    """Names beside the curves, and above them those of events, with their extents."""
    texts = [text for text in axes.texts if text.get_text()]
    extents = [(text, text.get_window_extent()) for text in texts]
    right = axes.get_window_extent().x1
    beside = {text: box for text, box in extents if box.x0 >= right}
    return beside, {text: box for text, box in extents if text not in beside}


def test_a_joint_has_the_colour_of_its_name_in_every_panel(walk):
    """The curve in that colour is the curve of that joint."""
    data = read_run(walk[0])
    figure, _ = make_figure([data], picture=False)
    found: dict[str, set[str]] = {}
    panels = drawn(figure)
    for title, kind in (('joints: tracking error', 'error'), ('joints: effort sent', 'u')):
        for text in names_beside(panels[title])[0]:
            found.setdefault(text.get_text(), set()).add(text.get_color())
            joint = list(data.body.joint_names).index(text.get_text())
            (line,) = [one for one in panels[title].lines if one.get_color() == text.get_color()]
            np.testing.assert_array_equal(line.get_ydata(), data.joints[kind][:, joint])
    assert len(found) >= 6
    assert all(len(colors) == 1 for colors in found.values())


@pytest.mark.parametrize('every_joint', [False, True], ids=['six joints', 'every joint'])
def test_no_name_covers_a_curve_or_another_name(walk, every_joint):
    """Names of curves are beside them, those of events above; the panels are as high as needed."""
    data = read_run(walk[0])
    data.events = [(0.0, 'stand_up'), (0.02, 'shift_the_weight'), (0.3, 'wave'), (0.98, 'sit')]
    joints = list(data.body.joint_names) if every_joint else []
    figure, _ = make_figure([data], joints, picture=False)
    panels = drawn(figure)
    every = []
    for axes in panels.values():
        beside, above = names_beside(axes)
        assert beside
        every += [
            *beside.items(),
            *above.items(),
            (axes.title, axes._left_title.get_window_extent()),
        ]
        peaks = [
            axes.transData.transform((0.0, line.get_ydata().max()))[1]
            for line in axes.lines
            if len(line.get_ydata()) > 2
        ]
        assert above
        assert max(peaks) <= min(box.y0 for box in above.values())
    for (one, first), (other, second) in itertools.combinations(every, 2):
        assert not first.overlaps(second), (one.get_text(), other.get_text())
    assert all(figure.bbox.contains(box.x1, box.y0) for _, box in every)
    if every_joint:
        assert len(set(PlotPage([data], joints).colors.values())) >= 25


def test_names_of_events_stand_in_rows():
    """Beside each other where there is room, else below; where there is none they are left out."""
    assert event_rows([(0.0, 'a'), (5.0, 'b')], (0.0, 10.0)) == [0, 0]
    close = [(0.1 * i, 'a long name') for i in range(5)]
    assert event_rows(close, (0.0, 10.0)) == [0, 1, 2, None, None]
    assert event_rows([(9.9, 'beyond the edge')], (0.0, 10.0)) == [None]


def test_there_are_colours_enough():
    """No two of many are the same."""
    assert len(set(distinct_colors(60))) == 60
    assert distinct_colors(2) == distinct_colors(60)[:2]


def test_a_curve_on_the_zero_line_of_its_panel_is_left_out(walk):
    """Unless its joint was asked for."""
    data = read_run(walk[0])
    names = list(data.body.joint_names)
    data.joints['u'] = np.zeros_like(data.joints['u'])
    data.joints['u'][:, :2] = (50.0, 0.01)
    for joints, expected in (((), names[:1]), (names[:2], names[:2])):
        figure, _ = make_figure([data], joints, picture=False)
        beside, _ = names_beside(drawn(figure)['joints: effort sent'])
        assert sorted(text.get_text() for text in beside) == sorted(expected)


def test_a_robot_that_nothing_commands_has_no_tracking_error(walk):
    """Its errors would be its positions once more."""
    data = read_run(walk[0])
    data.joints['u'] = np.zeros_like(data.joints['u'])
    data.joints['q_target'] = np.zeros_like(data.joints['q_target'])
    data.joints['error'] = data.joints['q'].copy()
    data.joints['q'][-1] += 1.0
    found = [panel.title for panel in PlotPage([data]).panels()]
    assert found[0].startswith('joints: position')
    assert 'joints: tracking error' not in found
    data.joints['u'][:, 0] = 1.0
    assert 'joints: tracking error' in [panel.title for panel in PlotPage([data]).panels()]


def test_elements_of_a_vector_have_colours_and_names_of_their_own(walk):
    """In the panel of what controllers log; one of a single number has the field's name."""
    import matplotlib.pyplot as plt

    times = np.linspace(0.0, 1.0, 5)
    data = read_run(walk[0])
    data.fields = {
        'mine/force': (times, np.outer(times, [1.0, 2.0, 3.0])),
        'mine/mass': (times, times[:, None]),
    }
    page = PlotPage([data])
    (panel,) = [one for one in page.panels() if one.title == 'logged by the controller']
    figure, axes = plt.subplots()
    panel.draw(axes)
    assert len({line.get_color() for line in axes.lines}) == 4
    shown = {text.get_text() for text in axes.texts}
    assert shown == {'mine/force[0]', 'mine/force[1]', 'mine/force[2]', 'mine/mass'}
    plt.close(figure)


def test_the_base_turns_with_its_heading(tmp_path):
    """A car that drives a curve goes forwards all the time, and never sideways."""
    log, recorded = record(tmp_path / 'car.mcap', load_config('tank'), 2.0)
    data = read_run(log)
    speed = np.linalg.norm(recorded.root_velocity[:, :2], axis=1)
    found = np.linalg.norm(data.root['velocity'][:, :2], axis=1)
    np.testing.assert_allclose(found, speed, atol=1e-9)


def test_labels_are_moved_apart():
    """In their order, within the panel, by the least distance."""
    placed = spread([0.5, 0.5, 0.52, 0.99, 1.4], 0.1)
    assert np.argsort(placed).tolist() == [0, 1, 2, 3, 4]
    assert np.diff(placed).min() >= 0.1 - 1e-12
    assert max(placed) <= 1.0
    assert spread([], 0.1) == []


def test_command_draws_logs_over_each_other(walk, arm, tmp_path, capsys):
    """It says what is on the page; a log of another robot has its own curves left out."""
    out = tmp_path / 'new' / 'both.png'
    words = ['plot', str(walk[0].path), str(walk[0].path), '-o', str(out), '--no-picture']
    assert main([*words, '--joints', 'RLEG_KNEE,LLEG_KNEE']) == 0
    assert 'both.png: joints: position; joints: tracking error' in capsys.readouterr().out
    assert matplotlib.image.imread(out).shape[1] > 1000
    assert main(['plot', str(walk[0].path), str(arm.path), '-o', str(out), '--no-picture']) == 0
    assert main(['plot', str(arm.path), '-o', str(tmp_path / 'arm.pdf')]) == 0
    assert (tmp_path / 'arm.pdf').read_bytes().startswith(b'%PDF')


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['LOG', '-o', 'x.doc'], 'its name must end otherwise; choose from: .eps'),
        (['LOG', '-o', 'LOG'], 'its name must end otherwise'),
        (['LOG', '--joints', 'TAIL', '-o', 'x.png'], "unknown joint 'TAIL'; choose from: RLEG"),
        (['LOG', '--from', '3', '--to', '4', '-o', 'x.png'], 'has no tick from 3.0 to 4.0 s'),
        (['gone.mcap'], 'gone.mcap: cannot be read: No such file'),
    ],
)
def test_what_cannot_be_drawn_is_refused(walk, words, message, capsys, tmp_path, monkeypatch):
    """By name, in one line."""
    monkeypatch.chdir(tmp_path)
    words = [str(walk[0].path) if word == 'LOG' else word for word in words]
    assert main(['plot', *words]) == 1
    assert message in capsys.readouterr().err


def test_a_run_without_a_tick_has_no_plot(tmp_path, capsys):
    """It is said, and the run ends as it would have."""
    words = ['run', 'pendulum', '--duration', '0', '--plot', str(tmp_path / 'x.png')]
    assert main(words) == 0
    assert 'no plot: ' in capsys.readouterr().err


def test_a_robot_that_cannot_be_drawn_costs_the_picture_alone(walk, tmp_path, monkeypatch):
    """The curves are there."""
    from cnoid_control.hardware.exceptions import HardwareError
    from cnoid_control.hardware.mujoco import picture

    def broken(*args, **kwargs):
        raise HardwareError('no graphics today')

    monkeypatch.setattr(picture, 'open_drawer', broken)
    assert 'the robot at the end' in save_page([read_run(walk[0])], tmp_path / 'x.png')
