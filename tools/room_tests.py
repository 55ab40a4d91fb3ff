"""The tests of one room: which of them execute which line, and whether some of them pass.

A process of its own has the libraries imported and forks for every run, so that a run costs
little more than its tests. The room itself is imported anew by each.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

# Time that a test may take: so much, and so many times what it took without a mutant [s].
PATIENCE = 15.0
SLOWNESS = 8.0
# Context of what no single test executes: imports, and fixtures that several tests share.
SHARED = ''
# Names the test, for processes that it starts.
TEST_VARIABLE = 'ROOM_TESTS_CONTEXT'
PYTEST = ['-qx', '--rootdir=.', '-p', 'no:cacheprovider', '-p', 'pytest_timeout']


class Record(NamedTuple):
    """What the tests of a room execute.

    Attributes:
        durations: time that each test took, by its id [s].
        tests: ids of the tests that execute a line, by file (relative to the tree) and line;
            `SHARED` among them where the line is executed for all of them.
        libraries: modules from outside of the tree that the tests import.
    """

    durations: dict[str, float]
    tests: dict[str, dict[int, list[str]]]
    libraries: list[str]

    def executing(self, path: str, lines: Iterable[int]) -> list[str]:
        """Ids of the tests that execute any of these lines, the quickest first."""
        by_line = self.tests.get(path, {})
        found = {test for line in lines for test in by_line.get(line, ())}
        # What single tests execute is tried before what all of them depend on.
        rest = set(self.durations) - found if SHARED in found else set()
        found.discard(SHARED)
        return [*self._quickest_first(found), *self._quickest_first(rest)]

    def _quickest_first(self, tests: Iterable[str]) -> list[str]:
        return sorted(tests, key=lambda test: (self.durations[test], test))


class RoomTests:
    """Runs tests of one folder, in a copy of the checkout that others may change meanwhile."""

    def __init__(self, tree: Path, tests: Path) -> None:
        """Start the process that runs them.

        Args:
            tree: the copy of the checkout.
            tests: folder of tests, relative to it.
        """
        variables = {
            **os.environ,
            'PYTHONPATH': str(tree),
            # Plugins of others only cost time, and some start threads.
            'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1',
            'OMP_NUM_THREADS': '1',
            'OPENBLAS_NUM_THREADS': '1',
        }
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(tests)],
            cwd=tree,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def record(self, room: Path) -> Record:
        """Run all tests once and note what each executes.

        Args:
            room: folder of the code to look at, relative to the tree.

        Raises:
            RuntimeError: a test fails.
        """
        answer = self._ask(room=str(room))
        if 'failed' in answer:
            raise RuntimeError(f'without any mutant: {answer["failed"]}\n{answer["output"]}')
        by_file = answer['tests'].items()
        return Record(
            answer['durations'],
            {file: {int(n): ids for n, ids in lines.items()} for file, lines in by_file},
            answer['libraries'],
        )

    def warm_up(self, record: Record) -> None:
        """Import the libraries that the tests need, once for all runs."""
        self._ask(libraries=record.libraries)

    def first_failure(self, record: Record, tests: Sequence[str]) -> str | None:
        """Run tests in this order and stop at the first that fails.

        Args:
            record: what they take otherwise.
            tests: ids of the tests.

        Returns:
            The one that fails or hangs; the folder of all of them where their files cannot be
            imported; None where all pass.
        """
        limits = [PATIENCE + SLOWNESS * record.durations[test] for test in tests]
        return self._ask(chosen=dict(zip(tests, limits, strict=True))).get('failed')

    def _ask(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f'the process that runs tests has ended: {self._process.wait()}')
        return json.loads(answer)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


# --- in the process that runs tests -----------------------------------------------------------


class Progress:
    """Notes in a file which test has begun last: whatever ends the process, it is known."""

    def __init__(self, file: Path) -> None:
        """Note nothing yet."""
        self._file = file

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note a test."""
        self._file.write_text(nodeid)


class Choice:
    """Runs chosen tests in the order given, each with a time limit."""

    def __init__(self, limits: dict[str, float]) -> None:
        """Choose.

        Args:
            limits: longest time of each test, by its id, in their order [s].
        """
        self._limits = limits

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave the chosen ones."""
        by_id = {item.nodeid: item for item in items}
        items[:] = [by_id[test] for test in self._limits]
        for item in items:
            item.add_marker(pytest.mark.timeout(self._limits[item.nodeid]), append=False)


class Recording:
    """Notes the lines that each test executes, in its threads and in processes that it starts."""

    def __init__(self, room: Path, folder: Path) -> None:
        """Begin; nothing of the room has been imported yet.

        Args:
            room: folder of the code to look at.
            folder: where to keep what processes have executed.
        """
        import coverage

        self.durations: dict[str, float] = {}
        self._folder = folder
        settings = folder / 'settings'
        settings.write_text(
            f'[run]\ndata_file = {folder / "child"}\nparallel = True\nconcurrency = thread\n'
            f'source = {room.resolve()}\ncontext = ${{{TEST_VARIABLE}-{SHARED}}}\n'
            'disable_warnings = no-data-collected\n'
        )
        os.environ['COVERAGE_PROCESS_START'] = str(settings)
        self._coverage = coverage.Coverage(
            data_file=None, config_file=False, concurrency=['thread'], source=[str(room.resolve())]
        )
        self._coverage.start()

    @contextlib.contextmanager
    def _context(self, name: str) -> Iterator[None]:
        before = os.environ.get(TEST_VARIABLE, SHARED)
        self._coverage.switch_context(name)
        os.environ[TEST_VARIABLE] = name
        try:
            yield
        finally:
            self._coverage.switch_context(before)
            os.environ[TEST_VARIABLE] = before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Note what a test executes."""
        began = time.perf_counter()
        with self._context(item.nodeid):
            result = yield
        self.durations[item.nodeid] = round(time.perf_counter() - began, 3)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        """Note as shared what a fixture of several tests executes: only the first calls it."""
        if fixturedef.scope == 'function':
            return (yield)
        with self._context(SHARED):
            return (yield)

    def end(self) -> dict[str, dict[int, list[str]]]:
        """Ids of the tests by file and line."""
        from coverage import CoverageData

        self._coverage.stop()
        datas = [self._coverage.get_data()]
        for file in self._folder.glob('child.*'):
            data = CoverageData(str(file))
            data.read()
            datas.append(data)
        tests: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for data in datas:
            for file in data.measured_files():
                path = str(Path(file).relative_to(Path.cwd()))
                for line, ids in data.contexts_by_lineno(file).items():
                    tests[path][line].update(ids)
        return {
            path: {line: sorted(ids) for line, ids in lines.items()}
            for path, lines in tests.items()
        }


def _record(tests: str, room: Path, folder: Path) -> int:
    recording = Recording(room, folder)
    status = pytest.main(
        [*PYTEST, '-o', 'timeout=0', tests],
        plugins=[recording, Progress(folder / 'last')],
    )
    inside = f'{Path.cwd()}{os.sep}'
    libraries = [
        name
        for name, module in list(sys.modules.items())
        if not (getattr(module, '__file__', None) or inside).startswith(inside)
    ]
    answer = Record(recording.durations, recording.end(), libraries)._asdict()
    (folder / 'answer').write_text(json.dumps(answer))
    return status


def _run(tests: str, limits: dict[str, float], folder: Path) -> int:
    # Those of the copy are from before the change.
    sys.dont_write_bytecode = True
    files = dict.fromkeys(test.split('::', 1)[0] for test in limits)
    return pytest.main(
        [*PYTEST, *(files or [tests])], plugins=[Choice(limits), Progress(folder / 'last')]
    )


def _fork(tests: str, request: dict[str, Any], folder: Path) -> tuple[int, str]:
    """Serve a request in a process of its own: its exit status, and what it printed."""
    chosen = request.get('chosen', {})
    output = folder / 'output'
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setsid()
            sink = os.open(output, os.O_WRONLY | os.O_CREAT)
            for stream in (1, 2):
                os.dup2(sink, stream)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            if 'room' in request:
                status = _record(tests, Path(request['room']), folder)
            else:
                status = _run(tests, chosen, folder)
            sys.stdout.flush()
        finally:
            # Threads that tests have left behind must not keep it.
            os._exit(status)
    # The time limit of a test does not act where a library keeps the interpreter.
    deadline = time.monotonic() + (PATIENCE + sum(chosen.values()) if chosen else 3600.0)
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        # Processes that its tests have left behind.
        os.killpg(child, signal.SIGKILL)
    return status, output.read_text(errors='replace')


def main() -> None:
    """Serve requests, one a line, until there are no more."""
    tests = sys.argv[1]
    # Libraries may print.
    answers = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        answer: dict[str, Any] = {}
        for library in request.get('libraries', ()):
            with contextlib.suppress(Exception):
                importlib.import_module(library)
        if 'libraries' not in request:
            with tempfile.TemporaryDirectory() as folder:
                answer = _serve(tests, request, Path(folder))
        print(json.dumps(answer), file=answers, flush=True)


def _serve(tests: str, request: dict[str, Any], folder: Path) -> dict[str, Any]:
    status, output = _fork(tests, request, folder)
    last = folder / 'last'
    if status != 0:
        return {'failed': last.read_text() if last.exists() else tests, 'output': output}
    return json.loads((folder / 'answer').read_text()) if 'room' in request else {}


if __name__ == '__main__':
    main()
