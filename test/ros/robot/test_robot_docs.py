"""What docs/ros2_control.md says of the options."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from cnoid_control.ros.robot.parameters import CommandParameters, Ros2ControlParameters


@pytest.mark.parametrize('schema', [CommandParameters, Ros2ControlParameters])
def test_every_option_is_documented(root: Path, schema: type) -> None:
    """By its name, as one writes it."""
    text = (root / 'docs' / 'ros2_control.md').read_text(encoding='utf-8')
    assert [one.name for one in fields(schema) if f'`{one.name}' not in text] == []
