"""The package's own source: nothing in it runs text as code or hands text to a shell."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / 'cnoid_control'
FORBIDDEN_IMPORTS = {'pickle', 'cPickle', 'marshal', 'shelve', 'dill', 'cloudpickle', 'jsonpickle'}
FORBIDDEN_CALLS = {'eval', 'exec', 'os.system', 'os.popen', 'yaml.unsafe_load', 'yaml.full_load'}


def dotted(node: ast.expr) -> str:
    """Name of what is called: `a.b.c`; empty for anything else."""
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return f'{head}.{node.attr}' if head else ''
    return node.id if isinstance(node, ast.Name) else ''


def offences(tree: ast.AST) -> Iterator[str]:
    """What is forbidden in a module."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                names = [node.module or '']
            for name in names:
                if name.split('.')[0] in FORBIDDEN_IMPORTS:
                    yield f'line {node.lineno}: import of {name}'
        elif isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in FORBIDDEN_CALLS:
                yield f'line {node.lineno}: call of {name}'
            for keyword in node.keywords:
                value = keyword.value
                if keyword.arg == 'shell' and not (
                    isinstance(value, ast.Constant) and value.value is False
                ):
                    yield f'line {node.lineno}: a shell'
                if keyword.arg == 'allow_pickle' and not (
                    isinstance(value, ast.Constant) and value.value is False
                ):
                    yield f'line {node.lineno}: arrays of pickled objects'


@pytest.mark.parametrize(
    'path', sorted(PACKAGE.rglob('*.py')), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_no_text_becomes_code(path: Path) -> None:
    """No pickle, no eval, no shell."""
    assert list(offences(ast.parse(path.read_text(encoding='utf-8')))) == []


@pytest.mark.parametrize(
    'text',
    [
        'import pickle',
        'from pickle import loads',
        'eval("1")',
        'import os\nos.system("ls")',
        'import subprocess\nsubprocess.run("ls", shell=True)',
        'import numpy as np\nnp.load("x.npy", allow_pickle=True)',
    ],
)
def test_offences_are_found(text: str) -> None:
    """The search finds what it looks for."""
    assert list(offences(ast.parse(text)))
