"""What is varied: keys that runs depend on, in ranges that make sense."""

from __future__ import annotations

import pytest

from cnoid_control import CnoidControlError
from cnoid_control.runtime.defaults import load_run
from cnoid_control.tuning.space import read_space


@pytest.fixture
def config(folder):
    """Return the configuration of the arm."""
    return load_run('arm.yaml')


@pytest.mark.parametrize(
    ('text', 'suggested', 'changes'),
    [
        ('pd.kp=100..8000:log', 123.456789, {'pd.kp': 123.46}),
        ('pd.kp=100..8000', 8000.0, {'pd.kp': 8000.0}),
        ('pd.kp,pd.ki=1..10', 2.0, {'pd.kp': 2.0, 'pd.ki': 2.0}),
        ('pd.kp=0.5..2:scale', 1.5, {'pd.kp': 75.0}),
        ('pd.kd=-1..1:add', 0.25, {'pd.kd': 4.25}),
        ('pd.kp=choice(10.0, 20.0)', 1, {'pd.kp': 20.0}),
        ('pd.gravity_compensation=choice([], [auto])', 0, {'pd.gravity_compensation': []}),
        ('hardware.mujoco.solver_iterations=integer(2, 9)', 4, None),
    ],
)
def test_values_of_the_configuration_follow_what_is_suggested(config, text, suggested, changes):
    """Rounded to the digits that a file has, at every key, relative where asked for."""
    [variable] = read_space([text], config)
    found = variable.changes(variable.value(suggested))
    assert found == (changes or {variable.name: suggested})


def test_ranges_are_given_in_python_too(config):
    """As a pair, a text or a map."""
    vary = {'pd.kp': (1.0, 9.0), 'pd.kd': '1..9:log', 'pd.ki': {'choice': [0.0, 1.0]}}
    kinds = [variable.distribution.kind for variable in read_space(vary, config)]
    assert kinds == ['uniform', 'log_uniform', 'choice']


@pytest.mark.parametrize(
    ('text', 'start'),
    [
        ('pd.kp=10..80', 50.0),
        ('pd.kp=60..80', None),
        ('pd.ki=0..1', None),
        ('pd.kp,pd.kd=1..80', None),
        ('pd.kp=choice(10.0, 50.0)', 1),
        ('pd.kp=0.5..2:scale', 1.0),
    ],
)
def test_the_search_starts_with_what_the_configuration_has(config, text, start):
    """Where it has something that lies in the range."""
    [variable] = read_space([text], config)
    assert variable.start() == start


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('pd.kp', 'KEY=RANGE'),
        ('=1..2', 'KEY=RANGE'),
        ('pd.kp=7', 'not a range'),
        ('pd.kp=normal(1, 2)', 'not a range'),
        ('pd.kp=9..1', 'not ascending'),
        ('pd.kp=0..1:log', 'not above 0'),
        ('pd.kp=5..5', 'nothing to choose'),
        ('pd.kp=choice(5)', 'nothing to choose'),
        ('pd=1..2', 'section'),
        ('pd_.kp=1..2', 'unknown; choose from: pd'),
        ('trajectory.speed=1..2', "'trajectory' does not run here, 'pd' does"),
        ('hardware.kinematic.x=1..2', 'hardware.mujoco'),
        ('randomize.friction=1..2', 'unknown'),
        ('pd.ki=0.5..2:scale', 'needs a number'),
        ('pd.kp,pd.kp=1..2', 'twice'),
    ],
)
def test_what_cannot_be_varied_is_refused(config, text, message):
    """By its key, with the choices."""
    with pytest.raises(CnoidControlError, match=message):
        read_space([text], config)


def test_something_must_be_varied(config):
    """A search of nothing is a mistake."""
    with pytest.raises(CnoidControlError, match='nothing to vary'):
        read_space([], config)
