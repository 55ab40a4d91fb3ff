"""`cnoid_control run`: the summary, the files, the exit status and how it is interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import matplotlib.image
import pytest

from cnoid_control.cli.main import main
from cnoid_control.log.reader import LogFile

KEYS = {
    'ticks',
    'duration',
    'real_time_factor',
    'overruns',
    'fell',
    'root_position',
    'max_tilt_deg',
    'max_joint_error',
    'limited',
    'controller',
    'hardware',
    'exit',
}


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict]:
    """Run a command with --json; exit status and summary."""
    status = main(['run', *words, '--json'])
    return status, json.loads(capsys.readouterr().out)


def test_summary_is_one_json_object(capsys):
    """With the keys that others rely on."""
    status, summary = run(capsys, 'sr1_pd', '--duration', '0.5')
    assert status == 0
    assert set(summary) >= KEYS
    assert (summary['ticks'], summary['duration']) == (500, 0.5)
    assert (summary['exit'], summary['fell']) == ('completed', False)
    assert (summary['controller'], summary['hardware']) == ('sr1_minimum', 'mujoco')
    assert 0.0 < summary['max_joint_error'] < 0.01
    assert 0.0 < summary['max_tilt_deg'] < 1.5
    assert summary['root_position'][2] == pytest.approx(0.708, abs=0.002)


def test_run_ends_when_control_has_ended(capsys):
    """The walk ends with its last frame, half a metre on."""
    status, summary = run(capsys, 'sr1_walk')
    assert (status, summary['exit']) == (0, 'finished')
    x, y, _ = summary['root_position']
    assert x == pytest.approx(0.45, abs=0.02)
    assert abs(y) < 0.03
    assert not summary['fell']


def test_hardware_and_options_are_chosen_on_the_command_line(capsys):
    """--hardware, --controller and --option take precedence over the file."""
    words = ('--hardware', 'kinematic', '--option', 'mode=position', '--duration', '0.1')
    _, summary = run(capsys, 'sr1_walk', *words)
    assert summary['hardware'] == 'kinematic'
    words = ('--controller', 'sr1_walk', '--option', 'mode=position', '--duration', '0.1')
    _, summary = run(capsys, 'sr1_pd', *words)
    assert summary['controller'] == 'sr1_walk'


def test_a_model_needs_no_configuration(capsys):
    """It is held by `pd`; the base is said on the standard error, and --set changes anything."""
    words = ('arm.urdf', '--duration', '0.2', '--set', 'rate=500', '--set', 'robot.name=tom')
    assert main(['run', *words, '--json']) == 0
    captured = capsys.readouterr()
    summary = json.loads(captured.out)
    assert (summary['controller'], summary['ticks']) == ('pd', 100)
    assert summary['max_joint_error'] < 0.01
    assert 'tom: fixed base, since' in ' '.join(captured.err.split())
    assert main(['run', 'arm.urdf', '--set', 'rate']) == 1
    assert "--set 'rate' is not KEY=VALUE" in capsys.readouterr().err
    assert main(['run', 'arm.urdf', '--set', 'robot.bse=fixed']) == 1
    assert 'robot.bse: unknown option' in capsys.readouterr().err


def test_what_is_for_the_nodes_is_passed_over(capsys, root, tmp_path):
    """A parameter file may tell the ROS nodes what they alone need to know."""
    text = (root / 'config' / 'sr1_pd.yaml').read_text(encoding='utf-8')
    file = tmp_path / 'mine.yaml'
    file.write_text(
        f'{text}    realtime_priority: 0\n    pacing: lockstep\n    autostart: false\n'
    )
    status, summary = run(capsys, str(file), '--duration', '0.01')
    assert (status, summary['ticks']) == (0, 10)


def test_failing_controller_fails_the_run(capsys, tmp_path):
    """Status 1, and the reason names controller, phase and tick."""
    source = tmp_path / 'bad.py'
    source.write_text(
        'from cnoid_control import SimpleController\n\n\n'
        'class Bad(SimpleController):\n'
        '    def control(self):\n'
        '        return 1 / 0\n'
    )
    status, summary = run(capsys, 'sr1_pd', '--controller', f'{source}:Bad')
    assert (status, summary['exit']) == (1, 'failed')
    assert summary['reason'] == (
        "controller 'bad', control() at tick 0: raised ZeroDivisionError: division by "
        'zero (bad.py:6 in control)'
    )


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['no/such.urdf'], "no model 'no/such.urdf': there is no file /"),
        (['sr1_bd'], "'sr1_bd' is neither a file nor in"),
        (['sr1_pd', '--controller', 'nobody'], "unknown controller 'nobody'; choose from: "),
        (['sr1_walk', '--option', 'mode=run'], "sr1_walk.mode: 'run' is not allowed; choose"),
        (['sr1_walk', '--option', 'mood=good'], 'sr1_walk.mood: unknown option; choose from: '),
        (['sr1_walk', '--option', 'mode'], "--option 'mode' is not KEY=VALUE"),
    ],
)
def test_mistakes_are_explained(capsys, words, message):
    """On the standard error, with status 1 and without a traceback."""
    assert main(['run', *words]) == 1
    captured = capsys.readouterr()
    assert captured.out == ''
    assert message in captured.err
    assert 'Traceback' not in captured.err


def test_log_and_plot_are_written(capsys, tmp_path):
    """The log has a topic for each sensor, read or not; the plot is a picture."""
    log, plot = tmp_path / 'x.mcap', tmp_path / 'x.png'
    words = ('sr1_pd', '--duration', '0.6', '--log', str(log), '--plot', str(plot))
    status, summary = run(capsys, *words)
    assert (status, summary['log']) == (0, str(log))
    found = LogFile(log)
    topics = {'joint_states', 'commands', 'root', 'WaistAccelSensor', 'WaistGyro', 'WaistIMU'}
    topics |= {'LeftAnkleForceSensor', 'RightAnkleForceSensor'}
    assert topics <= set(found.topics)
    assert found.schema('root') == 'nav_msgs/msg/Odometry'
    for topic in topics:
        assert len(found.times(topic)) == 600, topic
    picture = matplotlib.image.imread(plot)
    assert picture.shape[1] > 1000
    assert picture.std() > 0.05


@pytest.mark.parametrize(
    ('file', 'reason'),
    [
        ('no/x.png', 'no/x.png cannot be written: '),
        ('x.foo', 'its name must end otherwise; choose from: '),
    ],
)
def test_a_plot_that_cannot_be_written_is_refused_before_anything_moves(
    capsys, tmp_path, file, reason
):
    """By its path and the reason, and without a summary: there was no run."""
    (tmp_path / 'no').write_text('a file, no folder')
    words = ['run', 'sr1_pd', '--duration', '0.02', '--plot', str(tmp_path / file)]
    assert main(words) == 1
    captured = capsys.readouterr()
    assert captured.out == ''
    assert reason in captured.err
    assert not (tmp_path / 'x.foo').exists()


def test_folders_of_log_and_plot_are_made(capsys, tmp_path):
    """As the README's `out/` in a folder where nothing was made before."""
    log, plot = tmp_path / 'logs/x.mcap', tmp_path / 'plots/x.png'
    words = ('arm_circle', '--duration', '0.02', '--log', str(log), '--plot', str(plot))
    assert run(capsys, *words)[0] == 0
    assert log.is_file()
    assert plot.is_file()


@pytest.mark.parametrize('duration', ['-1', 'nan', 'long'])
def test_durations_must_be_times(capsys, duration):
    """Anything else is refused by the parser."""
    with pytest.raises(SystemExit) as caught:
        main(['run', 'sr1_pd', f'--duration={duration}'])
    assert caught.value.code == 2
    assert (
        f"--duration: '{duration}' is not a finite time of 0 s or more" in capsys.readouterr().err
    )


def test_log_changes_nothing(capsys, tmp_path):
    """A recorded run goes as the same run without a recording."""
    _, plain = run(capsys, 'sr1_pd', '--duration', '0.3')
    _, logged = run(capsys, 'sr1_pd', '--duration', '0.3', '--log', str(tmp_path / 'x.mcap'))
    for key in ('root_position', 'max_joint_error', 'max_tilt_deg'):
        assert plain[key] == logged[key]


def test_summary_for_people(capsys):
    """Without --json it is a table."""
    assert main(['run', 'sr1_pd', '--duration', '0.05']) == 0
    text = capsys.readouterr().out
    assert 'completed' in text
    assert 'max_joint_error' in text


@pytest.fixture
def patient(root, tmp_path):
    """Return a config of SR1's hold for which a busy machine is no fault."""
    text = (root / 'config' / 'sr1_pd.yaml').read_text()
    path = tmp_path / 'patient.yaml'
    path.write_text(
        text.replace('    hardware:', '    watchdog: {control_timeout: 10.0}\n    hardware:')
    )
    return path


def test_real_time_takes_its_time(capsys, patient):
    """The run is not faster than the clock."""
    _, summary = run(capsys, str(patient), '--duration', '0.3', '--real-time')
    assert summary['real_time_factor'] <= 1.05


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_the_run_properly(tmp_path, patient, number):
    """Ctrl-C: stop() is called, the log and the summary are written, the status is 0."""
    log, plot = tmp_path / 'x.mcap', tmp_path / 'x.png'
    words = ['run', str(patient), '--real-time', '--json', '--log', str(log), '--plot', str(plot)]
    command = [sys.executable, '-m', 'cnoid_control.cli.main', *words]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path.cwd(), env=os.environ.copy()
    )
    deadline = time.monotonic() + 60.0
    while not log.exists() or log.stat().st_size < 20_000:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    output, _ = process.communicate(timeout=60.0)
    assert process.returncode == 0
    summary = json.loads(output)
    assert (summary['exit'], summary['interrupted']) == ('completed', True)
    assert len(LogFile(log).times('joint_states')) == summary['ticks'] > 0
    assert plot.is_file()


def test_a_file_that_is_typed_starts_at_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Inside a configuration it starts at the configuration's folder; who types means his own."""
    joints = 29
    line = ' '.join(['0.0'] * joints)
    (tmp_path / 'way.path').write_text(f'0 {joints} {line}\n0.1 {joints} {line}\n')
    monkeypatch.chdir(tmp_path)
    words = ['sr1_pd', '--controller', 'trajectory', '--option', 'file=way.path']
    status, summary = run(capsys, *words, '--option', 'finish=true', '--duration', '0.3')
    assert (status, summary['exit']) == (0, 'finished')
