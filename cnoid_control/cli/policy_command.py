"""`cnoid_control policy`: what a policy is told, and where that is not as it was recorded."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cnoid_control.cli.json_output import print_object
from cnoid_control.cli.run_command import add_config_arguments, config_from_arguments, seconds
from cnoid_control.exceptions import CnoidControlError

if TYPE_CHECKING:
    from rich.console import Console

    from cnoid_control.controllers.policy import PolicyController
    from cnoid_control.controllers.policy.comparison import Difference
    from cnoid_control.simulation import Simulation

PIPE_WIDTH = 132
TOLERANCE = 1e-3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('config', metavar='CONFIG', help='a config: a file, or the name of one')
    add_config_arguments(parser)
    parser.add_argument(
        '--duration',
        metavar='S',
        type=seconds,
        help='time to run for before the values are taken [s]; those of the first inference where '
        'not given',
    )
    parser.add_argument(
        '--compare',
        metavar='FILE',
        help='recorded observations (.npz, .npy, .csv); the exit status is 1 where they differ',
    )
    parser.add_argument(
        '--row', type=int, default=0, metavar='N', help='row of a file with several, from 0'
    )
    parser.add_argument(
        '--key', default='', metavar='NAME', help="array of a .npz; 'obs' or the only one"
    )
    parser.add_argument(
        '--tolerance',
        type=float,
        default=TOLERANCE,
        metavar='T',
        help=f'largest difference that counts as none; {TOLERANCE:g} where not given',
    )
    parser.add_argument('--json', action='store_true', help='as one JSON object, alone')


def run(args: argparse.Namespace) -> int:
    """Print the layout; returns 1 where the observation is not as it was recorded."""
    if not 0.0 <= args.tolerance < float('inf'):
        raise CnoidControlError(f'--tolerance {args.tolerance:g} is not a number of 0 or more')
    if args.compare is None and (args.row or args.key):
        raise CnoidControlError('--row and --key are for --compare FILE')
    config = config_from_arguments(args)
    # These take their time to import; other commands start without them.
    from cnoid_control.controllers.policy.comparison import compare
    from cnoid_control.controllers.policy.layout import describe
    from cnoid_control.controllers.policy.recorded import RecordedObservations
    from cnoid_control.simulation import Simulation

    recorded = None
    if args.compare is not None:
        recorded = RecordedObservations(Path(args.compare), args.key)
        recorded.vector(args.row)
    difference: Difference | None = None
    with Simulation(config, record=False, os=sys.stderr) as simulation:
        policy = _policy_of(simulation)
        if recorded is not None and recorded.state:
            if args.duration is not None:
                raise CnoidControlError(
                    f'{args.compare} says in which states it was recorded: --duration has no '
                    'effect'
                )
            recorded.repeat(policy, args.row)
        else:
            _advance(simulation, policy, args.duration)
        facts = describe(policy)
        if recorded is not None:
            default = policy.default[policy.joints]
            difference = compare(
                policy.observation,
                recorded.vector(args.row),
                default,
                args.tolerance,
                _other_bases(policy),
            )
            facts['difference'] = None if difference is None else asdict(difference)
    if args.json:
        print_object(facts)
    else:
        from rich.console import Console

        # In a file or a pipe lines may be longer than on a terminal of unknown width.
        console = Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)
        _print(facts, console)
        if recorded is not None:
            _print_difference(difference, f'{args.compare} row {args.row}', console)
    return 0 if difference is None else 1


def _policy_of(simulation: Simulation) -> PolicyController:
    """The policy of a run, initialized.

    Raises:
        CnoidControlError: none of its controllers is one, or it refuses its options.
    """
    from cnoid_control.controllers.policy import PolicyController

    main = simulation.controller
    members = [one.controller for one in simulation.loop.host.members()]
    for controller in (main, *members):
        if isinstance(controller, PolicyController):
            return controller
    raise CnoidControlError(
        f'no controller of {simulation.config.name} is a policy: it has '
        f'{", ".join(type(one).__name__ for one in members)}'
    )


def _other_bases(policy: PolicyController) -> list[str]:
    """Names of the IMUs that are not the policy's base."""
    from cnoid_control.body.devices import Imu

    own = policy.io.parameters.imu
    return [one.name for one in policy.body.devices if isinstance(one, Imu) and one.name != own]


def _advance(simulation: Simulation, policy: PolicyController, duration: float | None) -> None:
    """Go on for a time, or until the first inference."""
    if duration is not None:
        simulation.run(max(duration, simulation.time_step))
    else:
        while not policy.situation.time_step and simulation.step():
            pass
    summary = simulation.summary()
    if summary['exit'] == 'failed':
        raise CnoidControlError(str(summary.get('reason')))
    if not policy.situation.time_step:
        raise CnoidControlError(
            f'the policy has inferred nothing after {simulation.time:g} s: --duration is shorter '
            'than its approach_time'
        )


def _print(facts: dict[str, Any], console: Console) -> None:
    from rich.table import Table

    said = f', {facts["metadata"]}' if facts['metadata'] else ', which says nothing of itself'
    console.print(f'{facts["file"]}{said}', highlight=False, soft_wrap=True)
    sizes = {
        'inputs': {name: f'{name} {size}' for name, size in facts['inputs'].items()},
        'outputs': {name: f'{name} {size}' for name, size in facts['outputs'].items()},
    }
    sizes['inputs'][facts['observation_input']] += ' (observation)'
    sizes['outputs'][facts['action_output']] += f' ({facts["action"]})'
    for name, source in facts['state'].items():
        sizes['inputs'][name] += f' (state: {source})'
    for kind, texts in sizes.items():
        console.print(f'{kind}: {", ".join(texts.values())}', highlight=False)
    command = ', '.join(f'{value:g}' for value in facts['command'])
    base = f'; the base is {facts["imu"]} (imu)' if facts['imu'] else ''
    console.print(
        f'every {facts["period"]:g} s; velocity command {command}{base}\n', highlight=False
    )
    table = Table('index', 'term', 'source', 'size', 'scale', 'clip', 'values now', box=None)
    for row in facts['observation']:
        history = f' x {row["history"]}' if row['history'] > 1 else ''
        delay = f', {row["delay"]} ticks old' if row['delay'] else ''
        table.add_row(
            f'{row["first"]}:{row["last"] + 1}',
            row['term'],
            row['source'],
            f'{row["size"]}{history}{delay}',
            _short(row['scale']),
            '' if row['clip'] is None else ' to '.join(f'{bound:g}' for bound in row['clip']),
            ' '.join(f'{value:.4g}' for value in row['values']),
        )
    console.print(table)
    table = Table('action', 'joint', 'robot', 'default', 'kp', 'kd', 'scale', 'offset', box=None)
    for i, row in enumerate(facts['joints']):
        numbers = [f'{row[name]:.5g}' for name in ('default', 'kp', 'kd', 'scale', 'offset')]
        table.add_row(str(i), row['joint'], str(row['joint_id']), *numbers)
    console.print()
    console.print(table)


def _short(values: list[float]) -> str:
    """Values of a row; one of them where all are the same."""
    same = len(set(values)) == 1
    return f'{values[0]:.4g}' if same else ' '.join(f'{value:.4g}' for value in values)


def _print_difference(difference: Difference | None, what: str, console: Console) -> None:
    if difference is None:
        console.print(f'\nequal to {what}', highlight=False)
        return
    age = f', {difference.age} periods ago' if difference.age else ''
    console.print(
        f'\nnot equal to {what}: first at {difference.index}, {difference.term} of '
        f'{difference.element}{age}: here {difference.ours:.6g}, recorded '
        f'{difference.recorded:.6g}, {difference.ours - difference.recorded:+.4g}',
        highlight=False,
        soft_wrap=True,
    )
    console.print(f'terms that differ: {", ".join(difference.terms)}', highlight=False)
    for hint in difference.hints:
        console.print(f'- {hint}', highlight=False, soft_wrap=True)
