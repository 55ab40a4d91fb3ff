"""The subcommands of the command line: what they are called, what they do, where they are."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Protocol, cast

# What shells show for a program that SIGINT has ended.
INTERRUPTED = 130

# In the order of the help, each with one line on what it does. A command NAME is the module
# `NAME_command` beside this one, which is imported when it is asked for.
COMMANDS = {
    'run': 'run a controller on a robot',
    'list': 'list controllers, configs and hardware that are installed, or the options of one',
    'get': 'get robots that others publish, or list them',
    'show': 'show what a robot model consists of',
    'new': 'write a working controller with its config and test',
    'init': 'write a folder to start from, for any robot or policy',
    'convert': 'write a robot model as URDF',
    'view': 'show a running ROS system or a log in the browser',
    'render': 'draw a picture or a film of a run, without a display',
    'plot': 'draw logs on one page',
    'replay': 'feed a log to its controller again and compare the outputs',
    'policy': 'show what a policy is told, and compare it',
    'teleop': 'move a robot by keyboard or gamepad, through ROS',
    'evaluate': 'do randomised runs of a controller',
    'tune': 'find the values of a configuration that make its runs best',
    'check': 'look at a running ros2_control system before anything moves',
    'bench': 'measure the performance table',
    'faults': 'inject faults and show the fault table',
}


class Command(Protocol):
    """What the module of a command defines."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare its arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Do it and return the exit status."""


def find_command(name: str) -> Command:
    """Import a command."""
    return cast(Command, import_module(f'cnoid_control.cli.{name}_command'))
