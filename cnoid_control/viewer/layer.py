"""Base of what is drawn over a robot and switched on and off."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cnoid_control.body import Body
from cnoid_control.viewer import figures
from cnoid_control.viewer.frame import Frame


@dataclass
class Stage:
    """Where layers are drawn.

    Attributes:
        scene: viser's scene.
        body: the robot in the moment that is shown, with forward kinematics done.
        size: size of the robot [m].
    """

    scene: Any
    body: Body
    size: float

    @property
    def force_scale(self) -> float:
        """Length of an arrow per force [m/N]."""
        return figures.force_scale(self.body, self.size)

    @property
    def least_force(self) -> float:
        """Forces up to this one are not drawn [N]."""
        return figures.LEAST_SHARE * self.body.mass * 9.80665


class Layer(abc.ABC):
    """One thing that can be shown.

    Its nodes are made when there is something to show for the first time.

    Attributes:
        label: name of its switch.
        hint: one line on what is shown.
        is_on: whether it is shown.
    """

    label: ClassVar[str]
    hint: ClassVar[str] = ''
    starts_on: ClassVar[bool] = True

    def __init__(self, stage: Stage) -> None:
        """Prepare; nothing is drawn yet."""
        self.stage = stage
        self.is_on = self.starts_on
        self._nodes: dict[str, Any] = {}

    @abc.abstractmethod
    def draw(self, frame: Frame) -> None:
        """Draw what a frame has of it."""

    def show(self, frame: Frame) -> None:
        """Draw a frame where the layer is on."""
        if self.is_on:
            self.draw(frame)

    def switch(self, on: bool, frame: Frame | None = None) -> None:
        """Show it, or hide it, from now on."""
        self.is_on = on
        if not on:
            for node in self._nodes.values():
                node.visible = False
        elif frame is not None:
            self.draw(frame)

    def _arrows(self, name: str, arrows: np.ndarray, color: tuple[int, int, int]) -> None:
        """Draw arrows, shape (n, 2, 3), in the place of those that were drawn before."""
        if self._hidden(name, len(arrows)):
            return
        size = self.stage.size
        if name not in self._nodes:
            self._nodes[name] = self.stage.scene.add_arrows(
                name,
                arrows,
                color,
                shaft_radius=0.006 * size,
                head_radius=0.016 * size,
                head_length=0.04 * size,
            )
        self._put(name, points=np.asarray(arrows, dtype=np.float32))

    def _lines(
        self, name: str, lines: np.ndarray, color: tuple[int, int, int], thickness: float = 0.005
    ) -> None:
        """Draw segments, shape (n, 2, 3), in the place of those that were drawn before."""
        if self._hidden(name, len(lines)):
            return
        if name not in self._nodes:
            self._nodes[name] = self.stage.scene.add_line_segments(
                name, lines, color, thickness=thickness * self.stage.size
            )
        self._put(name, points=np.asarray(lines, dtype=np.float32))

    def _ball(
        self, name: str, position: np.ndarray, radius: float, color: tuple[int, int, int]
    ) -> None:
        if name not in self._nodes:
            self._nodes[name] = self.stage.scene.add_icosphere(
                name, radius=radius * self.stage.size, color=color, cast_shadow=False
            )
        self._put(name, position=position)

    def _put(self, name: str, **values: Any) -> None:
        node = self._nodes[name]
        for key, value in values.items():
            setattr(node, key, value)
        node.visible = True

    def _hidden(self, name: str, count: int) -> bool:
        """Whether there is nothing to draw; what was drawn before is hidden then."""
        if not count and name in self._nodes:
            self._nodes[name].visible = False
        return not count
