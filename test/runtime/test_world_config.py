"""Files with several robots: what makes one, what it holds and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from cnoid_control.parameters import ParameterError
from cnoid_control.runtime.world_config import is_world, load_world

WORLD = """
/**:
  ros__parameters:
    rate: 250.0
    realtime_priority: 40
    robots:
      left: {config: pd, position: [0.0, 1.0]}
      right: {config: sr1_pd, controller: sr1_minimum}
"""


@pytest.fixture
def world(tmp_path: Path):
    """Give a function that writes a file."""

    def write(text: str = WORLD, name: str = 'world.yaml') -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_a_file_with_robots_is_a_world(world) -> None:
    """Neither a configuration of one robot, nor a model, nor what does not exist."""
    assert is_world(world())
    assert is_world(world(name='world.yml'))
    assert not is_world('sr1_pd')
    assert not is_world('sr1.urdf')
    assert not is_world(world(name='world.txt'))
    assert not is_world('no_such_world')


def test_robots_and_what_they_share(world) -> None:
    """Each robot with what was given for it, names as they are; what is for ROS is left out."""
    robots, shared = load_world(world(), {'robots.left.rpy': [0.0, 0.0, 1.0], 'duration': 3.0})
    assert robots == {
        'left': {'config': 'pd', 'position': [0.0, 1.0], 'rpy': [0.0, 0.0, 1.0]},
        'right': {'config': 'sr1_pd', 'controller': 'sr1_minimum'},
    }
    assert shared == {'rate': 250.0, 'duration': 3.0}


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'limits.enabled': False}, 'limits: unknown option; choose from: robots, rate'),
        ({'robots': 'left'}, 'robots: a map of robots by name expected'),
        ({'robots.left.controler': 'pd'}, r'robots\.left\.controler: unknown option'),
    ],
)
def test_wrong_values_are_refused_by_key(world, changes, message) -> None:
    """With the valid choices."""
    with pytest.raises(ParameterError, match=message):
        load_world(world(), changes)


def test_a_world_without_robots_is_refused(world) -> None:
    """An empty map is no world."""
    path = world('/**: {ros__parameters: {robots: {}}}')
    with pytest.raises(ParameterError, match='robots: a map of robots by name expected'):
        load_world(path, {})
