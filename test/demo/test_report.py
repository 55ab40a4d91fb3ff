import numpy as np
import pytest

from cnoid_control.demo.report import (
    expected_ankle_force,
    measure,
    print_table,
    save_plot,
)
from cnoid_control.demo.robot_sample import Sample, set_state, tilt_of
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.defaults import make_robot

pytest.importorskip('rclpy', reason='needs ROS 2')

from cnoid_control.demo.process import DemoFailed

LEANING = np.array([np.sin(0.15), 0.0, 0.0, np.cos(0.15)])


@pytest.fixture
def body():
    """Return SR1 in the posture of the demonstration."""
    config = load_config('sr1_pd')
    return make_robot(config.parameters.robot, config.folder)


def stand(body, **changes):
    """Return samples of a robot that stands still, with changes."""
    half = expected_ankle_force(body) / 2
    sample = {'q': body.q.copy(), 'position': body.root_link.p, 'forces': np.full(2, half)}
    sample.update(changes)
    return [Sample(time=time, **sample) for time in (0.0, 1.0)]


def test_a_standing_robot_passes(body, capsys):
    """Posture, tilt and forces as expected are no reason to fail, and stand in the table."""
    found = measure(body, stand(body), [0.001, 0.002], 2.0)
    found.judge()
    print_table(found, 1000.0)
    table = capsys.readouterr().out
    for entry in ('0.0000 rad', '500 Hz', '1.50 ms', '0.50'):
        assert entry in table


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'q': np.full(29, 0.5)}, 'does not stand'),
        ({'orientation': LEANING}, 'does not stand'),
        ({'forces': np.array([300.0, 300.0])}, 'the ankles carry 600.0 N and not 1245'),
    ],
)
def test_a_robot_that_does_not_stand_fails(body, changes, reason):
    """A bent, a leaning and a lifted robot are each told from a standing one."""
    found = measure(body, stand(body, **changes), [], 2.0)
    with pytest.raises(DemoFailed, match=reason):
        found.judge()


def test_tilt_is_the_angle_to_the_vertical():
    """A rotation by 0.3 rad about X tilts by as much, one about Z not at all."""
    turned = np.array([0.0, 0.0, np.sin(0.4), np.cos(0.4)])
    assert tilt_of(Sample(0.0, np.zeros(0), orientation=LEANING)) == pytest.approx(0.3)
    assert tilt_of(Sample(0.0, np.zeros(0), orientation=turned)) == pytest.approx(0.0)


def test_the_ankles_carry_all_but_the_feet(body):
    """The expected force is the weight of every link that is not beyond a sensor."""
    carried = sum(link.m for link in body.links if not link.name.endswith('LEG_ANKLE_R'))
    assert expected_ankle_force(body) == pytest.approx(carried * 9.80665)


def test_the_picture_shows_the_robot_where_it_was_seen(body):
    """Joints and root of the body are those of the sample."""
    sample = Sample(1.0, np.full(29, 0.1), np.array([1.0, 2.0, 3.0]), LEANING)
    set_state(body, sample)
    assert np.allclose(body.q, 0.1)
    assert np.allclose(body.root_link.p, (1, 2, 3))
    assert np.arccos(body.root_link.R[2, 2]) == pytest.approx(0.3)


def test_the_plot_is_written(body, tmp_path):
    """The plot is a picture file."""
    save_plot(tmp_path / 'plot.png', stand(body), body.q, 1245.0)
    assert (tmp_path / 'plot.png').read_bytes().startswith(b'\x89PNG')
