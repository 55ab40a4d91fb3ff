"""Classes that leave something to be said by others cannot be made themselves."""

import importlib
import inspect

import pytest

BASES = [
    'controllers.composition.conditions:Condition',
    'controllers.estimators.estimator:Estimator',
    'runtime.safety.limit_rules:CommandGroup',
    'hardware.hardware:Hardware',
    'ros.sim.commands:CommandInput',
    'ros.sim.devices:DevicePublisher',
    'ros.robot.device_readers:TopicReader',
]


@pytest.mark.parametrize('base', BASES)
def test_a_base_cannot_be_made(base: str) -> None:
    """What is missing is named when somebody tries, not when it is called."""
    name, _, kind = base.partition(':')
    if name.startswith('ros.'):
        pytest.importorskip('rclpy', reason='needs ROS 2')
    found = getattr(importlib.import_module(f'cnoid_control.{name}'), kind)
    assert inspect.isabstract(found)
    with pytest.raises(TypeError, match='abstract'):
        found()
