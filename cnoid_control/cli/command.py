"""What a subcommand of the command line consists of."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

# What shells show for a program that SIGINT has ended.
INTERRUPTED = 130


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
