"""`cnoid_control evaluate`: randomised runs of a configuration."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cnoid_control.cli.command import INTERRUPTED
from cnoid_control.cli.executor_arguments import add_executor_arguments
from cnoid_control.cli.json_output import print_object
from cnoid_control.cli.run_command import (
    add_config_arguments,
    add_config_name,
    config_from_arguments,
    seconds,
)
from cnoid_control.exceptions import CnoidControlError

if TYPE_CHECKING:
    from rich.console import Console

    from cnoid_control.evaluation.evaluator import Evaluation

DEFAULT_RUNS = 100
# How the file of --write-config begins.
CONFIG_TITLE = r'# Run \d+ of an evaluation of '
# Parameters and metrics that a table on the terminal has at most.
SHOWN = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_config_name(parser)
    parser.add_argument(
        '--randomize',
        metavar='KEY=DISTRIBUTION|FILE.yaml',
        action='append',
        default=[],
        help='what is drawn for each run: friction=0.3..1.0, mass.CHEST=0.9..1.1, '
        "'pd.kp=100..8000:log', 'posture.*=normal(0, 0.02)', or a file with a `randomize` "
        'section; may be repeated',
    )
    parser.add_argument(
        '--runs', metavar='N', type=_count, help=f'number of runs; {DEFAULT_RUNS} where not given'
    )
    parser.add_argument(
        '--run',
        metavar='K',
        dest='one',
        type=_number,
        help='do run K alone, the same as among the others',
    )
    parser.add_argument('--seed', metavar='S', type=_number, default=0, help='seed of all runs')
    parser.add_argument(
        '--duration', metavar='S', type=seconds, help="of a run [s]; the config's where not given"
    )
    parser.add_argument(
        '--pass',
        metavar='RULE',
        dest='passes',
        default='',
        help="what a run must obey that has not failed: 'max_tilt_deg < 20 and not fell'; "
        "'not fell' where not given",
    )
    parser.add_argument(
        '--require',
        metavar='RULE',
        action='append',
        default=[],
        help="what the whole must obey, else the exit status is 1: 'pass_rate > 0.99', "
        "'pass_rate_low > 0.95', 'max_tilt_deg.p95 < 10'; may be repeated",
    )
    parser.add_argument(
        '--metric',
        metavar='FILE.py:FUNCTION',
        action='append',
        default=[],
        help='function of a finished Simulation that returns more values of it by name',
    )
    parser.add_argument(
        '--after-fall', action='store_true', help='go on with a run when the robot has fallen'
    )
    parser.add_argument(
        '--timeout',
        metavar='S',
        type=seconds,
        help='time on the wall clock after which a run is lost [s]; 60 and 200 times its duration '
        'where not given',
    )
    add_config_arguments(parser)
    add_executor_arguments(parser)
    parser.add_argument('--csv', metavar='FILE.csv', help='write the table of all runs')
    parser.add_argument('--parquet', metavar='FILE.parquet', help='write it as Parquet')
    parser.add_argument('--plot', metavar='FILE.png', help='draw what separates the failures')
    parser.add_argument(
        '--replay-worst', metavar='FILE.mcap', help='do the worst run again, into a log file'
    )
    parser.add_argument(
        '--view',
        action='store_true',
        help='then show that log in a browser, as `cnoid_control view FILE.mcap` does',
    )
    parser.add_argument(
        '--worst',
        metavar='VALUE',
        default='',
        help='value by which the worst run is chosen among those that failed, the largest first',
    )
    parser.add_argument(
        '--write-config',
        metavar='FILE.yaml',
        help='write the configuration of run K (--run), or of the worst one, to run it alone',
    )
    parser.add_argument(
        '--json', action='store_true', help='print the result as one JSON object, alone'
    )


def _count(text: str) -> int:
    value = _number(text)
    if not value:
        raise argparse.ArgumentTypeError(f'{text!r} is not a number of 1 or more')
    return value


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f'{text!r} is not a number of 0 or more')
    return int(text)


def randomize_section(texts: list[str]) -> dict[str, Any]:
    """The `randomize` section of arguments: files and KEY=DISTRIBUTION, later ones on top.

    Raises:
        CnoidControlError: one cannot be read.
    """
    from cnoid_control.evaluation.distributions import distribution_from_text
    from cnoid_control.evaluation.randomization import SECTION, flatten, read_section

    section: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition('=')
        if equals:
            section[key.strip()] = distribution_from_text(f'{SECTION}.{key.strip()}', value)
        else:
            section |= dict(flatten(read_section(text)))
    return section


def run(args: argparse.Namespace) -> int:
    """Do the runs, print and write what came of them."""
    from rich.console import Console

    from cnoid_control.cli.count_progress import CountProgress, describe_evaluation
    from cnoid_control.cli.output_file import check_output
    from cnoid_control.evaluation.evaluator import PASSES, evaluate
    from cnoid_control.evaluation.metric import NamedMetric
    from cnoid_control.evaluation.rules import Rule
    from cnoid_control.evaluation.table import require_parquet
    from cnoid_control.viewer.plot_page import plot_suffixes

    if args.one is not None and args.runs is not None:
        raise CnoidControlError('--runs is a number of runs, --run is one of them: not both')
    if args.view and not args.replay_worst:
        raise CnoidControlError(
            '--view shows the worst run: say where its log goes, --replay-worst'
        )
    if args.view and importlib.util.find_spec('viser') is None:
        raise CnoidControlError("--view needs viser: pip install 'cnoid_control[viewer]'")
    requirements = [Rule(text) for text in args.require]
    if args.parquet:
        require_parquet()
    for argument, path, suffixes, begins in (
        ('--csv', args.csv, ['.csv'], 'run,'),
        ('--parquet', args.parquet, ['.parquet'], ''),
        ('--plot', args.plot, plot_suffixes(), ''),
        ('--replay-worst', args.replay_worst, ['.mcap'], ''),
        ('--write-config', args.write_config, ['.yaml', '.yml'], CONFIG_TITLE),
    ):
        if path:
            check_output(argument, path, suffixes, [args.config], begins)
    runs = [args.one] if args.one is not None else range(args.runs or DEFAULT_RUNS)
    with CountProgress(len(runs), Console(stderr=True), describe_evaluation) as progress:
        evaluation = evaluate(
            config_from_arguments(args),
            randomize_section(args.randomize),
            runs,
            duration=args.duration,
            seed=args.seed,
            passes=args.passes or PASSES,
            metrics=[NamedMetric(text) for text in args.metric],
            stop_on_fall=not args.after_fall,
            timeout=args.timeout,
            workers=args.workers if args.one is None or args.ray else 0,
            ray=args.ray,
            on_run=progress.update,
        )
    result = _write(evaluation, args)
    failed = [] if evaluation.interrupted else _unmet(evaluation, requirements)
    if args.json:
        print_object({**result, 'unmet': failed})
    else:
        print_evaluation(evaluation, result, Console())
        for text in failed:
            Console(stderr=True).print(f'not met: {text}', markup=False, highlight=False)
    if evaluation.interrupted:
        return INTERRUPTED
    if args.view and args.replay_worst in result['files']:
        _view(args.replay_worst)
    return 1 if failed else 0


def _view(log: str) -> None:
    """Show a log in a browser until it is interrupted."""
    from cnoid_control.cli import view_command

    parser = argparse.ArgumentParser()
    view_command.add_arguments(parser)
    view_command.run(parser.parse_args([log]))


def _unmet(evaluation: Evaluation, requirements: list[Any]) -> list[str]:
    facts = evaluation.facts()
    return [rule.text for rule in requirements if not rule.holds(facts)]


def _write(evaluation: Evaluation, args: argparse.Namespace) -> dict[str, Any]:
    """Write the files that were asked for; what `--json` prints."""
    result = evaluation.summary()
    if evaluation.interrupted:
        result['interrupted'] = True
    result |= {'seed': args.seed, 'files': []}
    files = result['files']
    if args.one is not None and evaluation.rows:
        result['run'] = evaluation.rows[0]
    if args.csv:
        evaluation.to_csv(args.csv)
        files.append(args.csv)
    if args.parquet:
        evaluation.to_parquet(args.parquet)
        files.append(args.parquet)
    if any(row['exit'] != 'lost' for row in evaluation.rows):
        worst = evaluation.worst(args.worst)
        result['worst'] = {key: worst[key] for key in ('run', 'seed', 'passed', 'exit', 'reason')}
        if args.replay_worst:
            evaluation.replay(worst['run'], args.replay_worst)
            files.append(args.replay_worst)
        if args.write_config:
            chosen = worst['run'] if args.one is None else args.one
            write_config(evaluation, chosen, args.write_config)
            files.append(args.write_config)
    if args.plot and evaluation.rows:
        from cnoid_control.evaluation.plot import plot_evaluation

        plot_evaluation(evaluation).savefig(args.plot, dpi=110)
        files.append(args.plot)
    return result


def write_config(evaluation: Evaluation, run: int, path: str) -> None:
    """Write the configuration of a run as a parameter file that can be run alone.

    Raises:
        CnoidControlError: it cannot be written.
    """
    from cnoid_control.evaluation.config_file import config_text

    config = evaluation.config(run)
    title = f'Run {run} of an evaluation of {config.name}, seed {evaluation.runner.runs.seed}.'
    try:
        Path(path).write_text(config_text(config, title), encoding='utf-8')
    except OSError as error:
        raise CnoidControlError(f'{path}: cannot be written: {error}') from error


def print_evaluation(evaluation: Evaluation, result: dict[str, Any], console: Console) -> None:
    """Tables for people."""
    from rich.table import Table

    if not evaluation.rows:
        console.print('no run was finished')
        return
    low, high = evaluation.interval()
    console.print(
        f'{evaluation.passed} of {len(evaluation)} runs passed: {evaluation.pass_rate:.1%}, '
        f'95 % interval {low:.1%} to {high:.1%} (rule: {evaluation.rule.text})',
        highlight=False,
        markup=False,
    )
    lost = [row for row in evaluation.rows if row['exit'] == 'lost']
    for row in lost[:3]:
        console.print(f'run {row["run"]} came to no result: {row["reason"]}', markup=False)
    reasons: dict[str, int] = {}
    for row in evaluation.rows:
        if row['reason'] and row['exit'] != 'lost':
            reasons[row['reason']] = reasons.get(row['reason'], 0) + 1
    for reason, count in sorted(reasons.items(), key=lambda pair: -pair[1])[:3]:
        console.print(f'{count} failed: {reason}', markup=False, highlight=False)
    table = Table('value', 'least', 'median', '95 %', 'largest', title='what was measured')
    # What is the same in all runs says nothing.
    varied = {
        name: spread
        for name, spread in result['metrics'].items()
        if spread['min'] != spread['max'] or len(evaluation) == 1
    }
    for name, spread in list(varied.items())[:SHOWN]:
        cells = [spread[key] for key in ('min', 'median', 'p95', 'max')]
        table.add_row(name, *('' if value is None else f'{value:.4g}' for value in cells))
    if varied:
        console.print(table)
    _print_separations(evaluation, console)
    worst = result.get('worst')
    if worst is not None and len(evaluation) > 1:
        console.print(
            f'worst: run {worst["run"]}; `--run {worst["run"]}` does it again alone',
            markup=False,
            highlight=False,
        )


def _print_separations(evaluation: Evaluation, console: Console) -> None:
    from rich.table import Table

    found = evaluation.separations()
    if not evaluation.failed or not evaluation.parameters or len(evaluation) < 2:
        return
    certain = [one for one in found if one.is_significant]
    if not certain:
        console.print('no parameter separates the failures from the passes (p < 0.05)')
        return
    table = Table(
        'parameter',
        'fails where',
        'AUC',
        'p',
        'failure rate, lowest to highest quarter',
        title='what the failures have in common',
    )
    for one in certain[:SHOWN]:
        quarters = '  '.join(f'{rate:4.0%}' for rate in one.quarters)
        table.add_row(one.name, one.side, f'{one.auc:.2f}', f'{one.p:.1g}', quarters)
    console.print(table)
