"""Vehicles on tracks and wheels, and the joystick that they are driven by."""

from cnoid_control.controllers.joystick import Joystick
from cnoid_control.controllers.vehicles.car import CarController
from cnoid_control.controllers.vehicles.conveyor import ConveyorController
from cnoid_control.controllers.vehicles.differential import DifferentialDriveController
from cnoid_control.controllers.vehicles.tank import TankJoystickLightController

__all__ = [
    'CarController',
    'ConveyorController',
    'DifferentialDriveController',
    'Joystick',
    'TankJoystickLightController',
]
