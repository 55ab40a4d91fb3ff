"""A controller with an option that a page shows as a slider."""

from __future__ import annotations

from dataclasses import dataclass

from cnoid_control import parameter
from cnoid_control.controllers.sr1.minimum import SR1MinimumController


@dataclass
class SofterParameters:
    """Options."""

    softness: float = parameter(
        0.0, 'share of the torque that is left out', unit='1', minimum=0.0, maximum=0.5
    )
    note: str = parameter('', 'a text', read_only=True)


class Softer(SR1MinimumController):
    """Stands as the smallest controller does, a bit softer."""

    Parameters = SofterParameters

    def initialize(self, io) -> bool:
        """Take the option."""
        self.softness = io.parameters.softness
        return super().initialize(io)

    def control(self) -> bool:
        """Command less torque."""
        go_on = super().control()
        self.body.u[:] *= 1.0 - self.softness
        return go_on

    def update_parameters(self, old, new) -> None:
        """Follow the option."""
        self.softness = new.softness
