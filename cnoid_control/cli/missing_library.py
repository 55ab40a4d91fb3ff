"""Libraries that are missing where only packages of ROS were installed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from cnoid_control.exceptions import CnoidControlError

# Modules that ROS's packages do not bring, and what does.
FROM_PIP = {
    'lz4': 'lz4',
    'mcap': 'mcap-ros2-support',
    'mcap_ros2': 'mcap-ros2-support',
    'mujoco': 'mujoco',
    'zstandard': 'zstandard',
}


@contextlib.contextmanager
def missing_modules_named() -> Iterator[None]:
    """Have a library that is not installed named with what installs it.

    Raises:
        CnoidControlError: a library of FROM_PIP is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = FROM_PIP.get((error.name or '').partition('.')[0])
        if package is None:
            raise
        raise CnoidControlError(
            f'this needs {error.name}, which is not installed: pip install {package}'
        ) from error
