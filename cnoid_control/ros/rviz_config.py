"""Configuration of RViz for one robot."""

from __future__ import annotations

from typing import Any

import yaml

from cnoid_control.messages.frames import WORLD

# Distance from which a robot is seen as a whole [m], and height that is looked at [m].
DISTANCE, HEIGHT = 3.0, 0.5


def rviz_text(namespace: str, prefix: str, root: str, in_world: bool) -> str:
    """Text of a configuration that shows the robot, its frames and a grid.

    Args:
        namespace: namespace of the robot's topics.
        prefix: what the names of its frames begin with.
        root: its root link.
        in_world: whether somebody publishes where the root is in the frame `world`.
    """
    topics = f'/{namespace.strip("/")}'.rstrip('/')
    latched = {'Durability Policy': 'Transient Local', 'Reliability Policy': 'Reliable'}
    displays: list[dict[str, Any]] = [
        {'Class': 'rviz_default_plugins/Grid', 'Name': 'Grid', 'Enabled': True, 'Cell Size': 0.5},
        {
            'Class': 'rviz_default_plugins/RobotModel',
            'Name': 'Robot',
            'Enabled': True,
            'Description Source': 'Topic',
            'Description Topic': {'Value': f'{topics}/robot_description', **latched},
            'TF Prefix': prefix.rstrip('/'),
        },
        {'Class': 'rviz_default_plugins/TF', 'Name': 'Frames', 'Enabled': False},
    ]
    manager = {
        'Class': '',
        'Displays': displays,
        'Global Options': {
            'Fixed Frame': WORLD if in_world else f'{prefix}{root}',
            'Background Color': '238; 238; 238',
            'Frame Rate': 30,
        },
        'Tools': [
            {'Class': f'rviz_default_plugins/{name}'} for name in ('MoveCamera', 'FocusCamera')
        ],
        'Views': {
            'Current': {
                'Class': 'rviz_default_plugins/Orbit',
                'Distance': DISTANCE,
                'Focal Point': {'X': 0.0, 'Y': 0.0, 'Z': HEIGHT if in_world else 0.0},
                'Pitch': 0.4,
                'Yaw': 0.8,
                'Target Frame': '<Fixed Frame>',
            }
        },
    }
    return yaml.safe_dump({'Visualization Manager': manager}, sort_keys=False)
