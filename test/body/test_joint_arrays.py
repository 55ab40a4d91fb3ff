"""The joint arrays of a body stay the arrays that everybody looks at."""

import numpy as np
import pytest

from cnoid_control.body import Body
from cnoid_control.body.description import BodyDescription, JointType, LinkDescription


@pytest.fixture
def body() -> Body:
    """Return a chain of three joints."""
    links = [LinkDescription('l0', joint_type=JointType.FREE)]
    for i in range(3):
        links.append(
            LinkDescription(f'l{i + 1}', f'l{i}', joint_type=JointType.REVOLUTE, joint_id=i)
        )
    return Body(BodyDescription('chain', links))


def test_assignment_writes_in_place(body: Body) -> None:
    """Assigning an array, a list or a number changes the values, not the array."""
    array = body.u
    body.u = np.array([1.0, 2.0, 3.0]) * 2
    assert body.u is array
    assert [joint.u for joint in body.joints] == [2.0, 4.0, 6.0]
    body.u = [1, 2, 3]
    assert array.tolist() == [1.0, 2.0, 3.0]
    body.u = 0.5
    assert array.tolist() == [0.5, 0.5, 0.5]
    body.u += 1.0
    assert body.u is array
    assert array.tolist() == [1.5, 1.5, 1.5]


@pytest.mark.parametrize(
    'value', [np.zeros(4), np.zeros((3, 1)), [1.0], None, 'fast', [[1, 2], [3]], {'a': 1}, 1j]
)
def test_wrong_sizes_and_types_are_refused(body: Body, value: object) -> None:
    """The message names the array; nothing is changed."""
    body.q_target[:] = [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match=r'body\.q_target has shape \(3,\)'):
        body.q_target = value
    assert body.q_target.tolist() == [1.0, 2.0, 3.0]


def test_arrays_cannot_be_resized(body: Body) -> None:
    """What a controller does to the size of an array fails at once."""
    with pytest.raises(ValueError, match='own'):
        body.u.resize(5)
