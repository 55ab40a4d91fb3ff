"""Runs of shipped configurations for tests of controllers."""

from __future__ import annotations

import io
from typing import Any

from cnoid_control.plugin import SimpleController
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.loop import ControlLoop


def open_loop(name: str, **overrides: Any) -> ControlLoop:
    """Loop of a shipped configuration, opened; keys of overrides have __ for dots."""
    changes = {key.replace('__', '.'): value for key, value in overrides.items()}
    loop = make_loop(load_config(name, changes), os=io.StringIO())
    loop.open()
    return loop


def run_for(loop: ControlLoop, seconds: float) -> None:
    """Take ticks for so long, or until control() ends it."""
    for _ in range(round(seconds / loop.hardware.time_step)):
        if not loop.step():
            break


def main_controller(loop: ControlLoop) -> SimpleController:
    """The first controller of a loop."""
    return loop.host.controllers[0].controller
