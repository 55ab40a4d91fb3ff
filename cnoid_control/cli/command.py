"""What a subcommand of the command line consists of."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cnoid_control.exceptions import CnoidControlError

# What shells show for a program that SIGINT has ended.
INTERRUPTED = 130

# Modules that are missing where only packages of ROS were installed, and what brings them.
FROM_PIP = {
    'lz4': 'lz4',
    'mcap': 'mcap-ros2-support',
    'mcap_ros2': 'mcap-ros2-support',
    'mujoco': 'mujoco',
    'zstandard': 'zstandard',
}


@contextlib.contextmanager
def missing_modules_named() -> Iterator[None]:
    """Have a library that is not installed named with what installs it.

    Raises:
        CnoidControlError: a library of FROM_PIP is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = FROM_PIP.get((error.name or '').partition('.')[0])
        if package is None:
            raise
        raise CnoidControlError(
            f'this needs {error.name}, which is not installed: pip install {package}'
        ) from error


@dataclass(frozen=True)
class Command:
    """A subcommand.

    Attributes:
        name: the word on the command line.
        help: one line on what it does.
        add_arguments: declares its arguments.
        run: does it and returns the exit status.
    """

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
