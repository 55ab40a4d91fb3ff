"""Pictures and films of recorded runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.rotations import rotation_matrix
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.mujoco.picture import AUTO, open_drawer
from cnoid_control.hardware.mujoco.picture_scene import PictureScene, Still
from cnoid_control.hardware.mujoco.picture_view import View
from cnoid_control.log import RunLog
from cnoid_control.runtime.replay import recorded_config
from cnoid_control.viewer.film_file import FILMS, open_film
from cnoid_control.viewer.shot import Shot

logger = logging.getLogger(__name__)

# A second run drawn over the first one.
GHOST = (0.95, 0.55, 0.15, 0.45)


@dataclass(frozen=True)
class FilmParameters:
    """What is drawn.

    Attributes:
        shot: the camera.
        begin, end: time of the first and of the last picture [s]; those of the log where None.
        rate: pictures per second of the film.
        speed: time of the run per time of the film.
        moments: times of one picture [s], each with a robot of its own; empty for a film, or for
            the last moment where the file is a picture.
        apart: distance between these robots, across the first one's way [m].
        renderer: 'auto', 'gl' or 'rays'.
    """

    shot: Shot = field(default_factory=Shot)
    begin: float | None = None
    end: float | None = None
    rate: float = 25.0
    speed: float = 1.0
    moments: tuple[float, ...] = ()
    apart: float = 0.0
    renderer: str = AUTO


@dataclass(frozen=True)
class Made:
    """What came of it.

    Attributes:
        pictures: number of pictures in the file.
        renderer: what has drawn them: 'gl' or 'rays'.
    """

    pictures: int
    renderer: str


def render(
    logs: Sequence[RunLog],
    path: Path,
    parameters: FilmParameters,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Made:
    """Draw a recorded run into a file; others are drawn over it as ghosts.

    Args:
        logs: the run, and others.
        path: the file: .png, .jpg, .gif or .mp4.
        parameters: what is drawn.
        progress: told how many pictures are done, and of how many.

    Raises:
        CnoidControlError: the file cannot be written, a time is not in the log, or a shape cannot
            be drawn.
    """
    is_film = path.suffix.lower() in FILMS
    if is_film and parameters.moments:
        raise CnoidControlError(f'{path}: moments are for one picture, and this is a film')
    if is_film:
        return _film(logs, path, parameters, progress)
    return _picture(logs, path, parameters)


def _film(
    logs: Sequence[RunLog],
    path: Path,
    given: FilmParameters,
    progress: Callable[[int, int], None],
) -> Made:
    first, last = logs[0].times[0], logs[0].times[-1]
    begin = first if given.begin is None else _within(logs[0], given.begin)
    end = last if given.end is None else _within(logs[0], given.end)
    if end < begin:
        raise CnoidControlError(f'it would end at {end:g} s, before it begins at {begin:g} s')
    step = given.speed / given.rate
    times = begin + step * np.arange(int((end - begin) / step + 1e-9) + 1)
    bodies = [log.body() for log in logs]
    _put(logs, bodies, float(times[0]))
    scene = RunScene(logs[0], bodies, len(logs))
    drawer = open_drawer(scene, given.renderer, given.shot.size)
    film = open_film(path, given.rate)
    try:
        views = _views(logs[0], bodies[0], times, given.shot, step)
        for number, time in enumerate(times.tolist()):
            _put(logs, bodies, time)
            scene.show(time)
            film.add(drawer.draw(views[number]))
            progress(number + 1, len(times))
    finally:
        drawer.close()
    film.close()
    return Made(len(times), drawer.name)


def _picture(logs: Sequence[RunLog], path: Path, given: FilmParameters) -> Made:
    moments = given.moments or (logs[0].times[-1] if given.end is None else given.end,)
    bodies: list[Body] = []
    for place, time in enumerate(moments):
        for log in logs:
            body = log.body()
            log.put(body, log.tick_at(_within(logs[0], time)))
            body.root_link.p = body.root_link.p + np.array([0.0, given.apart * place, 0.0])
            body.calc_forward_kinematics()
            bodies.append(body)
    scene = RunScene(logs[0], bodies, len(logs))
    scene.show(_within(logs[0], moments[-1]))
    roots = np.array([bodies[0].root_link.p])
    (view,) = given.shot.views([scene.corners()], roots, 0.0)
    drawer = open_drawer(scene, given.renderer, view.size)
    try:
        picture = drawer.draw(view)
    finally:
        drawer.close()
    film = open_film(path, given.rate)
    film.add(picture)
    film.close()
    return Made(1, drawer.name)


def _within(log: RunLog, time: float) -> float:
    first, last = float(log.times[0]), float(log.times[-1])
    # One tick of grace: a run of ten seconds has its last tick before them.
    grace = (last - first) / max(1, log.ticks - 1) + 1e-9
    if not first - grace <= time <= last + grace:
        raise CnoidControlError(
            f'{log.path}: {time:g} s is not in the log, which goes from {first:g} to {last:g} s'
        )
    return min(max(time, first), last)


def _put(logs: Sequence[RunLog], bodies: Sequence[Body], time: float) -> None:
    for log, body in zip(logs, bodies, strict=True):
        log.put(body, log.tick_at(time))


class RunScene(PictureScene):
    """Robots in the world of a recorded run."""

    def __init__(self, log: RunLog, bodies: Sequence[Body], logs: int) -> None:
        """Build the scene.

        Args:
            log: the run whose world it is.
            bodies: robots of so many logs in a row, again and again; but the first of them they
                are ghosts.
            logs: how many.
        """
        tints = [None if number % logs == 0 else GHOST for number in range(len(bodies))]
        self._log = log
        self._stills, floor = _world(log, bodies[0])
        super().__init__(bodies, list(self._stills.values()), tints, floor)

    def show(self, time: float) -> None:
        """Have the things where they were at a time [s], and the robots where they are now."""
        for name, pose in self._log.things(time).items():
            if name in self._stills:
                self._stills[name].position = pose[:3]
                self._stills[name].rotation = rotation_matrix(pose[3:])
        self.move()


def _world(log: RunLog, body: Body) -> tuple[dict[str, Still], bool]:
    """Things of the world that a run was in, by name, and whether it has the floor z = 0."""
    from cnoid_control.viewer.world import surroundings

    try:
        config = recorded_config(log.file)
        found = surroundings(body, config)
    except CnoidControlError as error:
        logger.warning('%s: what was around the robot is left out: %s', log.path, error)
        return {}, True
    things = {
        thing.name: Still(thing.name, thing.shapes, thing.position, thing.rotation)
        for thing in found.things
    }
    return things, any(np.allclose(ground, np.eye(4)) for ground in found.grounds)


def _views(log: RunLog, body: Body, times: np.ndarray, shot: Shot, step: float) -> list[View]:
    """View of every picture, from where the robot is in them."""
    ticks = np.array([log.tick_at(time) for time in times.tolist()])
    # Rising, as the log wants them: a slow film shows a tick more than once.
    chosen, back = np.unique(ticks, return_inverse=True)
    roots = log.rows(chosen)['root'][back, :3]
    scene = PictureScene([body])
    seen = []
    # The robot's outline changes little from one picture to the next.
    every = max(1, len(times) // 40)
    for number in range(0, len(times), every):
        log.put(body, int(ticks[number]))
        scene.move()
        corners = scene.corners() - np.append(roots[number, :2], 0.0)
        seen += [corners] * min(every, len(times) - number)
    placed = [c + np.append(root[:2], 0.0) for c, root in zip(seen, roots, strict=True)]
    return shot.views(placed, roots, step)
