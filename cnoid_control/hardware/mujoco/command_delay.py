"""Commands that arrive late."""

from __future__ import annotations

from collections import deque

from cnoid_control.body import Body
from cnoid_control.body.channels import COMMAND_CHANNELS


class CommandDelay:
    """Shows whoever takes over the joint commands of a body older ones.

    Attributes:
        ticks: how many ticks they are older; 0 for none.
    """

    def __init__(self, body: Body, delay: float, period: float) -> None:
        """Prepare.

        Args:
            body: the robot.
            delay: age of the commands when they are taken over [s].
            period: of the ticks [s].
        """
        self.ticks = round(delay / period)
        self._arrays = [body.joint_arrays[channel.command] for channel in COMMAND_CHANNELS]
        self.reset()

    def reset(self) -> None:
        """Forget what is on its way."""
        self._under_way: deque[list] = deque(maxlen=self.ticks + 1)

    def take(self) -> None:
        """Take over the commands of a tick, and show old ones in their place until `give_back`.

        Before the delay has passed it is the oldest.
        """
        self._under_way.append([array.copy() for array in self._arrays])
        self.show()

    def show(self) -> None:
        """Show old commands again, without a new tick."""
        self._present = [array.copy() for array in self._arrays]
        if self._under_way:
            for array, old in zip(self._arrays, self._under_way[0], strict=True):
                array[:] = old

    def give_back(self) -> None:
        """Put the present commands back."""
        for array, value in zip(self._arrays, self._present, strict=True):
            array[:] = value
