"""Many tasks on a Ray cluster."""

from __future__ import annotations

import logging
import os
import socket
import sys
import time
import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cnoid_control.evaluation.executor import ATTEMPTS, Do, Failure, Outcome, Work, do_task
from cnoid_control.exceptions import CnoidControlError, describe

# Tasks per core of the cluster that are under way or wait in it.
DEPTH = 2
# Time after which it is looked again how many cores there are [s].
PERIOD = 1.0
# Time for an address to answer [s].
PATIENCE = 5.0
# Variables of the environment that the work is to see on every node.
PREFIX = 'CNOID_CONTROL_'

# What a process of the cluster has made, by the key of the work.
_made: dict[str, Do] = {}


def _do(key: str, sent: list[Any], task: Any) -> tuple[Any, ...]:
    """One task in a process of the cluster; the work is made where it is not there yet."""
    if key not in _made:
        do, failure = do_task(_make, sent[0])
        if failure is not None:
            return False, None, failure
        # The one before is of a work that is over.
        _made.clear()
        _made[key] = do
    return True, *do_task(_made[key], task)


def _make(reference: Any) -> Do:
    """Make the work in surroundings like those of who sent it."""
    import ray
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1)
    sent = ray.get(reference)
    os.environ.update(sent['environment'])
    sys.path += [folder for folder in sent['path'] if folder not in sys.path]
    return ray.cloudpickle.loads(sent['work'])()


def _knock(address: str) -> None:
    """See whether somebody listens at an address; Ray itself would try for minutes.

    Raises:
        OSError: nobody does.
    """
    host, _, port = address.removeprefix('ray://').rpartition(':')
    if port.isdecimal():
        socket.create_connection((host, int(port)), PATIENCE).close()


class RayExecutor:
    """A Ray cluster: nodes may come and go; a task whose process or node dies is repeated.

    What Ray itself does: it places tasks on nodes, keeps processes, and notices that they die.
    The package, and the files that a configuration names, must be there on every node.
    """

    def __init__(self, work: Work, address: str) -> None:
        """Connect to the cluster.

        Args:
            work: see `make_executor`.
            address: `auto`, `host:port`, `ray://host:port`, or `local` for a cluster of this
                computer alone.

        Raises:
            CnoidControlError: Ray is not installed, or there is no such cluster.
        """
        try:
            import ray
        except ImportError as error:
            raise CnoidControlError(
                f"Ray is needed: {error}; pip install 'cnoid_control[ray]'"
            ) from error
        self._ray = ray
        self._owns = not ray.is_initialized()
        if self._owns:
            try:
                _knock(address)
                # A cluster of this computer is nobody else's business.
                os.environ.setdefault('RAY_USAGE_STATS_ENABLED', '0')
                ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
            except Exception as error:
                # Of any class: a node that does not come up in time raises a bare Exception.
                raise CnoidControlError(
                    f'no Ray cluster at {address!r}: {describe(error)}; start one with '
                    '`ray start --head`, or give `local`'
                ) from error
        self._key = uuid.uuid4().hex
        # In a list it is handed on as a reference: fetched once per process, not once per task.
        self._sent = [
            ray.put(
                {
                    'work': ray.cloudpickle.dumps(work),
                    'path': [str(Path(folder).absolute()) for folder in sys.path],
                    'environment': {k: v for k, v in os.environ.items() if k.startswith(PREFIX)},
                }
            )
        ]
        self._remote = ray.remote(num_cpus=1, max_retries=0)(_do)
        self._pending: dict[Any, tuple[Any, int]] = {}
        self._room = 0
        self._counted = -PERIOD

    def run(self, tasks: Iterable[Any]) -> Iterator[Outcome]:
        """Do tasks, see `Executor.run`."""
        again: deque[tuple[Any, int]] = deque()
        source = iter(tasks)
        done: list[Outcome] = []
        try:
            while True:
                self._give(source, again)
                yield from done
                done = []
                if not self._pending:
                    return
                ready, _ = self._ray.wait(
                    list(self._pending), num_returns=1, timeout=PERIOD, fetch_local=True
                )
                for reference in ready:
                    outcome = self._answer(reference, again)
                    if outcome is not None:
                        done.append(outcome)
        finally:
            self._cancel()

    def _give(self, source: Iterator[Any], again: deque[tuple[Any, int]]) -> None:
        now = time.monotonic()
        if now - self._counted >= PERIOD:
            self._counted = now
            cores = self._ray.cluster_resources().get('CPU', 0.0)
            self._room = max(1, DEPTH * int(cores))
        while len(self._pending) < self._room:
            entry = again.popleft() if again else next(((task, 1) for task in source), None)
            if entry is None:
                return
            reference = self._remote.remote(self._key, self._sent, entry[0])
            self._pending[reference] = entry

    def _answer(self, reference: Any, again: deque[tuple[Any, int]]) -> Outcome | None:
        task, attempt = self._pending.pop(reference)
        errors = self._ray.exceptions
        try:
            has_begun, result, failure = self._ray.get(reference)
        except errors.RayTaskError as error:
            # All that a task raises is in its failure already.
            return Outcome(task, None, Failure(f'its result cannot be sent: {error.cause}'))
        except errors.RayError as error:
            if attempt < ATTEMPTS:
                again.append((task, attempt + 1))
                return None
            text = f'{ATTEMPTS} workers have died of it; the last one: {describe(error)}'
            return Outcome(task, None, Failure(text.partition('\n')[0]))
        if not has_begun:
            raise CnoidControlError(f'the workers cannot begin: {failure.reason}')
        return Outcome(task, result, failure)

    def _cancel(self) -> None:
        for reference in self._pending:
            self._ray.cancel(reference, force=True)
        self._pending = {}

    def close(self) -> None:
        """Cancel what is under way and leave the cluster."""
        if self._ray.is_initialized():
            self._cancel()
            if self._owns:
                self._ray.shutdown()

    def __enter__(self) -> RayExecutor:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
