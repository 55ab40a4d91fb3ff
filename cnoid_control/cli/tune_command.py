"""`cnoid_control tune`: the values of a configuration that make its runs best."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cnoid_control.cli.command import INTERRUPTED
from cnoid_control.cli.evaluate_command import randomize_section
from cnoid_control.cli.executor_arguments import add_executor_arguments, count, number
from cnoid_control.cli.json_output import print_object
from cnoid_control.cli.run_command import (
    add_config_arguments,
    add_config_name,
    config_from_arguments,
    seconds,
)

if TYPE_CHECKING:
    from rich.console import Console

    from cnoid_control.tuning import Tuning

# How the file of --output begins.
CONFIG_TITLE = r'# [^\n]*, tuned: trial \d+ of \d+'
# Trials of a front that a table on the terminal has at most.
SHOWN = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_config_name(parser)
    parser.add_argument(
        '--vary',
        metavar='KEY=RANGE',
        action='append',
        default=[],
        help="what is searched: 'pd.kp=100..8000:log', 'pd.kd=1..100', "
        "'policy.decimation=integer(1, 5)', 'rate=choice(500.0, 1000.0)'; KEY,KEY=RANGE for one "
        'value at several places; may be repeated',
    )
    for word in ('minimize', 'maximize'):
        parser.add_argument(
            f'--{word}',
            metavar='VALUE[:STATISTIC]',
            action='append',
            default=[],
            help=f'value of a run to {word}, such as max_tilt_deg; over the runs of a trial its '
            'mean, or :worst, :median, :p90, :p95, :p99; may be repeated',
        )
    parser.add_argument(
        '--subject-to',
        metavar='CONSTRAINT',
        action='append',
        default=[],
        help="what must hold in every run: fell=0, 'max_joint_error<0.1'; or over all of them: "
        "'fell:mean<=0.05'; may be repeated",
    )
    parser.add_argument(
        '--trials', metavar='N', type=count, default=100, help='trials of the search; 100'
    )
    parser.add_argument(
        '--runs',
        metavar='K',
        type=count,
        help='runs per trial, with the same seeds in every trial; 8 where something is '
        'randomised, else 1',
    )
    parser.add_argument(
        '--randomize',
        metavar='KEY=DISTRIBUTION|FILE.yaml',
        action='append',
        default=[],
        help="what is drawn for each run, in addition to the config's `randomize` section, as for "
        '`cnoid_control evaluate`',
    )
    parser.add_argument(
        '--metric',
        metavar='FILE.py:FUNCTION',
        action='append',
        default=[],
        help='function of a finished Simulation that returns more values of it by name',
    )
    parser.add_argument(
        '--sampler',
        choices=('tpe', 'cmaes', 'random'),
        default='tpe',
        help='how trials are chosen; cmaes for one objective and numbers alone',
    )
    parser.add_argument(
        '--batch',
        metavar='B',
        type=count,
        default=8,
        help='trials that are chosen at a time; the result does not depend on how many are done '
        'at a time',
    )
    parser.add_argument(
        '--seed', metavar='S', type=number, default=0, help='seed of the runs and of the search'
    )
    parser.add_argument(
        '--duration', metavar='S', type=seconds, help="of a run [s]; the config's where not given"
    )
    add_config_arguments(parser)
    add_executor_arguments(parser)
    parser.add_argument(
        '--output',
        metavar='FILE.yaml',
        help='the configuration that was found; NAME_tuned.yaml where not given',
    )
    parser.add_argument(
        '--storage',
        metavar='FILE.journal',
        help='keeps the search: the same command goes on with it; beside the output, with the '
        'suffix .journal, where not given',
    )
    parser.add_argument(
        '--pick',
        metavar='TRIAL',
        type=number,
        help='write the configuration of this trial, in the place of the best one',
    )
    parser.add_argument('--csv', metavar='FILE.csv', help='write the table of all trials')
    parser.add_argument(
        '--plot', metavar='FILE.png', help='draw the trials, the front and what matters'
    )
    parser.add_argument(
        '--json', action='store_true', help='print the result as one JSON object, alone'
    )


def run(args: argparse.Namespace) -> int:
    """Search, print and write what was found; 1 where no trial obeys the constraints."""
    from rich.console import Console

    from cnoid_control.cli.count_progress import CountProgress, describe_tuning
    from cnoid_control.cli.output_file import check_output
    from cnoid_control.evaluation.metric import NamedMetric
    from cnoid_control.tuning import tune
    from cnoid_control.tuning.tuning import ros_values
    from cnoid_control.viewer.plot_page import plot_suffixes

    config = config_from_arguments(args)
    output = Path(args.output or f'{config.name}_tuned.yaml')
    storage = Path(args.storage) if args.storage else output.with_suffix('.journal')
    for argument, path, suffixes, begins in (
        ('--output', output, ['.yaml', '.yml'], CONFIG_TITLE),
        ('--storage', storage, ['.journal'], ''),
        ('--csv', args.csv, ['.csv'], 'trial,'),
        ('--plot', args.plot, plot_suffixes(), ''),
    ):
        if path:
            check_output(argument, path, suffixes, [args.config], begins)
    with CountProgress(args.trials, Console(stderr=True), describe_tuning) as progress:
        tuning = tune(
            config,
            args.vary,
            minimize=args.minimize,
            maximize=args.maximize,
            subject_to=args.subject_to,
            trials=args.trials,
            runs=args.runs,
            randomize=randomize_section(args.randomize),
            duration=args.duration,
            seed=args.seed,
            metrics=[NamedMetric(text) for text in args.metric],
            sampler=args.sampler,
            batch=args.batch,
            storage=storage,
            workers=args.workers,
            ray=args.ray,
            on_trial=progress.update,
        )
    tuning.also = ros_values(args.config)
    chosen = tuning.best if args.pick is None else tuning.trial(args.pick)
    files = []
    if chosen is not None:
        words = ' '.join(shlex.quote(word) for word in sys.argv[1:])
        tuning.save(output, chosen, f'cnoid_control {words}')
        files.append(str(output))
    if args.csv:
        tuning.to_csv(args.csv)
        files.append(args.csv)
    if args.plot and tuning.trials:
        tuning.plot().savefig(args.plot, dpi=110)
        files.append(args.plot)
    if args.json:
        print_object({**tuning.summary(), 'storage': str(storage), 'files': files})
    else:
        print_tuning(tuning, files, storage, Console())
    if tuning.interrupted:
        return INTERRUPTED
    return 0 if chosen is not None else 1


def print_tuning(tuning: Tuning, files: list[str], storage: Path, console: Console) -> None:
    """Tables for people."""

    def tell(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    resumed = f', {tuning.resumed} of them from {storage}' if tuning.resumed else ''
    tell(
        f'{len(tuning.trials)} trials of {_runs(tuning.scorer.runs)}{resumed}; '
        f'{len(tuning.feasible)} obey the constraints'
    )
    best = tuning.best
    if best is not None:
        console.print(_best_table(tuning))
        if len(tuning.scorer.objectives) > 1:
            console.print(_front_table(tuning))
        if not tuning.is_better:
            tell('the configuration as it was is at least as good')
    elif tuning.nearest is not None:
        score = tuning.nearest.score
        assert score is not None
        why = f': {score.reason}' if score.reason else ''
        tell(f'no trial obeys; trial {tuning.nearest.number} is the nearest{why}')
    for objective, shares in tuning.importance.items():
        listed = ', '.join(f'{name} {share:.0%}' for name, share in shares.items())
        tell(f'what matters for {objective}: {listed}')
    if tuning.interrupted:
        tell('interrupted; the same command goes on')
    for file in files:
        tell(f'written: {file}')


def _runs(number: int) -> str:
    return f'{number} run' if number == 1 else f'{number} runs'


def _best_table(tuning: Tuning) -> Any:
    from rich.table import Table

    best = tuning.best
    assert best is not None
    assert best.score is not None
    table = Table('', 'as it was', f'trial {best.number}', title='best')
    for index, objective in enumerate(tuning.scorer.objectives):
        before = '' if tuning.baseline is None else f'{tuning.baseline.values[index]:.5g}'
        table.add_row(str(objective), before, f'{best.score.values[index]:.5g}')
    if tuning.scorer.constraints:
        was = tuning.baseline is not None and tuning.baseline.is_feasible
        table.add_row('obeys the constraints', 'yes' if was else 'no', 'yes')
    for variable in tuning.variables:
        present = dict.fromkeys(str(value) for value in variable.present.values())
        known = ', '.join('' if text == 'None' else text for text in present)
        table.add_row(variable.name.replace(',', '\n'), known, str(best.values[variable.name]))
    return table


def _front_table(tuning: Tuning) -> Any:
    from rich.table import Table

    front = tuning.front
    names = [str(objective) for objective in tuning.scorer.objectives]
    table = Table('trial', *names, title=f'front of {len(front)} trials; --pick writes another')
    for trial in front[:SHOWN]:
        assert trial.score is not None
        table.add_row(str(trial.number), *(f'{value:.5g}' for value in trial.score.values))
    return table
