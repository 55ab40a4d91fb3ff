"""The page itself, on a source in the test's own hands."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

pytest.importorskip('viser')

from view_rig import wait_until

from cnoid_control import load_robot
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.viewer.frame import RUNNING, Frame
from cnoid_control.viewer.page import Page
from cnoid_control.viewer.source import Description, Option


class FakeSource:
    """A source that can be made to fail."""

    def __init__(self) -> None:
        self.body = load_robot('arm')
        self.config = None
        self.shown = Frame(state=RUNNING, q=self.body.q.copy(), root=self.body.root_q.copy())
        self.described = Description(title='arm', controller='a', controllers=['a', 'b'])
        self.fails = False
        self.actions: list[tuple[str, dict[str, Any]]] = []

    def frame(self) -> Frame | None:
        """Return the frame that was set."""
        return self.shown

    def describe(self) -> Description:
        """Return the description that was set, or fail."""
        if self.fails:
            raise CnoidControlError('nobody answers')
        return self.described

    def act(self, action: str, **arguments: Any) -> str:
        """Note it."""
        self.actions.append((action, arguments))
        return 'done'

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def shown():
    """Return a source and the page of it, which is kept up to date."""
    source = FakeSource()
    page = Page(source, act=True)
    over = threading.Event()
    thread = threading.Thread(target=page.run, args=(over.is_set,))
    thread.start()
    yield source, page
    over.set()
    thread.join(30.0)
    assert not thread.is_alive()


def next_frame(source: FakeSource, revision: int = 0) -> None:
    """Have the source show another frame."""
    source.shown = Frame(
        state=RUNNING,
        tick=source.shown.tick + 1,
        revision=revision,
        q=source.body.q.copy(),
        root=source.body.root_q.copy(),
    )


def test_a_description_that_nobody_gives_is_asked_for_again(shown):
    """The page goes on meanwhile; no other frame is needed for it."""
    source, page = shown
    source.fails = True
    next_frame(source, 1)
    time.sleep(0.2)
    source.described = Description(
        title='arm',
        controller='b',
        controllers=['a', 'b'],
        options=[Option('b.gain', 1.0, 'float')],
    )
    source.fails = False
    wait_until(lambda: page.description.controller == 'b')


def test_a_frame_that_cannot_be_drawn_does_not_cost_the_page(shown, capsys, monkeypatch):
    """It is told once, and the next one is drawn."""
    source, page = shown
    drawn: list[int] = []

    def show(frame: Frame) -> None:
        if frame.tick < 5:
            raise RuntimeError('no pencil')
        drawn.append(frame.tick)

    monkeypatch.setattr(page.scene, 'show', show)

    def is_drawn() -> bool:
        next_frame(source)
        return bool(drawn)

    wait_until(is_drawn)
    assert capsys.readouterr().err.count('RuntimeError: no pencil') == 1


def test_a_page_that_may_not_act_asks_nothing_of_its_source():
    """Whoever calls it."""
    source = FakeSource()
    page = Page(source)
    try:
        with pytest.raises(CnoidControlError, match='read-only'):
            page.perform('estop')
        assert not source.actions
        page.may_act = True
        assert page.perform('push', link='hand') == 'done'
        assert source.actions == [('push', {'link': 'hand'})]
    finally:
        page.close()
