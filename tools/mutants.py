"""Mutation test of one room: change the code at random places and see whether its tests notice.

    python tools/mutants.py runtime --count 200 --seed 1

Each mutant flips a comparison or an operator, drops a `not`, or drops a call whose result is not
used. A mutant is killed when a test of the room fails or hangs. Survivors are printed; the exit
status is 1 where less than 95 % were killed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = shutil.ignore_patterns('.git', '.venv', 'out', '__pycache__', '*.egg-info', '.*_cache')
# Time after which a mutant counts as hanging [s].
TIMEOUT = 300
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
}


class Mutant(NamedTuple):
    """One change: the text of a node is replaced.

    Attributes:
        path: file, relative to the checkout.
        line: first line of the node, from 1.
        before, after: source text of the node.
        begin, end: place of `before` in the file [bytes].
    """

    path: Path
    line: int
    before: str
    after: str
    begin: int
    end: int


def mutants_of(path: Path) -> list[Mutant]:
    """Every mutant of a file."""
    source = path.read_bytes()
    starts = [0]
    for line in source.split(b'\n'):
        starts.append(starts[-1] + len(line) + 1)
    found = []
    for node in _executed(ast.parse(source)):
        after = _changed(node)
        if after is None:
            continue
        assert isinstance(node, (ast.expr, ast.stmt))
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        place = path.relative_to(ROOT) if path.is_relative_to(ROOT) else Path(path.name)
        found.append(Mutant(place, node.lineno, source[begin:end].decode(), after, begin, end))
    return found


def _executed(node: ast.AST) -> list[ast.AST]:
    """The nodes of a tree without annotations and what is for type checkers only."""
    nodes = [node]
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
                nodes += _executed(child)
    return nodes


def _changed(node: ast.AST) -> str | None:
    """Source text of the changed node; None for a node that is left alone."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return 'pass'
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return f'({ast.unparse(node.operand)})'
    changed: Any = copy.deepcopy(node)
    if isinstance(node, ast.Compare):
        changed.ops[0] = FLIPS[type(node.ops[0])]()
    elif isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in FLIPS:
        changed.op = FLIPS[type(node.op)]()
    else:
        return None
    return f'({ast.unparse(changed)})'


def survives(mutant: Mutant, tree: Path, tests: Path) -> bool:
    """Whether the room's tests pass with a mutant, in a copy of the checkout."""
    path = tree / mutant.path
    source = path.read_bytes()
    path.write_bytes(source[: mutant.begin] + mutant.after.encode() + source[mutant.end :])
    own = sorted((tree / tests).rglob(f'test_{mutant.path.stem}.py'))
    command = [sys.executable, '-m', 'pytest', '-qx', '-p', 'no:cacheprovider', '-p', 'no:xdist']
    variables = {**os.environ, 'PYTHONPATH': str(tree), 'PYTHONDONTWRITEBYTECODE': '1'}
    try:
        # The tests of the file itself are the likeliest to notice.
        for chosen in ([str(test) for test in own], [str(tree / tests)]):
            if chosen:
                done = subprocess.run(
                    [*command, *chosen],
                    cwd=tree,
                    env=variables,
                    capture_output=True,
                    timeout=TIMEOUT,
                )
                if done.returncode != 0:
                    return False
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        path.write_bytes(source)


def main() -> int:
    """Try mutants, print the survivors and the share of the killed."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    parser.add_argument('room', help='folder of cnoid_control, such as runtime')
    parser.add_argument('--count', type=int, default=200)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--workers', type=int, default=2)
    args = parser.parse_args()
    files = sorted((ROOT / 'cnoid_control' / args.room).rglob('*.py'))
    every = [mutant for file in files for mutant in mutants_of(file)]
    chosen = random.Random(args.seed).sample(every, min(args.count, len(every)))
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for worker in range(args.workers):
            copies.put(shutil.copytree(ROOT, Path(folder) / str(worker), ignore=LEFT_OUT))

        def attempt(mutant: Mutant) -> bool:
            tree = copies.get()
            try:
                return survives(mutant, tree, Path('test') / args.room)
            finally:
                copies.put(tree)

        with ThreadPoolExecutor(args.workers) as pool:
            for number, (mutant, lives) in enumerate(
                zip(chosen, pool.map(attempt, chosen), strict=True), 1
            ):
                survivors += lives
                if lives:
                    change = f'{mutant.before!r} -> {mutant.after!r}'
                    print(f'{number}: survived: {mutant.path}:{mutant.line}: {change}', flush=True)
    killed = len(chosen) - survivors
    print(f'{killed} of {len(chosen)} mutants killed ({killed / max(1, len(chosen)):.1%})')
    return 0 if killed >= 0.95 * len(chosen) else 1


if __name__ == '__main__':
    sys.exit(main())
