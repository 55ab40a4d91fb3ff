"""Works for the tests of executors."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Squares:
    """Makes what squares numbers, and notes each time that it is made and each task."""

    folder: str
    pause: float = 0.0

    def __call__(self):
        self.note('made')
        return self.do

    def note(self, word):
        path = Path(self.folder, f'{word}_{os.getpid()}_{time.monotonic_ns()}')
        path.touch()

    def do(self, task):
        self.note(f'task{task}')
        time.sleep(self.pause)
        return task * task


@dataclass
class Troubles(Squares):
    """Some tasks go wrong."""

    def do(self, task):
        word, number = task
        self.note(f'{word}{number}')
        if word == 'raise':
            raise ValueError(f'task {number} is bad')
        if word == 'exit':
            raise SystemExit(3)
        if word == 'kill':
            os.kill(os.getpid(), signal.SIGKILL)
        if word == 'kill_once' and len(list(Path(self.folder).glob(f'{word}{number}_*'))) == 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        if word == 'unsendable':
            return lambda: None
        return number * number


@dataclass
class Unmakable:
    """A work that cannot be made."""

    how: str = 'raise'

    def __call__(self):
        if self.how == 'kill':
            os.kill(os.getpid(), signal.SIGKILL)
        raise ValueError('no such model')


class Threads:
    """Reports the number of threads that linear algebra may use, and where it runs."""

    def __call__(self):
        return self.do

    def do(self, task):
        import numpy  # noqa: F401
        from threadpoolctl import threadpool_info

        return {
            'threads': [pool['num_threads'] for pool in threadpool_info()],
            'folder': os.getcwd(),
            'variable': os.environ.get('CNOID_CONTROL_TEST', ''),
        }


def interrupted(folder):
    """Do endless slow tasks, to be interrupted."""
    from cnoid_control.evaluation import make_executor

    with make_executor(Squares(folder, 0.05), workers=2) as executor:
        try:
            for outcome in executor.run(range(10**6)):
                print(outcome.result, flush=True)
        except KeyboardInterrupt:
            print('kept', flush=True)
