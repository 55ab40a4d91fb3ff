"""Layers that show the robot once more: its reference posture, its estimated base."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from cnoid_control.viewer.frame import Frame
from cnoid_control.viewer.layer import Layer, Stage
from cnoid_control.viewer.moments import base_estimate
from cnoid_control.viewer.robot_nodes import RobotNodes


class _Ghost(Layer):
    """The robot once more, seen through."""

    path: ClassVar[str]
    color: ClassVar[tuple[int, int, int]]
    starts_on = False

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._twin = stage.body.clone()
        self._robot: RobotNodes | None = None

    def _draw_twin(self) -> None:
        self._twin.calc_forward_kinematics()
        if self._robot is None:
            self._robot = RobotNodes(
                self.stage.scene, self._twin, self.path, color=self.color, opacity=0.35
            )
            self._nodes[self.path] = self._robot.root
        self._robot.move(self._twin)
        self._robot.root.visible = True

    def _place_root(self, rotation: np.ndarray, position: np.ndarray) -> None:
        self._twin.root_link.p, self._twin.root_link.R = position, rotation


class Reference(_Ghost):
    """The posture that is commanded, at the measured place of the root."""

    label = 'reference posture'
    hint = 'a ghost of the robot in its commanded joint positions'
    path = '/reference'
    color = (60, 120, 230)

    def draw(self, frame: Frame) -> None:
        """Draw the ghost in the target posture."""
        if frame.q_target.size != self.stage.body.num_joints:
            return
        root = self.stage.body.root_link
        self._place_root(root.R, root.p)
        self._twin.q[:] = np.where(np.isfinite(frame.q_target), frame.q_target, frame.q)
        self._draw_twin()


class Estimate(_Ghost):
    """Where the base estimator believes the robot to be."""

    label = 'estimated base'
    hint = 'a ghost of the robot where the base estimator believes it to be'
    path = '/estimate'
    color = (240, 150, 30)

    def draw(self, frame: Frame) -> None:
        """Draw the ghost at the estimated pose."""
        pose = base_estimate(frame.log)
        if pose is None or not np.isfinite(pose).all():
            for node in self._nodes.values():
                node.visible = False
            return
        self._place_root(pose[:3, :3], pose[:3, 3])
        self._twin.q[:] = self.stage.body.q
        self._draw_twin()
