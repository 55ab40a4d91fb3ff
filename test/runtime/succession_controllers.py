"""Controllers that end, fail and stand, for the tests of successions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cnoid_control import SimpleController, StateFlag
from cnoid_control.parameters import parameter


class Clip(SimpleController):
    """Commands a constant effort, and comes to an end of some kind."""

    @dataclass
    class Parameters:
        """Options."""

        effort: float = parameter(1.0, 'effort of all joints')
        ticks: int = parameter(20, 'ticks until its end; 0 for none')
        end: str = parameter('end', 'how it ends', choices=('end', 'raise', 'nan', 'huge'))
        by: str = parameter('effort', 'command mode', choices=('effort', 'position'))
        refuse: bool = parameter(False, 'whether initialize() fails')

    def initialize(self, io) -> bool:
        """Command efforts."""
        self.body, self.given, self.tick = io.body, io.parameters, 0
        for joint in self.body.joints:
            by_effort = self.given.by == 'effort'
            joint.actuation_mode = (
                StateFlag.JOINT_EFFORT if by_effort else StateFlag.JOINT_DISPLACEMENT
            )
            io.enable_io(joint)
        return not self.given.refuse

    def control(self) -> bool:
        """Command the effort."""
        self.tick += 1
        self.body.u[:] = self.given.effort
        if not self.given.ticks or self.tick <= self.given.ticks:
            return True
        if self.given.end == 'raise':
            raise RuntimeError('broken')
        if self.given.end == 'end':
            return False
        self.body.u[:] = np.nan if self.given.end == 'nan' else 1e9
        return True
