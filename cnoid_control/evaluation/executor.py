"""Many tasks on all cores: processes that are replaced when they die."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple, Protocol

from threadpoolctl import threadpool_limits

from cnoid_control.exceptions import CnoidControlError, describe
from cnoid_control.standard_streams import GuardedStreams

# What does one task; a worker makes it once, and a model is compiled once with it.
Do = Callable[[Any], Any]
Work = Callable[[], Do]

# What the script of a process is called in a pickle.
MAIN = b'__main__'
# A task whose workers have died this often is not repeated.
ATTEMPTS = 3
# Threads of linear algebra would take the cores from each other's processes.
ONE_THREAD = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS')
# Imported once, by the process that workers are forked from.
PRELOADED = ['cnoid_control.simulation', 'mujoco', 'cnoid_control.evaluation.executor']


class Failure(NamedTuple):
    """Why a task has no result.

    Attributes:
        reason: one line.
        traceback: where it was raised; empty where the worker died.
    """

    reason: str
    traceback: str = ''


class Outcome(NamedTuple):
    """A task that is done.

    Attributes:
        task: the task.
        result: what the work returned for it; None where it failed.
        failure: why it failed; None where it did not.
    """

    task: Any
    result: Any
    failure: Failure | None = None


class Executor(Protocol):
    """Who does tasks: processes of this computer, or a cluster."""

    def run(self, tasks: Iterable[Any]) -> Iterator[Outcome]:
        """Do tasks; outcomes are yielded as they are there, in any order.

        A task is taken from the iterable when a worker is free for it. What a task raises is its
        failure. A worker that dies is replaced, and its task repeated.

        Raises:
            CnoidControlError: the work cannot be made, or workers die before they begin.
        """

    def close(self) -> None:
        """End the workers at once."""

    def __enter__(self) -> Executor:
        """Use it in a with statement."""

    def __exit__(self, *error: object) -> None:
        """End the workers at once."""


def make_executor(work: Work, workers: int | None = None, ray: str | None = None) -> Executor:
    """Whoever does the tasks of a work.

    Args:
        work: makes, once per worker, what is called with each task. It can be pickled: a class
            or function of a module, or an instance of such a class.
        workers: number of processes; one per core where None; 0 for none but this one.
        ray: address of a Ray cluster that does it, in the place of processes: `auto`,
            `host:port`, or `local` for one of this computer.

    Raises:
        CnoidControlError: the work cannot be pickled, or there is no such cluster.
    """
    if ray is not None:
        from cnoid_control.evaluation.ray_executor import RayExecutor

        if workers is not None:
            raise CnoidControlError('workers are processes of this computer: not with Ray')
        return RayExecutor(work, ray)
    if workers is not None and workers < 0:
        raise CnoidControlError(f'workers is {workers}; a number of 0 or more was expected')
    return LocalExecutor(work, core_count() if workers is None else workers)


def core_count() -> int:
    """Cores that this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def do_task(do: Do, task: Any) -> tuple[Any, Failure | None]:
    """Result of a task, and why it failed where it did."""
    try:
        return do(task), None
    except (Exception, SystemExit) as error:
        return None, Failure(describe(error), traceback.format_exc())


@contextmanager
def _quiet_start() -> Iterator[None]:
    """Have processes start with Ctrl-C blocked from their first moment, and with one thread."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, '1'))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _main_left_out(pickled: bytes) -> Iterator[None]:
    """Have processes start without the script of this one, unless the work is defined in it.

    They would import it, and where it has no `if __name__ == '__main__':` do all of it again.
    """
    if MAIN in pickled:
        yield
        return
    main = vars(sys.modules['__main__'])
    # A program that is given as text has no file: then it must not have one afterwards.
    kept: dict[str, Any] = {name: main[name] for name in ('__spec__', '__file__') if name in main}
    main.update(__spec__=None, __file__=None)
    try:
        yield
    finally:
        del main['__spec__'], main['__file__']
        main.update(kept)


def _serve(pipe: Connection, pickled: bytes, folder: str, environment: dict[str, str]) -> None:
    """What a worker does until its pipe is closed, as it is when the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.update(environment)
    os.chdir(folder)
    threadpool_limits(limits=1)
    with GuardedStreams():
        _answer(pipe, pickled)


def _answer(pipe: Connection, pickled: bytes) -> None:
    try:
        do, failure = do_task(lambda data: ForkingPickler.loads(data)(), pickled)
        pipe.send(failure)
        while failure is None:
            result = do_task(do, pipe.recv())
            try:
                pipe.send(result)
            except (EOFError, OSError):
                raise
            except Exception as error:
                # Whatever it is made of may fail to be sent, in its own way.
                text = f'its result cannot be sent: {describe(error)}'
                pipe.send((None, Failure(text, traceback.format_exc())))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass


class _Worker:
    """A process, our end of its pipe, and what it is doing.

    Attributes:
        pipe: our end of the pipe.
        is_ready: whether the work is made.
        entry: its task and the number of attempts at it; None where it is free.
    """

    def __init__(self, pickled: bytes) -> None:
        """Start the process."""
        methods = multiprocessing.get_all_start_methods()
        # Never a plain fork: this process may have threads.
        method = 'forkserver' if 'forkserver' in methods else 'spawn'
        context: Any = multiprocessing.get_context(method)
        context.set_forkserver_preload(PRELOADED)
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve,
            args=(theirs, pickled, os.getcwd(), dict(os.environ)),
            name='cnoid_control',
            daemon=True,
        )
        with _quiet_start(), _main_left_out(pickled):
            self._process.start()
        theirs.close()
        self.is_ready = False
        self.entry: tuple[Any, int] | None = None

    def give(self, entry: tuple[Any, int]) -> None:
        """Have it do a task."""
        self.entry = entry
        # Where it has died, who waits for its answer will see.
        with suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(entry[0])

    def how_it_died(self) -> str:
        """How the process has ended, once its pipe is closed."""
        self._process.join(5.0)
        code = self._process.exitcode
        if code is not None and code < 0:
            return f'was killed by {signal.Signals(-code).name}'
        return f'ended with exit status {code}'

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self.pipe.close()


class LocalExecutor:
    """Processes of this computer; with 0 of them, this process does the tasks itself."""

    def __init__(self, work: Work, workers: int) -> None:
        """Remember the work; processes are started when there are tasks for them.

        Args:
            work: see `make_executor`.
            workers: number of processes.

        Raises:
            CnoidControlError: the work cannot be pickled.
        """
        self._work = work
        self._count = workers
        self._workers: list[_Worker] = []
        self._stillborn = 0
        self._do: Do | None = None
        self._pickled = b''
        if workers:
            try:
                self._pickled = bytes(ForkingPickler.dumps(work))
            except Exception as error:
                # Whatever it is made of may fail to be sent, in its own way.
                raise CnoidControlError(
                    f'this cannot be sent to another process: {describe(error)}; define it in a '
                    'module, or take no workers (0)'
                ) from error

    def run(self, tasks: Iterable[Any]) -> Iterator[Outcome]:
        """Do tasks, see `Executor.run`."""
        return self._run(iter(tasks)) if self._count else self._run_here(tasks)

    def _run_here(self, tasks: Iterable[Any]) -> Iterator[Outcome]:
        with threadpool_limits(limits=1):
            self._do = self._do or self._work()
            for task in tasks:
                yield Outcome(task, *do_task(self._do, task))

    def _run(self, tasks: Iterator[Any]) -> Iterator[Outcome]:
        again: deque[tuple[Any, int]] = deque()
        done: list[Outcome] = []
        try:
            while True:
                # Workers are busy while the caller deals with the outcomes.
                self._give(tasks, again)
                yield from done
                done = []
                busy = {worker.pipe: worker for worker in self._workers if worker.entry}
                if not busy:
                    return
                for pipe in wait(list(busy)):
                    outcome = self._answer(busy[pipe], again)
                    if outcome is not None:
                        done.append(outcome)
        finally:
            # Of a caller that does not want the rest.
            for worker in [worker for worker in self._workers if worker.entry]:
                self._workers.remove(worker)
                worker.kill()

    def _give(self, tasks: Iterator[Any], again: deque[tuple[Any, int]]) -> None:
        """Give tasks to free workers, and start the workers that are missing."""
        free = [worker for worker in self._workers if worker.entry is None]
        while free or len(self._workers) < self._count:
            entry = again.popleft() if again else next(((task, 1) for task in tasks), None)
            if entry is None:
                return
            if free:
                worker = free.pop()
            else:
                worker = _Worker(self._pickled)
                self._workers.append(worker)
            worker.give(entry)

    def _answer(self, worker: _Worker, again: deque[tuple[Any, int]]) -> Outcome | None:
        """Hear a worker, or bury it; returns the outcome of its task where there is one."""
        assert worker.entry is not None
        task, attempt = worker.entry
        try:
            message = worker.pipe.recv()
        except (EOFError, OSError):
            self._workers.remove(worker)
            how = worker.how_it_died()
            worker.kill()
            if not worker.is_ready:
                self._stillborn += 1
                if self._stillborn == ATTEMPTS:
                    hint = ''
                    if MAIN in self._pickled:
                        hint = (
                            '; they import the script in which the work is defined: what starts '
                            "them belongs under `if __name__ == '__main__':`"
                        )
                    raise CnoidControlError(
                        f'{ATTEMPTS} workers have died before they began; the last one {how}{hint}'
                    ) from None
                again.append(worker.entry)
                return None
            if attempt < ATTEMPTS:
                again.append((task, attempt + 1))
                return None
            text = f'{ATTEMPTS} workers have died of it; the last one {how}'
            return Outcome(task, None, Failure(text))
        if not worker.is_ready:
            if message is not None:
                raise CnoidControlError(f'the workers cannot begin: {message.reason}')
            worker.is_ready = True
            self._stillborn = 0
            return None
        worker.entry = None
        return Outcome(task, *message)

    def close(self) -> None:
        """End the workers at once."""
        for worker in self._workers:
            worker.kill()
        self._workers = []

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
