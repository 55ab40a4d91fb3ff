"""`cnoid_control evaluate`: tables, files, exit status, refusals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request

import pytest

from cnoid_control.cli.main import main

DRAWS = ['--randomize', 'mass=0.8..1.2', '--randomize', 'strength=0.2..1.0']
SHORT = ['--duration', '0.1', '--workers', '0']


def evaluate(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict]:
    """Status and JSON of a command."""
    status = main(['evaluate', *words, '--json'])
    return status, json.loads(capsys.readouterr().out)


def test_files_and_json(capsys, tmp_path):
    """All files are written, and the log of the worst run replays to the bit."""
    names = ['runs.csv', 'runs.parquet', 'runs.png', 'worst.mcap', 'worst.yaml']
    files = [str(tmp_path / name) for name in names]
    pytest.importorskip('pyarrow', reason='needs pyarrow')
    words = [
        word
        for option, file in zip(
            ('--csv', '--parquet', '--plot', '--replay-worst', '--write-config'),
            files,
            strict=True,
        )
        for word in (option, file)
    ]
    status, result = evaluate(
        capsys,
        'pendulum',
        *DRAWS,
        *SHORT,
        '--runs',
        '12',
        '--pass',
        'max_joint_error < 0.9',
        *words,
    )
    assert status == 0
    assert result['runs'] == 12
    assert sorted(result['files']) == sorted(files)
    assert result['pass_rate_low'] <= result['pass_rate'] <= result['pass_rate_high']
    table = (tmp_path / 'runs.csv').read_text().splitlines()
    assert len(table) == 13
    assert table[0].endswith(',mass,strength')
    assert (tmp_path / 'runs.png').stat().st_size > 10_000
    worst = result['worst']['run']
    assert main(['replay', files[3]]) == 0
    capsys.readouterr()
    status, alone = evaluate(capsys, 'pendulum', *DRAWS, '--duration', '0.1', '--run', str(worst))
    assert status == 0
    text = table[1 + worst].split(',')
    column = table[0].split(',').index('max_joint_error')
    assert alone['run']['max_joint_error'] == float(text[column])
    assert main(['run', files[4], '--duration', '0.1', '--json']) == 0
    assert json.loads(capsys.readouterr().out)['max_joint_error'] == float(text[column])


def test_the_table_for_people(capsys):
    """Pass rate, metrics, what separates, and the worst run."""
    words = ['--runs', '40', '--pass', 'root_position.z > -1 and strength > 0.6']
    words += ['--randomize', 'posture.*=-0.1..0.1']
    assert main(['evaluate', 'pendulum', *DRAWS, *SHORT, *words]) == 0
    out = capsys.readouterr().out
    for part in (
        'of 40 runs passed',
        '95 % interval',
        'max_joint_error',
        'strength',
        'low',
        'worst: run',
    ):
        assert part in out


@pytest.mark.parametrize(
    ('rule', 'status'),
    [
        ('pass_rate > 0.99', 0),
        ('pass_rate_low > 0.99', 1),
        ('max_joint_error.max < 100', 0),
        ('failed == 0 and lost == 0', 0),
        ('runs < 5', 1),
    ],
)
def test_requirements_are_the_exit_status(capsys, rule, status):
    """As continuous integration needs it."""
    found, result = evaluate(
        capsys,
        'pendulum',
        *DRAWS,
        *SHORT,
        '--runs',
        '5',
        '--require',
        'runs == 5',
        '--require',
        rule,
    )
    assert found == status
    assert result['unmet'] == ([rule] if status else [])


@pytest.mark.parametrize(
    ('words', 'text'),
    [
        (['--randomize', 'frictoin=1'], 'frictoin: unknown; choose from: friction'),
        (['--randomize', 'mass=gauss(0, 1)'], 'choose from: uniform'),
        (['--randomize', 'nowhere.yaml'], 'nowhere.yaml: cannot be read'),
        (['--pass', 'tilt <'], 'cannot be read'),
        (['--require', 'rate > 1'], "no value 'rate'; choose from: runs, passed"),
        (['--run', '1', '--runs', '2'], 'not both'),
        (['--csv', '/dev/null/all.csv'], '--csv /dev/null/all.csv cannot be written'),
        (['--metric', 'nowhere.py:f'], 'nowhere.py'),
        (['--view'], 'say where its log goes'),
        (['--worst', 'tilt'], "no value 'tilt'"),
    ],
)
def test_mistakes_are_named(capsys, words, text):
    """With the valid choices; the exit status is 1."""
    assert main(['evaluate', 'pendulum', *SHORT, *words]) == 1
    assert text in capsys.readouterr().err


def test_a_section_of_the_configuration(tmp_path, capsys):
    """And a metric from a file of the user."""
    (tmp_path / 'mine.yaml').write_text(
        '/**:\n  ros__parameters:\n    robot: {model: pendulum}\n    controller: pd\n'
        '    randomize:\n      posture.*: {uniform: [-0.5, 0.5]}\n'
    )
    (tmp_path / 'mine.py').write_text('def last(s):\n    return {"last": s.recorded.q[-1, 0]}\n')
    status, result = evaluate(
        capsys, str(tmp_path / 'mine.yaml'), *SHORT, '--runs', '4',
        '--metric', f'{tmp_path}/mine.py:last',
    )  # fmt: skip
    assert status == 0
    spread = result['metrics']['last']
    assert spread['max'] > spread['min']


def test_as_a_program_with_workers(tmp_path):
    """As a program of its own, with workers, it prints JSON and nothing else."""
    command = [sys.executable, '-m', 'cnoid_control.cli.main', 'evaluate', 'pendulum', *DRAWS]
    found = subprocess.run(
        [*command, '--duration', '0.05', '--runs', '4', '--workers', '2', '--json'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert json.loads(found.stdout)['runs'] == 4
    assert found.stderr == ''


def test_the_worst_run_is_shown(tmp_path):
    """In a browser, until it is interrupted; the exit status is that of the evaluation."""
    pytest.importorskip('viser', reason='needs viser')
    command = [sys.executable, '-m', 'cnoid_control.cli.main', 'evaluate', 'pendulum', *DRAWS]
    words = ['--runs', '2', '--replay-worst', 'worst.mcap', '--view', '--require', 'runs > 2']
    with subprocess.Popen(
        [*command, *SHORT, *words],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        said = [process.stderr.readline(), process.stderr.readline()]
        assert any('not met: runs > 2' in line for line in said)
        (address,) = [line.split()[1] for line in said if line.startswith('view: ')]
        with urllib.request.urlopen(address, timeout=60) as page:
            assert page.status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 1
