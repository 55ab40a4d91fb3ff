"""Searches: what they find, the same whoever does the runs and however often it is killed."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tuning_metrics

from cnoid_control import CnoidControlError, Simulation, tune
from cnoid_control.cli.main import main
from cnoid_control.runtime.config import read_parameter_file

SUPPORT = Path(__file__).resolve().parent.parent / 'support'
# Weight times height of the mast, in N m/rad: a softer ankle does not hold it.
KP_LIMIT = 8.0 * 9.81 * 0.5
VARY = {'pd.kp': '10..10000:log', 'pd.kd': '1..1000:log'}


def search(**arguments):
    """Search the bowl."""
    given = {
        'minimize': 'bowl',
        'metrics': tuning_metrics.bowl,
        'workers': 0,
        'batch': 5,
        **arguments,
    }
    return tune('arm.yaml', VARY, **given)


@pytest.mark.parametrize('sampler', ['tpe', 'cmaes'])
def test_the_best_is_found(folder, sampler):
    """Near the bottom of a bowl, and far nearer than where the configuration was."""
    tuning = search(sampler=sampler, trials=60)
    assert len(tuning.trials) == 60
    assert tuning.trials[0].values == {'pd.kp': 50.0, 'pd.kd': 4.0}
    was = np.log10(50.0 / 300.0) ** 2 + np.log10(4.0 / 12.0) ** 2
    assert tuning.baseline.values[0] == pytest.approx(was)
    assert tuning.best.score.values[0] < 0.05 < was
    assert tuning.best.values['pd.kp'] == pytest.approx(300.0, rel=0.8)
    [shares] = tuning.importance.values()
    assert set(shares) == set(VARY)
    assert sum(shares.values()) == pytest.approx(1.0)


def test_the_result_does_not_depend_on_who_does_the_runs(folder, monkeypatch):
    """In this process, in two others, and when one of them is killed."""
    monkeypatch.setenv('CNOID_CONTROL_TEST_FOLDER', str(folder))
    here = search(trials=15)
    there = search(trials=15, workers=2, metrics=tuning_metrics.deadly_bowl)
    assert (folder / 'killed').exists()
    assert here.rows() == there.rows()
    assert search(trials=15, seed=1).rows() != here.rows()


def test_another_number_of_workers_prunes_the_same(folder):
    """Trials whose first run falls have one run; those that stand have all of them."""
    found = [
        tune(
            'post.yaml',
            {'pd.kp': '5..2000:log', 'pd.kd': '2..10:log'},
            minimize='max_tilt',
            subject_to='fell=0',
            trials=12,
            runs=3,
            batch=6,
            workers=workers,
        )
        for workers in (0, 2)
    ]
    assert found[0].rows() == found[1].rows()
    rows = found[0].rows()
    assert {row['obeys'] for row in rows} == {True, False}
    assert all(row['runs'] == 3 for row in rows if row['obeys'])
    assert any(row['runs'] == 1 for row in rows if not row['obeys'])
    assert all(row['pd.kp'] > 0.5 * KP_LIMIT for row in rows if row['obeys'])
    assert all(row['pd.kp'] < 2.0 * KP_LIMIT for row in rows if not row['obeys'])
    assert not found[0].baseline.is_feasible
    assert found[0].best.score.is_feasible


def test_the_file_is_a_configuration_as_it_is(folder):
    """It holds what was found and all else that was there, and says what it is."""
    tuning = search(trials=10, subject_to='max_joint_error<1')
    (folder / 'elsewhere').mkdir()
    path = folder / 'elsewhere' / 'found.yaml'
    tuning.save(path)
    values = read_parameter_file(path)
    before = read_parameter_file(folder / 'arm.yaml')
    assert values['pd'] == {'kp': tuning.best.values['pd.kp'], 'kd': tuning.best.values['pd.kd']}
    assert values['realtime_priority'] == 7
    assert {**values, 'pd': 0, 'robot': 0} == {**before, 'pd': 0, 'robot': 0}
    text = path.read_text()
    assert 'cnoid_control_mujoco:\n  ros__parameters:\n    real_time_factor: 0.5\n' in text
    assert f'# found pd.kp: {tuning.best.values["pd.kp"]}' in text
    assert '# subject to max_joint_error:worst<1' in text
    with Simulation(path) as simulation:
        simulation.run(0.01)
        assert tuning_metrics.bowl(simulation)['bowl'] == tuning.best.score.values[0]


def test_several_objectives_have_a_front(folder):
    """It is the one that comparing all with all finds; what is chosen is on it."""
    tuning = search(minimize=['bowl', 'slope'], trials=40)
    points = {trial.number: np.array(trial.score.values) for trial in tuning.trials}
    expected = {
        number
        for number, point in points.items()
        if not any((other <= point).all() and (other < point).any() for other in points.values())
    }
    front = [trial.number for trial in tuning.front]
    assert set(front) == expected
    assert len(front) > 1
    assert tuning.best.number in expected
    assert list(tuning.importance) == ['bowl:mean', 'slope:mean']
    # kp alone matters for the slope.
    assert tuning.importance['slope:mean']['pd.kp'] > 0.6
    figure = tuning.plot()
    assert figure.axes[0].get_title() == 'front'


def test_no_trial_obeys(folder, capsys):
    """The nearest is named, nothing is written, and the exit status says it."""
    words = ['tune', 'arm.yaml', '--vary', 'pd.kp=10..20', '--minimize', 'max_joint_error']
    more = ['--subject-to', 'duration<0', '--trials', '3', '--workers', '0']
    assert main([*words, *more]) == 1
    out = capsys.readouterr().out
    assert '0 obey' in out
    assert 'the nearest' in out
    assert not (folder / 'arm_tuned.yaml').exists()


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'minimize': 'max_tlt'}, "'max_tlt': unknown; .*max_tilt_deg.*bowl"),
        ({'minimize': 'seed'}, "'seed': unknown"),
        ({'metrics': lambda simulation: 1 / 0}, 'a metric raised ZeroDivisionError'),
        ({'minimize': ()}, 'no objective'),
        ({'subject_to': 'fel=0'}, "'fel': unknown; .*fell"),
        ({'sampler': 'grid'}, 'tpe, cmaes, random'),
        ({'sampler': 'cmaes', 'minimize': ['bowl', 'slope']}, 'one objective'),
        ({'trials': 0}, 'trials is 0'),
        ({'runs': 0}, 'runs is 0'),
        ({'vary': {'pd.kp': '-5..5'}}, r'pd.kp: -5 is refused: .*\[0'),
        ({'vary': {'pd.kq': '1..5'}}, 'pd.kq.*unknown option; .*kp'),
        ({'vary': {'pd.kp_of.elbow': '1..5'}}, 'elbow.*shoulder'),
        ({'vary': {'pd.kp': '1..5'}, 'sampler': 'cmaes'}, 'two values'),
        ({'storage': 'nowhere/x.journal'}, 'nowhere'),
    ],
)
def test_mistakes_are_found_before_anything_runs(folder, arguments, message):
    """With the choices; nothing is stored."""
    given = {'minimize': 'bowl', 'metrics': tuning_metrics.bowl, 'vary': VARY, 'workers': 0}
    given = {**given, 'storage': 'x.journal', **arguments}
    with pytest.raises(CnoidControlError, match=message):
        tune('arm.yaml', given.pop('vary'), **given)
    assert not (folder / 'x.journal').exists()


def test_a_storage_is_of_one_search(folder):
    """More trials go on with it; anything else is refused by what differs."""
    search(trials=5, storage='x.journal')
    more = search(trials=8, storage='x.journal')
    assert (more.resumed, len(more.trials)) == (5, 8)
    with pytest.raises(CnoidControlError, match='another search: its seed is 0, now it is 1'):
        search(trials=8, storage='x.journal', seed=1)
    with pytest.raises(CnoidControlError, match='objectives'):
        search(trials=8, storage='x.journal', minimize='slope')
    # One that was not begun is no other search's.
    with pytest.raises(CnoidControlError, match='no Ray cluster'):
        search(trials=8, storage='z.journal', workers=None, ray='127.0.0.1:1')
    assert len(search(trials=2, storage='z.journal', maximize='slope', minimize=()).trials) == 2
    (folder / 'y.journal').write_text('not a journal\n')
    with pytest.raises(CnoidControlError, match='no journal'):
        search(trials=8, storage='y.journal')


def test_a_storage_is_used_by_one_search_at_a_time(folder):
    """The second one is refused, and the first one goes on."""

    def look(tuning, trial):
        with pytest.raises(CnoidControlError, match='another search is using it'):
            search(trials=2, storage='x.journal')

    assert len(search(trials=2, storage='x.journal', on_trial=look).trials) == 2


def test_what_a_kill_leaves_is_mended(folder):
    """Half a line, the lock of Optuna, and a trial that was half asked for."""
    whole = search(trials=12, storage='whole.journal')
    search(trials=7, storage='x.journal')
    lines = (folder / 'x.journal').read_bytes().splitlines(keepends=True)
    # In the middle of a batch of 5: from the first line of its second trial on.
    asked = [i for i, line in enumerate(lines) if b'"op_code":4' in line]
    (folder / 'x.journal').write_bytes(b''.join(lines[: asked[6] + 2]) + lines[-1][:9])
    (folder / 'x.journal.lock').symlink_to('x.journal')
    mended = search(trials=12, storage='x.journal')
    assert [row['pd.kp'] for row in mended.rows()] == [row['pd.kp'] for row in whole.rows()]


def command(folder, *more, trials=20):
    """Words of a search on the command line."""
    metric = f'{SUPPORT / "tuning_metrics.py"}:slow_bowl'
    words = ['tune', 'arm.yaml', '--minimize', 'bowl', '--metric', metric, '--batch', '5']
    for key, text in VARY.items():
        words += ['--vary', f'{key}={text}']
    return [*words, '--trials', str(trials), '--workers', '2', *more]


def start(folder, *more):
    """Start a search in a process of its own, and wait until some trials are done."""
    process = subprocess.Popen(
        [sys.executable, '-m', 'cnoid_control.cli.main', *command(folder, *more)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    journal = folder / 'arm_tuned.journal'
    deadline = time.monotonic() + 100.0
    while time.monotonic() < deadline and process.poll() is None:
        # Of a score that is kept.
        if journal.exists() and journal.read_text().count('violations') >= 7:
            return process
        time.sleep(0.02)
    process.kill()
    raise AssertionError(process.communicate())


def test_a_killed_search_goes_on_where_it_was(folder, capsys):
    """The same command then has the same trials as one that was never killed."""
    process = start(folder)
    process.kill()
    process.communicate()
    assert main(command(folder, '--csv', 'killed.csv', '--json')) == 0
    result = json.loads(capsys.readouterr().out)
    assert 5 <= result['resumed'] < 20
    assert result['trials'] == 20
    assert main(command(folder, '--csv', 'whole.csv', '--storage', 'w.journal', '--json')) == 0
    assert json.loads(capsys.readouterr().out)['resumed'] == 0
    assert (folder / 'killed.csv').read_bytes() == (folder / 'whole.csv').read_bytes()
    # Once more there is nothing to do.
    assert main(command(folder, '--json', '--plot', 'x.png')) == 0
    again = json.loads(capsys.readouterr().out)
    assert again['resumed'] == 20
    assert again['best'] == result['best']
    assert (folder / 'x.png').stat().st_size > 10_000


def test_ctrl_c_keeps_what_is_there(folder):
    """A file of the best so far, one JSON object, no other word, and status 130."""
    process = start(folder, '--json')
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == ''
    result = json.loads(out)
    assert result['interrupted']
    assert 5 <= result['trials'] < 20
    assert (
        read_parameter_file(folder / 'arm_tuned.yaml')['pd']['kp']
        == (result['best']['vary']['pd.kp'])
    )


def test_the_command_prints_tables_and_picks_trials(folder, capsys):
    """Of two objectives: the front, what matters, and the file of another trial."""
    words = [*command(folder, trials=12), '--maximize', 'slope:worst', '--workers', '0']
    assert main(words) == 0
    out = capsys.readouterr().out
    for text in ('12 trials of 1 run;', 'front of', 'as it was', 'written: arm_tuned.yaml'):
        assert text in out
    assert main([*words, '--pick', '3', '--csv', 'all.csv']) == 0
    rows = list(csv.DictReader(io.StringIO((folder / 'all.csv').read_text())))
    found = read_parameter_file(folder / 'arm_tuned.yaml')['pd']
    assert found['kp'] == float(rows[3]['pd.kp'])
    assert main([*words, '--pick', '99']) == 1
    assert 'no trial 99' in capsys.readouterr().err
