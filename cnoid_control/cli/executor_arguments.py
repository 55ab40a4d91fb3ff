"""Arguments of commands that do many runs: how many at a time, and where."""

from __future__ import annotations

import argparse


def add_executor_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `--workers` and `--ray`, as `make_executor` takes them."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        '--workers',
        metavar='N',
        type=number,
        help='processes to use; one per core where not given; 0 for none but this one',
    )
    where.add_argument(
        '--ray',
        metavar='ADDRESS',
        help='use a Ray cluster: auto, HOST:PORT, or local for one of this computer',
    )


def number(text: str) -> int:
    """A whole number of 0 or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f'{text!r} is not a number of 0 or more')
    return int(text)


def count(text: str) -> int:
    """A whole number of 1 or more."""
    value = int(text) if text.isdecimal() else 0
    if not value:
        raise argparse.ArgumentTypeError(f'{text!r} is not a number of 1 or more')
    return value
