"""Controllers for SR1, the sample humanoid."""

from cnoid_control.controllers.sr1.minimum import SR1MinimumController
from cnoid_control.controllers.sr1.walk import SR1WalkPatternController

__all__ = ['SR1MinimumController', 'SR1WalkPatternController']
