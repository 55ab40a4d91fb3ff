"""Arrays that properties give: writing to an element takes effect, or raises."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from fake_hardware import two_joint_body

from cnoid_control.body import (
    AccelerationSensor,
    Body,
    Camera,
    Device,
    ForceSensor,
    Imu,
    JointPath,
    JointType,
    Link,
    PointLight,
    RangeCamera,
    RangeSensor,
    RateGyroSensor,
    SpotLight,
)
from cnoid_control.body.description import BodyDescription, LinkDescription

DEVICES: list[Device] = [
    AccelerationSensor('a'),
    Camera('c'),
    ForceSensor('f'),
    Imu('i'),
    PointLight('p'),
    RangeCamera('r'),
    RangeSensor('s'),
    RateGyroSensor('g'),
    SpotLight('l'),
]


def floating_arm() -> Body:
    """A free root that carries one joint and every device."""
    root = LinkDescription('root', joint_type=JointType.FREE)
    arm = LinkDescription('arm', 'root', joint_type=JointType.REVOLUTE, joint_id=0)
    arm.translation = np.array([0.0, 0.0, 0.5])
    return Body(BodyDescription('floating', [root, arm], [('arm', one) for one in DEVICES]))


def owners() -> dict[str, object]:
    """Everything whose properties a controller sees, by a name for the test."""
    body = floating_arm()
    found: dict[str, object] = {'root': body.link('root'), 'arm': body.link('arm'), 'body': body}
    found['path'] = JointPath(body.root_link, body.link('arm'))
    return found | {type(device).__name__: device for device in body.devices}


def array_values() -> list[tuple[str, str]]:
    """Owner and name of every array-valued property and attribute."""
    return [
        (owner, name)
        for owner, thing in owners().items()
        for name, value in inspect.getmembers(thing)
        if not name.startswith('_')
        and isinstance(value, np.ndarray)
        and value.size
        and value.dtype.kind == 'f'
    ]


@pytest.mark.parametrize(('owner', 'name'), array_values())
def test_an_element_that_is_written_is_not_lost(owner, name):
    """It is there when the property is read again, or writing raises."""
    thing = owners()[owner]
    array = getattr(thing, name)
    index = (0,) * array.ndim
    try:
        array[index] = 0.375
    except ValueError:
        return
    assert getattr(thing, name)[index] == 0.375


def test_root_pose_matrix_refuses_elements():
    """`root.T[0, 3] = 5` raises; a whole pose, p and its elements move the root and its links."""
    body = floating_arm()
    root = body.root_link
    with pytest.raises(ValueError, match='read-only'):
        root.T[0, 3] = 5.0
    T = root.T.copy()
    T[0, 3] = 5.0
    root.T = T
    body.calc_forward_kinematics()
    np.testing.assert_allclose(body.link('arm').p, [5.0, 0.0, 0.5])
    root.p[1] = -2.0
    body.calc_forward_kinematics()
    np.testing.assert_allclose(body.link('arm').p, [5.0, -2.0, 0.5])
    with pytest.raises(ValueError, match=r'root\.T needs shape \(4, 4\), got \(3, 4\)'):
        root.T = np.zeros((3, 4))


def test_position_is_another_name_of_the_pose():
    """Choreonoid has both."""
    assert Link.position is Link.T
    joint = two_joint_body().joint(0)
    np.testing.assert_array_equal(joint.position, joint.T)


def test_root_q_cannot_differ_from_the_root_axes():
    """Its quaternion is set through the root link alone."""
    body = floating_arm()
    with pytest.raises(ValueError, match='read-only'):
        body.root_q[3:] = [1.0, 0.0, 0.0, 0.0]
    body.root_link.rotation = ([0.0, 0.0, 1.0], np.pi)
    np.testing.assert_allclose(body.root_q[3:], [0.0, 0.0, 1.0, 0.0], atol=1e-12)


def test_a_colour_given_as_a_list_crosses():
    """What is assigned to a field of a device becomes numbers of the field's shape."""
    one, other = PointLight('l'), PointLight('l')
    one.color = [0.5, 0.25, 0.0]
    other.copy_state_from(one)
    np.testing.assert_array_equal(other.color, [0.5, 0.25, 0.0])
    one.color = [0.5, 0.25]
    with pytest.raises(ValueError, match=r'l\.color has shape \(3,\), got \(2,\)'):
        other.copy_state_from(one)
