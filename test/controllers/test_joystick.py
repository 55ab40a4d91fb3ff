"""The joystick: messages and script."""

from __future__ import annotations

import numpy as np
import pytest

from cnoid_control.body import Body
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.controllers.joystick import (
    Joystick,
    JoystickParameters,
    ScriptStage,
)
from cnoid_control.parameters import ParameterError
from cnoid_control.plugin import ControllerIO
from cnoid_control.plugin.mailbox import Joy, message_from_text, message_to_text


def make_joystick(**options: object) -> tuple[Joystick, ControllerIO]:
    """Make a joystick of a controller that stands at time 0."""
    controller_io = ControllerIO('c', Body(BodyDescription('b', [LinkDescription('root')])), 0.01)
    return Joystick(controller_io, JoystickParameters(**options), 'c.joystick'), controller_io  # type: ignore[arg-type]


def test_message_counts_until_the_timeout() -> None:
    """Sticks stand as the last message said, and are released when messages stop coming."""
    joystick, controller_io = make_joystick(timeout=0.2)
    mailbox = controller_io.mailboxes['joy']
    assert mailbox.topic == 'joy'
    joystick.read(0.0)
    assert joystick.axis(1) == 0.0
    mailbox.post(Joy(axes=np.array([0.1, 0.8]), buttons=(0, 1)))
    joystick.read(0.0)
    # The first stick is in the dead zone, the third does not exist.
    assert [joystick.axis(i) for i in range(3)] == [0.0, 0.8, 0.0]
    assert joystick.state.buttons == {1}
    assert joystick.was_pressed(1)
    joystick.read(0.19)
    assert (joystick.axis(1), joystick.is_down(1), joystick.was_pressed(1)) == (0.8, True, False)
    joystick.read(0.21)
    assert (joystick.axis(1), joystick.is_down(1)) == (0.0, False)


def test_message_takes_over_from_the_script() -> None:
    """The stages follow each other; after a message the script is over for good."""
    stages = {
        'back': ScriptStage(at=1.0, axes=[0.0, -1.0]),
        'ahead': ScriptStage(at=0.5, axes=[0.0, 1.0], buttons=[3]),
    }
    joystick, controller_io = make_joystick(source='script', script=stages)
    seen = []
    for time in (0.0, 0.5, 0.9, 1.0, 9.0):
        joystick.read(time)
        seen.append((joystick.axis(1), joystick.was_pressed(3)))
    assert seen == [(0.0, False), (1.0, True), (1.0, False), (-1.0, False), (-1.0, False)]
    controller_io.mailboxes['joy'].post(Joy(axes=np.array([0.0, 0.5])))
    joystick.read(9.0)
    assert joystick.axis(1) == 0.5
    joystick.read(20.0)
    assert joystick.axis(1) == 0.0


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        ({'source': 'script'}, r'c\.joystick\.script: a script needs at least one stage'),
        (
            {'source': 'script', 'script': {'a': ScriptStage(), 'b': ScriptStage()}},
            r"script\.b\.at: 0\.0 s is when 'a' begins",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(options: dict[str, object], words: str) -> None:
    """The option is named, and what is wrong with it."""
    with pytest.raises(ParameterError, match=words):
        make_joystick(**options)


def test_joy_survives_a_log() -> None:
    """The message is written to a log and read from it."""
    message = Joy(stamp=1.5, axes=np.array([0.25, -1.0]), buttons=(0, 1))
    again = message_from_text(Joy, message_to_text(message))
    np.testing.assert_array_equal(again.axes, message.axes)
    assert (again.stamp, again.buttons) == (1.5, (0, 1))
