"""What came of faults that were injected: rows, and the table that shows them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

ATTEMPTS = 3


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
    """

    fault: str
    where: str
    reaction_ms: float | None
    survived: bool
    outcome: str


def try_again(run: Callable[[], FaultResult]) -> FaultResult:
    """Inject a fault until it is survived, a few times at most; the outcome says how often.

    A machine that is busy with other things stalls now and then for longer than the thresholds,
    which is a fault of its own and not the one that was injected.
    """
    result = run()
    attempts = 1
    while not result.survived and attempts < ATTEMPTS:
        attempts += 1
        result = run()
    if attempts == 1:
        return result
    return replace(result, outcome=f'{result.outcome} (attempt {attempts} of {ATTEMPTS})')


def to_markdown(results: Sequence[FaultResult]) -> str:
    """Table of the results."""
    lines = ['| fault | where | reaction [ms] | survived | outcome |', '|---|---|---:|---|---|']
    for result in results:
        reaction = '' if result.reaction_ms is None else f'{result.reaction_ms:.1f}'
        survived = 'yes' if result.survived else '**no**'
        lines.append(
            f'| {result.fault} | {result.where} | {reaction} | {survived} | {result.outcome} |'
        )
    return '\n'.join(lines) + '\n'


def to_json(results: Sequence[FaultResult]) -> str:
    """The results as a JSON list."""
    return json.dumps([asdict(result) for result in results], indent=2)
