"""ROS for a program of this package, or the reason why it does not start."""

from __future__ import annotations

import re
from collections.abc import Sequence

import rclpy
from rclpy.signals import SignalHandlerOptions

from cnoid_control.ros.exceptions import RosError

FILE = re.compile(r"--params-file ([^']+)'")
LINE = re.compile(r'(?:line_num|near line) (\d+)')
# What YAML allows and parameter files do not, by words of the parser.
REASONS = {
    'Sequence should be of same type': (
        'a list has values of several types; write decimals for all of its numbers: [0.25, 1.0], '
        'not [0.25, 1]'
    ),
    'Error parsing a event': (
        'it is not YAML as ROS reads it; in lists and maps of one line text with a colon needs '
        "quotes: ['file.py:function']"
    ),
    'Error opening YAML file': 'there is no such file, or it cannot be read',
}


class CannotStart(RosError):
    """ROS refuses the arguments of a program."""

    def __init__(self, said: str) -> None:
        """Say which file and line it is, and what is wrong there.

        Args:
            said: the error as ROS tells it.
        """
        file, line = FILE.search(said), LINE.search(said)
        place = file.group(1) if file else ''
        if place and line:
            place += f', line {line.group(1)}'
        reason = next((text for words, text in REASONS.items() if words in said), '')
        told = ': '.join(part for part in (place, reason) if part)
        super().__init__(f'{told} (ROS: {said})' if told else f'ROS does not start: {said}')


def init_ros(words: Sequence[str]) -> None:
    """Start ROS with the arguments of a program; signals are left to the program.

    rclpy's own handlers would take the context away before the last command is sent.

    Raises:
        CannotStart: the arguments are refused, such as a parameter file that cannot be read.
    """
    try:
        rclpy.init(args=list(words), signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:
        # rclpy's own class of it is private.
        raise CannotStart(' '.join(str(error).split())) from error
