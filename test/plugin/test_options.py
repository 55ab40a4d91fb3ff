"""Option strings are split and parsed as Choreonoid does."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnoid_control.controllers.composition import SimpleControllerStage
from cnoid_control.parameters import ParameterError, parameter
from cnoid_control.plugin import ControllerIO, SimpleController
from cnoid_control.plugin.options import (
    check_options,
    format_option_string,
    parse_option_string,
    split_options,
)
from cnoid_control.runtime.managed_controller import ManagedController


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('', []),
        ('torque', ['torque']),
        ('  a   b ', ['a', 'b']),
        ('"a b" c', ['a b', 'c']),
        (r'a\ b c', ['a b', 'c']),
        (r'say \"hi\"', ['say', '"hi"']),
        ('x"y z"w', ['xy zw']),
        ('ends\\', ['ends']),
    ],
)
def test_splits_at_spaces_with_quotes_and_escapes(text, words):
    """Quotes keep spaces, backslashes escape, empty words are dropped."""
    assert split_options(text) == words


def test_parses_yaml_mappings():
    """An empty string is an empty mapping."""
    assert parse_option_string('') == {}
    assert parse_option_string('{mode: torque, gains: [1, 2]}') == {
        'mode': 'torque',
        'gains': [1, 2],
    }


@pytest.mark.parametrize('text', ['torque', '[1, 2]', '{a: '])
def test_refuses_what_is_no_mapping(text):
    """The message shows the string."""
    with pytest.raises(ValueError, match='option string'):
        parse_option_string(text)


scalars = st.one_of(
    st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)


@given(st.dictionaries(st.text(min_size=1), st.one_of(scalars, st.lists(scalars)), max_size=4))
def test_round_trip(values):
    """What is formatted is parsed to the same mapping."""
    assert parse_option_string(format_option_string(values)) == values


@dataclass
class Options:
    """Options of the controllers below."""

    gain: float = parameter(1.0, 'gain')
    joint: str = parameter('a', 'joint', read_only=True)


class Deaf(SimpleController):
    """Says nothing of following its options."""

    Parameters = Options


class Follower(SimpleController):
    """Follows its options; a gain of 13 is refused."""

    Parameters = Options

    def update_parameters(self, old, new) -> None:
        """Remember both."""
        if new.gain == 13.0:
            raise ParameterError('gain', 'unlucky')
        self.seen = old.gain, new.gain


@dataclass
class MoreOptions(Options):
    """Options of a subclass."""

    offset: float = parameter(0.0, 'offset')


class Grown(Follower):
    """Has one more option, of which the override it inherits knows nothing."""

    Parameters = MoreOptions


def managed(controller: SimpleController) -> ManagedController:
    """Return a controller that has its io."""
    made = ManagedController('it', controller)
    made.io = ControllerIO('it', None, 0.001, {}, made.parameters)  # type: ignore[arg-type]
    return made


def change(made: ManagedController, **options: object) -> None:
    """Change options as the host does."""
    made.change_options(options, check_options('it', type(made.controller), options))


def test_the_host_replaces_the_options_of_a_controller_that_follows_them() -> None:
    """The hook sees both; io, host and option string have the new ones."""
    made = managed(Follower())
    change(made, gain=2.0)
    assert made.controller.seen == (1.0, 2.0)
    assert made.io.parameters is made.parameters
    assert made.parameters.gain == 2.0
    assert made.io.structured_options == {'gain': 2.0}
    change(made, gain=1.0)
    assert made.controller.seen == (2.0, 1.0)


@pytest.mark.parametrize(
    ('controller', 'options', 'message'),
    [
        (Deaf(), {'gain': 2.0}, r'it\.gain: Deaf cannot change it while it runs'),
        (Grown(), {'offset': 2.0}, r'it\.offset: Grown cannot change it while it runs'),
        (Follower(), {'joint': 'b'}, r'it\.joint: read-only'),
        (Follower(), {'gain': 2.0, 'joint': 'b'}, r'it\.joint: read-only'),
        (Follower(), {'gain': 13.0}, r'it\.gain: unlucky'),
    ],
)
def test_a_change_that_is_not_followed_is_refused_by_name(controller, options, message) -> None:
    """No option is accepted and ignored; all options stay as they were."""
    made = managed(controller)
    before = made.parameters
    with pytest.raises(ParameterError, match=message):
        change(made, **options)
    assert made.parameters is made.io.parameters is before
    assert not hasattr(controller, 'seen')


def test_options_that_do_not_change_are_no_change() -> None:
    """The same values are accepted, by whomever."""
    change(managed(Deaf()), gain=1.0, joint='a')


def test_before_it_is_initialized_a_controller_takes_any_options() -> None:
    """They are those that it begins with."""
    made = ManagedController('it', Deaf())
    change(made, gain=2.0, joint='b')
    assert made.parameters.gain == 2.0


def test_options_of_a_controller_that_declares_none_are_refused_by_name() -> None:
    """Wherever it stands: in a run, as a sub-controller or in a composition."""
    with pytest.raises(ParameterError, match=r'it\.gain: unknown option'):
        ManagedController('it', SimpleController(), {'gain': 1.0})
    with pytest.raises(ParameterError, match=r'it\.gain: unknown option'):
        SimpleControllerStage('it', SimpleController(), {'gain': 1.0})
    assert check_options('it', SimpleController, '-v words') is None
