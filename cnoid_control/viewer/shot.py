"""How pictures of a run are taken: from where, how large, what they follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cnoid_control.hardware.mujoco.picture_view import View

# Share of the way to the robot that the camera goes in a second, as a low-pass filter.
FOLLOWING = 2.0
# A robot that travels further than its own size is followed.
FOLLOWED_TRAVEL = 1.0


@dataclass(frozen=True)
class Shot:
    """The camera.

    Attributes:
        azimuth: direction from the robot to the camera, about Z from the X axis [rad].
        elevation: the same above the horizon [rad].
        distance: from what is looked at [m]; 0 for one that shows all of the robot.
        target: what is looked at, world frame [m]; None for the robot.
        follow: whether the camera goes with the robot; None for where it goes far.
        size: height and width of the pictures [pixel].
    """

    azimuth: float = 0.6
    elevation: float = 0.25
    distance: float = 0.0
    target: tuple[float, float, float] | None = None
    follow: bool | None = None
    size: tuple[int, int] = (480, 640)

    def views(self, corners: list[np.ndarray], roots: np.ndarray, step: float) -> list[View]:
        """View of each picture.

        Args:
            corners: points around the robot in each picture [m], shape (n, 3) each.
            roots: place of its root in each [m], shape (pictures, 3).
            step: time between two pictures [s].
        """
        spread = max(float(np.ptp(points, axis=0).max()) for points in corners)
        travel = float(np.ptp(roots[:, :2], axis=0).max()) if len(roots) else 0.0
        follow = self.follow
        if follow is None:
            follow = self.target is None and travel > FOLLOWED_TRAVEL * spread
        if not follow:
            view = self._framing(np.concatenate(corners))
            return [view] * len(corners)
        # As large in every picture as it needs at most.
        places = np.append(roots[:, :2], np.zeros((len(roots), 1)), axis=1)
        local = [points - place for points, place in zip(corners, places, strict=True)]
        view = self._framing(np.concatenate(local))
        return [_moved(view, place) for place in _smoothed(roots[:, :2], step)]

    def _framing(self, points: np.ndarray) -> View:
        view = View.framing(points, self.azimuth, self.elevation, self.size)
        target = np.array(view.target if self.target is None else self.target)
        offset = np.subtract(view.position, view.target)
        distance = self.distance or float(np.linalg.norm(offset))
        across, up = np.cos(self.elevation), np.sin(self.elevation)
        outward = np.array([across * np.cos(self.azimuth), across * np.sin(self.azimuth), up])
        place = target + distance * outward
        return View(_point(place), _point(target), view.field_of_view, self.size)


def _point(values: np.ndarray) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z


def _moved(view: View, place: np.ndarray) -> View:
    offset = np.append(place, 0.0)
    position, target = view.position + offset, view.target + offset
    return View(_point(position), _point(target), view.field_of_view, view.size)


def _smoothed(places: np.ndarray, step: float) -> np.ndarray:
    """Places without the sway of steps: filtered there and back, so that nothing lags."""
    share = 1.0 - np.exp(-FOLLOWING * step) if step > 0.0 else 1.0
    smooth = places.astype(float).copy()
    for order in (range(1, len(smooth)), range(len(smooth) - 2, -1, -1)):
        for i in order:
            before = smooth[i - 1] if order.step > 0 else smooth[i + 1]
            smooth[i] = before + share * (smooth[i] - before)
    return smooth
