"""Forces from outside that no controller commands."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from cnoid_control.hardware.mujoco.model import MujocoModel

# No step has this number.
FOREVER = 2**62


@dataclass
class Push:
    """One force for a time.

    Attributes:
        body: MuJoCo body that it acts on.
        point: where it acts, in the body's frame [m].
        force: world axes [N].
        steps: physics steps that it still acts for.
        start: physics step in which it begins, by the count of `Pushes`.
    """

    body: int
    point: np.ndarray
    force: np.ndarray
    steps: int
    start: int


class Pushes:
    """Forces that act on links for a time, at points that move with the links."""

    def __init__(self, mapping: MujocoModel, data: mujoco.MjData) -> None:
        """Prepare; nothing acts yet."""
        self._mapping, self._model, self._data = mapping, mapping.model, data
        # Those that act or will, the step that comes next, and the one in which there is work.
        self._acting: list[Push] = []
        self._step = self._next = 0
        self._forces = np.zeros(self._model.nv)

    def add(
        self, link: int, force: np.ndarray, point: np.ndarray | None, steps: int, wait: int = 0
    ) -> None:
        """Have a force act from the next physics step on, or later.

        Args:
            link: index of the link.
            force: world axes [N].
            point: in the link's frame [m]; its centre of mass where None.
            steps: number of physics steps.
            wait: physics steps until it begins.
        """
        body = int(self._mapping.links[link])
        place = self._model.body_ipos[body].copy() if point is None else np.array(point)
        start = self._step + wait
        self._acting.append(Push(body, place, np.array(force), steps, start))
        self._next = min(self._next, start)

    def clear(self) -> None:
        """Have nothing act any more."""
        self._acting.clear()
        self._step = self._next = 0
        self._withdraw()

    @property
    def active(self) -> bool:
        """Whether `apply` has something to do: a force acts, or has to be taken away."""
        return bool(self._acting) or bool(self._forces.any())

    def _withdraw(self) -> None:
        """Take away what `apply` has put in; what others have put in stays."""
        self._data.qfrc_applied[:] -= self._forces
        self._forces[:] = 0.0

    def apply(self) -> None:
        """Put the forces into the coming physics step."""
        step = self._step
        self._step = step + 1
        if step < self._next:
            return
        data = self._data
        self._withdraw()
        due = [push for push in self._acting if push.start <= step]
        for push in due:
            rotation = data.xmat[push.body].reshape(3, 3)
            place = data.xpos[push.body] + rotation @ push.point
            mujoco.mj_applyFT(
                self._model, data, push.force, np.zeros(3), place, push.body, self._forces
            )
            push.steps -= 1
        data.qfrc_applied[:] += self._forces
        self._acting = [push for push in self._acting if push.steps > 0]
        # After a step with a force there is one that takes it away.
        later = min((push.start for push in self._acting), default=FOREVER)
        self._next = self._step if due else max(later, self._step)
