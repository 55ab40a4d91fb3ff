"""The robots that the tests of the body run on."""

import pytest
from body.models import ROBOTS, shake

from cnoid_control.body import Body


@pytest.fixture(params=ROBOTS, ids=lambda pair: f'{pair[0].__name__}-{pair[1].value}')
def body(request: pytest.FixtureRequest) -> Body:
    """Return SR1 or the robot with every kind of joint, free or fixed, in random motion."""
    maker, root = request.param
    robot: Body = maker(root)
    shake(robot)
    return robot
