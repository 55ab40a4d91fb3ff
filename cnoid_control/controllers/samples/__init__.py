"""Choreonoid's sample controllers."""

from cnoid_control.controllers.samples.circle import LinkForceController, LinkPositionController
from cnoid_control.controllers.samples.light_camera import LightCameraController
from cnoid_control.controllers.samples.pendulum import PendulumController
from cnoid_control.controllers.samples.pick_and_place import PickAndPlaceController
from cnoid_control.controllers.samples.spring import SpringController
from cnoid_control.controllers.samples.sub_controllers import (
    PartController,
    SubControllersController,
)

__all__ = [
    'LightCameraController',
    'LinkForceController',
    'LinkPositionController',
    'PartController',
    'PendulumController',
    'PickAndPlaceController',
    'SpringController',
    'SubControllersController',
]
