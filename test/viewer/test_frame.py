"""Frames as bytes, and in memory that two processes share."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from cnoid_control.viewer.frame import Frame
from cnoid_control.viewer.moments import base_estimate, tasks_of
from cnoid_control.viewer.ring import CAPACITY, SLOTS, Ring


def made_frame(tick: int = 3) -> Frame:
    """Return a frame with something in each kind of field."""
    return Frame(
        time=0.25,
        tick=tick,
        state='running',
        reason='because',
        q=np.array([0.1, -2.0]),
        contacts=np.arange(14.0).reshape(2, 7),
        limited={'velocity': ['KNEE']},
        devices={'camera': {'image': np.arange(24, dtype=np.uint8).reshape(2, 4, 3)}},
        log={'pd/error': np.array([1.5])},
        things={'box': np.zeros(7)},
    )


def test_bytes_hold_everything():
    """A frame is the same after a way through its bytes, types and shapes included."""
    frame = made_frame()
    again = Frame.from_bytes(frame.to_bytes())
    for field in dataclasses.fields(Frame):
        before, after = getattr(frame, field.name), getattr(again, field.name)
        if isinstance(before, np.ndarray):
            np.testing.assert_array_equal(before, after)
            assert before.dtype == after.dtype
        elif field.name not in ('devices', 'log', 'things'):
            assert before == after
    np.testing.assert_array_equal(
        again.devices['camera']['image'], frame.devices['camera']['image']
    )
    assert again.devices['camera']['image'].dtype == np.uint8
    assert again.log['pd/error'] == [1.5]


@pytest.fixture
def ring():
    """Return a ring that is closed at the end."""
    made = Ring()
    yield made
    made.close()


def test_the_newest_frame_is_read(ring):
    """However many were written, the last one is there, and whole."""
    assert ring.read() is None
    for tick in range(3 * SLOTS):
        ring.write(made_frame(tick).to_bytes())
    assert Frame.from_bytes(ring.read()).tick == 3 * SLOTS - 1


def test_what_is_being_written_is_not_read(ring):
    """Who reads a slot whose end is another frame's than its beginning gets nothing."""
    ring.write(b'a' * 64)
    # A writer that has begun a frame in the slot, and not finished it.
    start = 4096 + ring.count % SLOTS * (CAPACITY + 4096)
    ring._memory[start : start + 8] = (99).to_bytes(8, 'little')
    assert ring.read() is None


def test_a_frame_that_is_too_large_is_counted(ring):
    """It is left out, and the one before stays."""
    ring.write(b'small')
    assert not ring.write(bytes(CAPACITY + 1))
    assert ring.too_large == 1
    assert ring.read() == b'small'


def test_another_process_reads_the_memory(ring):
    """The file descriptor is all that it needs."""
    ring.write(made_frame().to_bytes())
    code = (
        'import sys; from cnoid_control.viewer.ring import Ring; '
        'from cnoid_control.viewer.frame import Frame; '
        'print(Frame.from_bytes(Ring(int(sys.argv[1])).read()).reason)'
    )
    done = subprocess.run(
        [sys.executable, '-c', code, str(ring.fd)],
        pass_fds=(ring.fd,),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == 'because'


def test_tasks_and_the_base_are_found_in_the_log():
    """By the names that controllers log them under."""
    log = {
        'tasks/hand.error': np.zeros(6),
        'tasks/hand.target': np.eye(4).reshape(-1),
        'tasks/com.target': np.array([0.0, 0.0, 0.8]),
        'tasks/com.active': np.array([0.0]),
        'walker/base_estimate': np.eye(4).reshape(-1),
        'tasks/limited_by.joint_limits': np.array([1.0]),
    }
    tasks = tasks_of(log)
    assert set(tasks) == {'tasks/hand', 'tasks/com'}
    assert tasks['tasks/hand'].target.shape == (4, 4)
    assert not tasks['tasks/com'].active
    np.testing.assert_array_equal(base_estimate(log), np.eye(4))
    assert base_estimate({}) is None
