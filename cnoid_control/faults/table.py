"""The fault table."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

ATTEMPTS = 3
# Control periods in which the loop must have answered what it can see itself.
MAX_PERIODS = 3


@dataclass(frozen=True)
class FaultResult:
    """One fault and what came of it.

    Attributes:
        fault: name of the fault.
        where: 'embedded' or 'dds'.
        reaction_ms: time from when the fault could be told, by the thresholds in force, to the
            first command that answers it [ms]; None where nothing had to be done.
        survived: whether everything that must hold did.
        outcome: one sentence on what happened.
        periods: control periods that had begun by then, the one in which it could be told
            included; None where they do not count.
    """

    fault: str
    where: str
    reaction_ms: float | None
    survived: bool
    outcome: str
    periods: int | None = None


def try_again(run: Callable[[], FaultResult]) -> FaultResult:
    """Inject a fault until it is survived, a few times at most; the outcome says how often.

    A machine that is busy with other things stalls now and then for longer than the thresholds,
    which is a fault of its own and not the one that was injected.
    """
    failed: list[str] = []
    result = run()
    while not result.survived and len(failed) < ATTEMPTS - 1:
        failed.append(result.outcome)
        result = run()
    if not failed:
        return result
    attempt = f'attempt {len(failed) + 1} of {ATTEMPTS}; before: {" / ".join(failed)}'
    return replace(result, outcome=f'{result.outcome} ({attempt})')


def to_markdown(results: Sequence[FaultResult]) -> str:
    """Table of the results."""
    lines = [
        '| fault | where | reaction [ms] | periods | survived | outcome |',
        '|---|---|---:|---:|---|---|',
    ]
    for result in results:
        reaction = '' if result.reaction_ms is None else f'{result.reaction_ms:.1f}'
        periods = '' if result.periods is None else result.periods
        survived = 'yes' if result.survived else '**no**'
        lines.append(
            f'| {result.fault} | {result.where} | {reaction} | {periods} | {survived} '
            f'| {result.outcome} |'
        )
    return '\n'.join(lines) + '\n'


def to_json(results: Sequence[FaultResult]) -> str:
    """The results as a JSON list."""
    return json.dumps([asdict(result) for result in results], indent=2)
