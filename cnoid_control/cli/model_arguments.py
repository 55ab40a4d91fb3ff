"""Arguments of commands that load a robot model."""

from __future__ import annotations

import argparse

from cnoid_control.exceptions import CnoidControlError


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that say how a model is loaded."""
    parser.add_argument(
        '--argument',
        metavar='NAME=VALUE',
        action='append',
        default=[],
        dest='arguments',
        help='an argument of a .xacro file; may be repeated',
    )
    parser.add_argument(
        '--base',
        choices=('auto', 'fixed', 'floating'),
        default='auto',
        help='whether the base is fixed to the world',
    )


def model_arguments(words: list[str]) -> dict[str, str]:
    """Arguments of a .xacro file by name.

    Raises:
        CnoidControlError: a word is not NAME=VALUE.
    """
    given = {}
    for word in words:
        name, equals, value = word.partition('=')
        if not equals or not name:
            raise CnoidControlError(f'--argument {word!r} is not NAME=VALUE')
        given[name] = value
    return given


def check_rate(rate: float) -> None:
    """Refuse a control rate [Hz] that a configuration would not take.

    Raises:
        CnoidControlError: it is too low, too high or no number.
    """
    if not 0.1 <= rate <= 1e5:
        raise CnoidControlError(f'--rate {rate:g} is not between 0.1 and 100000 Hz')
