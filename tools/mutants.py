"""Mutation test of one room: change the code at random places and see whether its tests notice.

    python tools/mutants.py runtime --count 200 --seed 1

Each mutant flips a comparison or an operator, drops a `not`, or drops a call whose result is not
used. A mutant is killed when a test of the room fails or hangs; only those tests are run that
execute the changed line, the quickest first. Every mutant is printed with the test that kills it,
the survivors again at the end; the exit status is 1 where less than 95 % were killed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from room_tests import Record, RoomTests

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = shutil.ignore_patterns('.git', '.venv', 'out', '__pycache__', '.*_cache')
FLIPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


class Mutant(NamedTuple):
    """One change: the text of a node is replaced.

    Attributes:
        path: file, relative to the checkout.
        line: first line of the node, from 1.
        before, after: source text of the node.
        begin, end: place of `before` in the file [bytes].
        lines: lines of the statement that it is part of.
    """

    path: Path
    line: int
    before: str
    after: str
    begin: int
    end: int
    lines: range

    def __str__(self) -> str:
        """Where it is, and what it changes."""
        return f'{self.path}:{self.line}: {self.before!r} -> {self.after!r}'


def mutants_of(path: Path) -> list[Mutant]:
    """Every mutant of a file."""
    source = path.read_bytes()
    starts = [0]
    for line in source.split(b'\n'):
        starts.append(starts[-1] + len(line) + 1)
    found = []
    for node, lines in _executed(ast.parse(source), range(0)):
        after = _changed(node)
        if after is None:
            continue
        assert isinstance(node, (ast.expr, ast.stmt))
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        place = path.relative_to(ROOT) if path.is_relative_to(ROOT) else Path(path.name)
        before = source[begin:end].decode()
        found.append(Mutant(place, node.lineno, before, after, begin, end, lines))
    return found


def _executed(node: ast.AST, lines: range) -> Iterator[tuple[ast.AST, range]]:
    """The nodes of a tree without annotations and what is for type checkers only.

    Each with the lines of its statement, which are `lines` unless it is one itself.
    """
    if isinstance(node, ast.stmt):
        lines = _lines(node)
    yield node, lines
    for name, value in ast.iter_fields(node):
        if name in ('annotation', 'returns'):
            continue
        for child in value if isinstance(value, list) else [value]:
            is_typing = isinstance(child, ast.If) and 'TYPE_CHECKING' in ast.unparse(child.test)
            # Places inside of f-strings are not exact before Python 3.12.
            if (
                isinstance(child, ast.AST)
                and not is_typing
                and not isinstance(child, ast.JoinedStr)
            ):
                yield from _executed(child, lines)


def _lines(statement: ast.stmt) -> range:
    """Lines of a statement, without those of the statements inside of it."""
    assert statement.end_lineno is not None
    inside = [child.lineno for child in ast.walk(statement) if isinstance(child, ast.stmt)][1:]
    end = min(inside, default=statement.end_lineno + 1)
    return range(statement.lineno, max(end, statement.lineno + 1))


def _changed(node: ast.AST) -> str | None:
    """Source text of the changed node; None for a node that is left alone."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return 'pass'
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return f'({ast.unparse(node.operand)})'
    changed: Any = copy.deepcopy(node)
    if isinstance(node, ast.Compare):
        changed.ops[0] = FLIPS[type(node.ops[0])]()
    elif isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in FLIPS:
        changed.op = FLIPS[type(node.op)]()
    else:
        return None
    text = ast.unparse(changed)
    return text if isinstance(node, ast.stmt) else f'({text})'


def killer(mutant: Mutant, tree: Path, tests: RoomTests, record: Record) -> str | None:
    """Test that notices a mutant, in a copy of the checkout; None where it survives."""
    chosen = record.executing(str(mutant.path), mutant.lines)
    if not chosen:
        return None
    path = tree / mutant.path
    source, times = path.read_bytes(), path.stat()
    path.write_bytes(source[: mutant.begin] + mutant.after.encode() + source[mutant.end :])
    try:
        return tests.first_failure(record, chosen)
    finally:
        path.write_bytes(source)
        # What was compiled of it is valid again.
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def main() -> int:
    """Try mutants, print what kills them, the survivors, and the share of the killed."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    parser.add_argument('room', help='folder of cnoid_control, such as runtime')
    parser.add_argument('--count', type=int, default=200)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--workers', type=int, default=1)
    args = parser.parse_args()
    room = Path('cnoid_control') / args.room
    files = sorted((ROOT / room).rglob('*.py'))
    every = [mutant for file in files for mutant in mutants_of(file)]
    chosen = random.Random(args.seed).sample(every, min(args.count, len(every)))
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        workers: SimpleQueue[tuple[Path, RoomTests]] = SimpleQueue()
        record: Record | None = None
        for number in range(args.workers):
            tree = shutil.copytree(ROOT, Path(folder) / str(number), ignore=LEFT_OUT)
            tests = RoomTests(tree, Path('test') / args.room)
            record = record or tests.record(room)
            tests.warm_up(record)
            workers.put((tree, tests))

        def attempt(mutant: Mutant) -> str | None:
            tree, tests = workers.get()
            try:
                return killer(mutant, tree, tests, record)
            finally:
                workers.put((tree, tests))

        with ThreadPoolExecutor(args.workers) as pool:
            for number, (mutant, test) in enumerate(
                zip(chosen, pool.map(attempt, chosen), strict=True), 1
            ):
                if test is None:
                    survivors.append(mutant)
                what = 'survived' if test is None else f'killed by {test}'
                print(f'{number}: {mutant}: {what}', flush=True)
        while not workers.empty():
            workers.get()[1].close()
    print(*(f'survived: {mutant}' for mutant in survivors), sep='\n')
    killed = len(chosen) - len(survivors)
    print(f'{killed} of {len(chosen)} mutants killed ({killed / max(1, len(chosen)):.1%})')
    return 0 if killed >= 0.95 * len(chosen) else 1


if __name__ == '__main__':
    sys.exit(main())
