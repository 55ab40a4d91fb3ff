"""A node that is told to end while it configures itself."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from cnoid_control.ros.node.control_node import SUCCESS, ControlNode
from cnoid_control.ros.raw_dds import CONTEXT_ERRORS


@pytest.mark.parametrize(
    ('is_ok', 'level', 'message'),
    [
        (False, 'info', 'configure: given up, since the node is to end'),
        (True, 'error', 'cannot configure: InvalidHandle: gone'),
    ],
)
def test_a_context_that_is_gone_is_no_error(is_ok: bool, level: str, message: str) -> None:
    """Nothing is wrong where a signal came; a context error without one is told as it is."""
    said: list[tuple[str, str]] = []
    logger = SimpleNamespace(
        info=lambda text: said.append(('info', text)),
        error=lambda text: said.append(('error', text)),
    )
    node: Any = SimpleNamespace(
        context=SimpleNamespace(ok=lambda: is_ok),
        get_logger=lambda: logger,
        _transition=threading.Lock(),
    )

    def transition() -> None:
        raise CONTEXT_ERRORS[0]('gone')

    assert ControlNode._attempt(node, 'configure', transition) != SUCCESS
    assert said == [(level, message)]
    assert not node._transition.locked()
