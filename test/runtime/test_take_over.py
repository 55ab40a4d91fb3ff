"""The take-over: one thread owns the robot at a time, in every order of events."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cnoid_control.runtime.safety.hang_monitor import Call

TAKE_OVERS = 2000


@pytest.fixture
def stress(root: Path, monkeypatch: pytest.MonkeyPatch):
    """Return the stress as a module."""
    monkeypatch.syspath_prepend(str(root / 'tools'))
    import take_overs

    return take_overs


def test_stress(stress) -> None:
    """Thousands of take-overs at random moments: nobody meets, and every tick has a command."""
    figures = stress.TakeOvers(TAKE_OVERS).run()
    print(stress.report(figures))
    assert figures.take_overs >= TAKE_OVERS
    assert figures.races_won > 0, 'some calls were closed by the controller, just in time'
    assert figures.is_clean, stress.report(figures)


def test_the_stress_finds_a_broken_close(stress, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where both sides win every call, the loser touches the robot after its loss."""
    monkeypatch.setattr(Call, 'close', lambda call: True)
    made = stress.TakeOvers(20)
    try:
        made.run()
    except Exception:
        # Two threads in one tick may find anything.
        made.figures.exceptions += 1
    finally:
        made.end()
    assert made.figures.late_touches > 0
    assert not made.figures.is_clean


# --- a model of the protocol, all of whose states are explored ----------------------------------

THREADS = 3
CALLS = 4
NEVER = -1


@dataclass(frozen=True)
class State:
    """State of all that takes part.

    Attributes:
        threads: where each loop thread is; '' where it was not started.
        own: the call that each of them has made last.
        open: which calls are not closed.
        call: the call that is shown to others; NEVER for none.
        made: number of calls so far.
        monitor, seen: where the monitor is, and the call that it has found too old.
        stopper, tried: where the one who ends the run is, and the call that it has seen.
        reset: whether a reset waits for the loop.
        asks: where the one who asks for a reset is.
        engaged: whether the safe state is engaged.
        stop, stop_monitor, done: the flags of the end.
        fault: what has gone wrong; '' for nothing.
    """

    threads: tuple[str, ...] = ('top', *[''] * (THREADS - 1))
    own: tuple[int, ...] = (NEVER,) * THREADS
    open: tuple[bool, ...] = (False,) * CALLS
    call: int = NEVER
    made: int = 0
    monitor: str = 'watch'
    seen: int = NEVER
    stopper: str = 'idle'
    tried: int = NEVER
    reset: bool = False
    asks: str = 'idle'
    engaged: bool = False
    stop: bool = False
    stop_monitor: bool = False
    done: bool = False
    fault: str = ''


def put(values: tuple, index: int, value) -> tuple:
    """Return the values with one replaced."""
    return (*values[:index], value, *values[index + 1 :])


class Model:
    """The protocol in atomic steps; `broken` names a mistake to build in."""

    # Where a loop thread does something with the robot or the loop.
    OWNING = ('top', 'read', 'write', 'leave', 'unwind')

    def __init__(self, broken: str = '') -> None:
        self.broken = broken

    def owners(self, state: State) -> list[str]:
        """Return who could touch the robot in this state."""
        found = [
            f'thread {i}'
            for i, place in enumerate(state.threads)
            if place in self.OWNING
            or (place in ('compute', 'close', 'set') and state.open[state.own[i]])
        ]
        if state.monitor in ('engage', 'spawn'):
            found.append('monitor')
        if state.stopper == 'owns':
            found.append('stopper')
        return found

    def close(self, state: State, call: int) -> tuple[bool, State]:
        """Close a call by test-and-set; whether this one has."""
        if not state.open[call]:
            return False, state
        return True, replace(state, open=put(state.open, call, False))

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield every next step with the state after it."""
        for i, place in enumerate(state.threads):
            yield from self.thread_steps(state, i, place)
        yield from self.monitor_steps(state)
        yield from self.stopper_steps(state)
        if state.asks == 'idle':
            yield 'reset asked for', replace(state, asks='asked', reset=True)

    def thread_steps(self, state: State, i: int, place: str) -> Iterator[tuple[str, State]]:
        """Yield the steps of one loop thread."""

        def go(to: str, **changes) -> tuple[str, State]:
            return f'thread {i}: {place}', replace(
                state, threads=put(state.threads, i, to), **changes
            )

        if place == 'top':
            if state.stop:
                yield go('leave')
            elif state.reset:
                yield go('read', reset=False, engaged=False)
            else:
                yield go('read')
        elif place == 'read':
            if state.engaged or state.made == CALLS:
                yield go('write')
            else:
                call = state.made
                yield go(
                    'compute',
                    own=put(state.own, i, call),
                    open=put(state.open, call, True),
                    call=call,
                    made=call + 1,
                )
        elif place == 'compute':
            # The only step that may never come: a controller need not return.
            yield 'returns', go('close')[1]
        elif place == 'close':
            if self.broken == 'test, then set':
                yield go('set' if state.open[state.own[i]] else 'lost')
            else:
                won, after = self.close(state, state.own[i])
                lost = 'unwind' if self.broken == 'clean-up on the way out' else 'lost'
                yield go('write' if won else lost, open=after.open)
        elif place == 'set':
            yield go('write', open=put(state.open, state.own[i], False))
        elif place == 'unwind':
            yield go('lost')
        elif place == 'write':
            yield go('top')
        elif place == 'leave':
            yield go('ended', done=True)
        elif place == 'lost':
            # It stops its own controllers.
            yield go('ended')

    def monitor_steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield the steps of the monitor."""
        if state.monitor == 'watch':
            if state.stop_monitor:
                yield 'monitor ends', replace(state, monitor='ended')
            elif state.call != NEVER and state.open[state.call]:
                yield 'too old', replace(state, monitor='close', seen=state.call)
        elif state.monitor == 'close':
            won, after = self.close(state, state.seen)
            if self.broken == 'test, then set' and state.open[state.seen]:
                yield 'monitor tests', replace(state, monitor='set')
            elif won:
                yield 'monitor wins', replace(after, monitor='engage')
            else:
                yield 'monitor loses', replace(state, monitor='watch', seen=NEVER)
        elif state.monitor == 'set':
            after = replace(state, open=put(state.open, state.seen, False))
            yield 'monitor sets', replace(after, monitor='engage')
        elif state.monitor == 'engage':
            yield 'safe state', replace(state, monitor='spawn', engaged=True)
        elif state.monitor == 'spawn' and '' in state.threads:
            threads = put(state.threads, state.threads.index(''), 'write')
            after = replace(state, threads=threads, monitor='watch', seen=NEVER)
            yield 'new thread', after

    def stopper_steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield the steps of the one who ends the run."""
        if state.stopper == 'idle':
            yield 'stop', replace(state, stopper='waits', stop=True)
        elif state.stopper == 'waits':
            if state.done:
                yield 'has ended', replace(state, stopper='owns')
            else:
                yield 'waits no more', replace(state, stopper='joins', stop_monitor=True)
        elif state.stopper == 'joins':
            if state.monitor == 'ended' or self.broken == 'no join':
                yield 'joined', replace(state, stopper='looks')
        elif state.stopper == 'looks':
            if state.done:
                yield 'has ended', replace(state, stopper='owns')
            elif state.call != NEVER:
                yield 'looks', replace(state, stopper='tries', tried=state.call)
        elif state.stopper == 'tries':
            if self.broken == 'stop does not close':
                yield 'takes', replace(state, stopper='owns')
                return
            won, after = self.close(state, state.tried)
            yield 'tries', replace(after, stopper='owns' if won else 'looks', tried=NEVER)
        elif state.stopper == 'owns':
            yield 'leaves the robot', replace(state, stopper='ended', done=True)


@dataclass
class Exploration:
    """All states of a model.

    Attributes:
        states: number of states.
        steps: number of steps between them.
        shared: states in which two own the robot.
        stuck: states from which the end cannot be reached unless a controller returns.
    """

    states: int
    steps: int
    shared: int
    stuck: int


def explore(model: Model, until_shared: bool = False) -> Exploration:
    """Visit every state that can be reached; or only until two own the robot."""
    start = State()
    before: dict[State, list[State]] = {start: []}
    queue = deque([start])
    steps = shared = 0
    while queue and not (until_shared and shared):
        state = queue.popleft()
        shared += len(model.owners(state)) > 1
        for name, after in model.steps(state):
            steps += 1
            if after not in before:
                before[after] = []
                queue.append(after)
            if name != 'returns':
                before[after].append(state)
    # Backwards from where the robot was left, without any controller having to return.
    safe = {state for state in before if state.stopper == 'ended'}
    queue = deque(safe)
    while queue:
        for earlier in before[queue.popleft()]:
            if earlier not in safe:
                safe.add(earlier)
                queue.append(earlier)
    return Exploration(len(before), steps, shared, len(before) - len(safe))


def test_every_state_of_the_protocol() -> None:
    """At most one owns the robot, and a run can be ended whatever the controllers do."""
    found = explore(Model())
    print(f'{found.states} states, {found.steps} steps')
    assert found.states > 1000
    assert found.shared == 0
    assert found.stuck == 0


@pytest.mark.parametrize(
    'broken', ['test, then set', 'clean-up on the way out', 'stop does not close']
)
def test_mistakes_in_the_protocol_are_found(broken: str) -> None:
    """A model with a mistake has states in which two own the robot."""
    assert explore(Model(broken), until_shared=True).shared > 0
