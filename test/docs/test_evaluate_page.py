"""What docs/evaluate.md shows runs as it stands."""

from __future__ import annotations

import re
import shlex

import yaml

from cnoid_control.cli.main import make_parser
from cnoid_control.evaluation.distributions import KINDS
from cnoid_control.evaluation.randomization import QUANTITIES
from cnoid_control.evaluation.runner import Runner, load_runs


def page(root) -> str:
    """The text of the page."""
    return (root / 'docs' / 'evaluate.md').read_text(encoding='utf-8')


def test_the_script_runs(root, monkeypatch, tmp_path):
    """The Python code of the page."""
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r'```python\n(.*?)```', page(root), re.DOTALL)
    exec(code.replace('runs=20', 'runs=4, workers=0'), {})


def test_the_section_is_valid(root):
    """The YAML of the page, for the robot that it speaks of."""
    (text,) = re.findall(r'```yaml\n(.*?)```', page(root), re.DOTALL)
    section = yaml.safe_load(text)['randomize']
    runner = Runner(load_runs('sr1_pd', section, duration=0.01))
    assert 'mass.LLEG_KNEE' in runner.randomization.columns
    assert 'bias.q.LLEG_KNEE' in runner.randomization.columns


def test_every_quantity_and_distribution_is_named(root):
    """Those of the tables are all there are."""
    text = page(root)
    for name in (*QUANTITIES, *KINDS):
        assert f'`{name}' in text, name


def test_the_commands_parse(root):
    """All options of the commands on the page exist."""
    joined = page(root).replace('\\\n', ' ')
    commands = re.findall(r'^    cnoid_control (evaluate .*)$', joined, re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        words = [word for word in shlex.split(command.partition('#')[0]) if word != '...']
        make_parser().parse_args(words)
