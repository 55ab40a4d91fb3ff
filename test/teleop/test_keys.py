"""Keys as sticks and buttons."""

from __future__ import annotations

import numpy as np

from cnoid_control.controllers.joystick import ENABLE_BUTTON
from cnoid_control.plugin.mailbox import Joy
from cnoid_control.teleop.keys import KeySticks
from cnoid_control.teleop.twists import twist_of


def pressed(joy: Joy) -> set[int]:
    """Numbers of the buttons that are held."""
    return {i for i, button in enumerate(joy.buttons) if button}


def test_held_keys_are_sticks_and_enable() -> None:
    """A stick is out while its key is held; opposite keys cancel; digits are buttons."""
    keys = KeySticks()
    assert (keys.joy.axes.tolist(), pressed(keys.joy)) == ([0.0] * 5, set())
    for key in ('w', 'a', 'right', 'up', '7'):
        keys.press(key)
    assert keys.joy.axes.tolist() == [1.0, 1.0, 0.0, -1.0, 1.0]
    assert pressed(keys.joy) == {7, ENABLE_BUTTON}
    keys.press('s')
    keys.release('a')
    keys.release('7')
    assert keys.joy.axes.tolist() == [0.0, 0.0, 0.0, -1.0, 1.0]
    for key in ('w', 's', 'right', 'up'):
        keys.release(key)
    assert (keys.joy.axes.tolist(), pressed(keys.joy)) == ([0.0] * 5, set())
    keys.press('enter')
    assert (keys.joy.axes.tolist(), pressed(keys.joy)) == ([0.0] * 5, {ENABLE_BUTTON})


def test_latched_keys_move_sticks_that_stay() -> None:
    """Each press is a tenth, up to the end; x and the stop bring all to the middle."""
    keys = KeySticks(latched=True)
    for _ in range(3):
        keys.press('w')
        keys.release('w')
    keys.press('e')
    keys.release('e')
    assert keys.joy.axes.tolist() == [0.0, 0.3, 0.0, -0.1, 0.0]
    assert pressed(keys.joy) == {ENABLE_BUTTON}
    for _ in range(20):
        keys.press('s')
    assert keys.joy.axes[1] == -1.0
    for key in ('x', 'space', 'esc'):
        keys.press('w')
        keys.press(key)
        assert (keys.joy.axes.tolist(), pressed(keys.joy)) == ([0.0] * 5, set())


def test_sticks_are_twists_while_the_button_is_held() -> None:
    """Left stick forwards and sideways, right stick turning, by the speeds at full stick."""
    keys = KeySticks()
    ahead = np.array([0.8, 0.4, 2.0])
    assert twist_of(keys.joy, ahead) is None
    for key in ('w', 'd', 'q'):
        keys.press(key)
    twist = twist_of(keys.joy, ahead)
    assert twist is not None
    assert twist.linear.tolist() == [0.8, -0.4, 0.0]
    assert twist.angular.tolist() == [0.0, 0.0, 2.0]
    released = Joy(axes=np.array([0.5]), buttons=(0,))
    assert twist_of(released, ahead) is None
    always = twist_of(released, ahead, enable_button=-1)
    assert always is not None
    assert always.linear.tolist() == [0.0, 0.2, 0.0]
