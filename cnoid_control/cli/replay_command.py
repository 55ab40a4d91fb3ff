"""`cnoid_control replay`: the recorded inputs through the controller again."""

from __future__ import annotations

import argparse

from cnoid_control.cli.json_output import print_object


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('log', metavar='LOG.mcap', help='log of a run')
    parser.add_argument(
        '--recorded',
        action='store_true',
        help='run the controllers as the log holds them, not as they are now; code of a log that '
        'somebody gave you runs on your computer',
    )
    parser.add_argument('--json', action='store_true', help='print the result as JSON')


def run(args: argparse.Namespace) -> int:
    """Replay a log and say whether the outputs are the same."""
    from cnoid_control.runtime.replay import replay

    result = replay(args.log, recorded_controllers=args.recorded)
    difference = result.first_difference
    if args.json:
        print_object(
            {
                'identical': result.identical,
                'ticks': result.ticks,
                'recorded_ticks': result.recorded_ticks,
                'differing_ticks': result.differing_ticks,
                'first_difference': str(difference) if difference else None,
                'reason': result.outcome.reason,
                'notes': result.notes,
            }
        )
        return 0 if result.identical else 1
    for note in result.notes:
        print(f'note: {note}')
    if result.identical:
        print(f'identical: {result.ticks} ticks, every output is the same to the bit')
    else:
        print(f'different: {result.differing_ticks} of {result.recorded_ticks} recorded ticks')
        if difference:
            print(f'first at {difference}')
        if result.ticks != result.recorded_ticks:
            print(f'only {result.ticks} ticks were replayed')
        if result.outcome.reason:
            print(result.outcome.reason)
    return 0 if result.identical else 1
