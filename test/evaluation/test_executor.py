"""Tasks on all cores: every task once, whatever workers do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest
from executor_tasks import Squares, Threads, Troubles, Unmakable

from cnoid_control import CnoidControlError
from cnoid_control.evaluation import make_executor
from cnoid_control.evaluation.executor import _main_left_out

SUPPORT = Path(__file__).resolve().parent.parent / 'support'


def notes(folder, word):
    """Processes that have noted a word."""
    return [path.name.split('_')[-2] for path in Path(folder).glob(f'{word}_*')]


@pytest.mark.parametrize('workers', [0, 1, 2])
def test_every_task_is_done_once_and_the_work_is_made_once_per_worker(tmp_path, workers):
    """The outcomes are those of all tasks, over several calls."""
    with make_executor(Squares(str(tmp_path)), workers) as executor:
        for _ in range(2):
            outcomes = sorted(executor.run(range(20)))
            assert [outcome.result for outcome in outcomes] == [i * i for i in range(20)]
            assert all(outcome.failure is None for outcome in outcomes)
    made = notes(tmp_path, 'made')
    assert len(set(made)) == len(made) == max(workers, 1)
    assert (str(os.getpid()) in made) == (workers == 0)
    assert all(len(notes(tmp_path, f'task{i}')) == 2 for i in range(20))


def test_no_more_processes_are_started_than_there_are_tasks(tmp_path):
    """One task needs one process."""
    with make_executor(Squares(str(tmp_path)), 4) as executor:
        assert [outcome.result for outcome in executor.run([3])] == [9]
    assert len(notes(tmp_path, 'made')) == 1


def test_a_task_that_raises_fails_alone(tmp_path):
    """Its reason and its traceback are returned, and its worker goes on."""
    tasks = [('raise', 1), ('exit', 2), ('unsendable', 3), ('fine', 4)]
    with make_executor(Troubles(str(tmp_path)), 1) as executor:
        by_task = {outcome.task: outcome for outcome in executor.run(tasks)}
    assert by_task['raise', 1].failure.reason == 'ValueError: task 1 is bad'
    assert 'in do' in by_task['raise', 1].failure.traceback
    assert 'SystemExit' in by_task['exit', 2].failure.reason
    assert 'cannot be sent' in by_task['unsendable', 3].failure.reason
    assert by_task['fine', 4] == (('fine', 4), 16, None)
    assert len(notes(tmp_path, 'made')) == 1


def test_a_task_whose_worker_dies_is_repeated(tmp_path):
    """After a segmentation fault it is done by another worker; others are not repeated."""
    tasks = [('kill_once', 7), *(('fine', i) for i in range(6))]
    with make_executor(Troubles(str(tmp_path)), 2) as executor:
        results = {outcome.task: outcome.result for outcome in executor.run(tasks)}
    assert results == {task: task[1] ** 2 for task in tasks}
    assert len(notes(tmp_path, 'kill_once7')) == 2
    assert all(len(notes(tmp_path, f'fine{i}')) == 1 for i in range(6))


def test_a_task_that_kills_three_workers_is_given_up(tmp_path):
    """It is named with the signal; the other tasks are done."""
    tasks = [('kill', 7), *(('fine', i) for i in range(4))]
    with make_executor(Troubles(str(tmp_path)), 2) as executor:
        by_task = {outcome.task: outcome for outcome in executor.run(tasks)}
    assert by_task['kill', 7].failure.reason == (
        '3 workers have died of it; the last one was killed by SIGKILL'
    )
    assert sum(outcome.failure is None for outcome in by_task.values()) == 4
    assert len(notes(tmp_path, 'kill7')) == 3


@pytest.mark.parametrize(
    ('how', 'text'),
    [('raise', 'ValueError: no such model'), ('kill', 'died before they began.*SIGKILL')],
)
def test_a_work_that_cannot_be_made_ends_it(how, text):
    """Not once per task."""
    with (
        make_executor(Unmakable(how), 1) as executor,
        pytest.raises(CnoidControlError, match=text),
    ):
        list(executor.run(count()))


def test_what_cannot_be_pickled_is_refused():
    """Before any process is started; without processes it may be used."""
    with pytest.raises(CnoidControlError, match=r'another process.*0'):
        make_executor(lambda: str, 2)
    with make_executor(lambda: str, 0) as executor:
        assert [outcome.result for outcome in executor.run([1, 2])] == ['1', '2']


@pytest.mark.parametrize('arguments', [{'workers': -1}, {'workers': 2, 'ray': 'local'}])
def test_wrong_numbers_of_workers_are_refused(arguments):
    """A negative number, and one beside Ray."""
    with pytest.raises(CnoidControlError, match='workers'):
        make_executor(Threads(), **arguments)


def test_workers_have_one_thread_and_the_surroundings_of_the_caller(tmp_path, monkeypatch):
    """Also when both have changed since the first workers were started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('CNOID_CONTROL_TEST', 'seen')
    with make_executor(Threads(), 1) as executor:
        [outcome] = executor.run([0])
    assert set(outcome.result['threads']) == {1}
    assert outcome.result['folder'] == str(tmp_path)
    assert outcome.result['variable'] == 'seen'


def test_tasks_are_taken_as_workers_are_free(tmp_path):
    """An endless iterable is fine; memory holds only what is under way."""
    taken = []
    tasks = (taken.append(i) or i for i in count())
    with make_executor(Squares(str(tmp_path)), 2) as executor:
        outcomes = executor.run(tasks)
        for _ in range(30):
            next(outcomes)
            assert len(taken) <= 34
        outcomes.close()
        # Those that were busy are gone; it can be used again.
        assert sorted(outcome.result for outcome in executor.run([2, 3])) == [4, 9]


def test_ctrl_c_ends_all_at_once_and_quietly(tmp_path):
    """What is there is kept, nothing is printed by the workers, and no process is left."""
    process = subprocess.Popen(
        [sys.executable, '-c', f'import executor_tasks as e; e.interrupted({str(tmp_path)!r})'],
        env={**os.environ, 'PYTHONPATH': str(SUPPORT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    # As a terminal does it: to every process of the group.
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out.endswith('kept\n')
    assert err == ''
    assert process.returncode == 0
    for pid in set(notes(tmp_path, 'made')):
        assert_gone(int(pid))


def test_workers_end_when_their_parent_is_killed(tmp_path):
    """None is left behind by kill -9."""
    process = subprocess.Popen(
        [sys.executable, '-c', f'import executor_tasks as e; e.interrupted({str(tmp_path)!r})'],
        env={**os.environ, 'PYTHONPATH': str(SUPPORT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    process.kill()
    process.communicate(timeout=60)
    for pid in set(notes(tmp_path, 'made')):
        assert_gone(int(pid))


def assert_gone(pid):
    """Wait until a process has ended."""
    for _ in range(600):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError(f'process {pid} is still there')


SCRIPT = """
from cnoid_control.evaluation.executor import make_executor
from support_work import Adding

print('begun')
with make_executor({work}, 2) as executor:
    print(sorted(outcome.result for outcome in executor.run([1, 2, 3])))
"""
WORK = """
class Adding:
    def __call__(self):
        return lambda task: task + 10
"""


def test_a_script_without_a_guard(tmp_path):
    """Workers do not do the script again, unless the work is defined in it: that is said."""
    (tmp_path / 'support_work.py').write_text(WORK)
    (tmp_path / 'plain.py').write_text(SCRIPT.format(work='Adding()'))
    found = subprocess.run(
        [sys.executable, 'plain.py'],
        cwd=tmp_path,
        env={**os.environ, 'PYTHONPATH': str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert found.stdout == 'begun\n[11, 12, 13]\n'
    own = SCRIPT.format(work='Mine()').replace("print('begun')", 'class Mine(Adding): pass')
    (tmp_path / 'own.py').write_text(own)
    found = subprocess.run(
        [sys.executable, 'own.py'],
        cwd=tmp_path,
        env={**os.environ, 'PYTHONPATH': str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert found.returncode == 1
    assert "belongs under `if __name__ == '__main__':`" in found.stderr


@pytest.mark.parametrize('file', ['script.py', None])
def test_the_script_of_this_process_is_as_it_was(file, monkeypatch) -> None:
    """Also where there is none, as in a program that is given as text."""
    main = sys.modules['__main__']
    monkeypatch.setattr(main, '__file__', 'other.py', raising=False)
    if file is None:
        monkeypatch.delattr(main, '__file__')
    else:
        monkeypatch.setattr(main, '__file__', file)
    before = {name: vars(main).get(name, 'none') for name in ('__file__', '__spec__')}
    with _main_left_out(b''):
        assert main.__file__ is None
    assert {name: vars(main).get(name, 'none') for name in before} == before
