"""The log that nobody waits for."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from cnoid_control.ros.node.log import REMEMBERED, THROTTLE, NodeLog, Throttle


class Logger:
    """Keeps lines; writing may be held up."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.open = threading.Event()
        self.open.set()

    def __getattr__(self, level: str) -> Callable[..., None]:
        """Return what logs at a level."""

        def log(text: str, **options: float) -> None:
            self.open.wait(10.0)
            self.lines.append((level, text))

        return log


@pytest.fixture
def logger(ros_node, monkeypatch) -> Logger:
    """Return what stands in the place of the node's logger."""
    logger = Logger()
    monkeypatch.setattr(ros_node, 'get_logger', lambda: logger)
    return logger


def test_lines_come_in_order_and_at_their_level(ros_node, logger: Logger) -> None:
    """Text is logged by lines, whole ones, and everything is written at the end."""
    log = NodeLog(ros_node)
    log.error('a')
    log.warning('b')
    print('error: c', file=log)
    log.write('warning: d\ne')
    log.write('f\n\n')
    log.info('g')
    log.finish()
    assert logger.lines == [
        ('error', 'a'),
        ('warning', 'b'),
        ('error', 'c'),
        ('warning', 'd'),
        ('info', 'ef'),
        ('info', 'g'),
    ]


def test_nobody_waits_for_a_terminal_that_hangs(ros_node, logger: Logger) -> None:
    """Lines are taken while nothing can be written; the oldest are dropped when they are many."""
    logger.open.clear()
    log = NodeLog(ros_node)
    for i in range(5000):
        log.info(str(i))
    logger.open.set()
    log.finish()
    assert len(logger.lines) < 5000
    assert logger.lines[-1] == ('info', '4999')


def test_what_repeats_is_written_now_and_then_with_its_number() -> None:
    """Lines that differ by numbers alone are one; another line passes at once."""
    now = [0.0]
    throttle = Throttle(lambda: now[0])
    assert throttle.passes('no states for 51 ms') == 'no states for 51 ms'
    for k in range(9):
        now[0] += 0.1 * THROTTLE
        assert throttle.passes(f'no states for -{k}.5e+03 ms') == ''
        assert (throttle.passes('other') == 'other') == (k == 0)
    now[0] += 0.1 * THROTTLE
    assert throttle.passes('no states for 53 ms') == (
        'no states for 53 ms (9 more like this since the last one)'
    )
    for k in range(REMEMBERED):
        throttle.passes(f'line {"x" * k}')
    assert throttle.passes('no states for 1 ms') == 'no states for 1 ms', 'it was forgotten'


def test_errors_that_repeat_are_throttled(ros_node, logger: Logger) -> None:
    """Ten a second become one; what is not wrong is always written."""
    log = NodeLog(ros_node)
    for k in range(10):
        log.error(f'state_timeout: no joint states for {50 + k} ms')
        log.info(f'tick {k}')
    log.finish()
    assert [text for level, text in logger.lines if level == 'error'] == [
        'state_timeout: no joint states for 50 ms'
    ]
    assert sum(level == 'info' for level, _ in logger.lines) == 10
