"""Draw the pictures of walks in docs/images: a robot at several moments, beside each other.

python tools/draw_walk.py [NAME] [OUT.png]
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cnoid_control.hardware.mujoco.picture import View, save_picture
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config

IMAGES = Path(__file__).resolve().parent.parent / 'docs' / 'images'


@dataclass(frozen=True)
class Walk:
    """A walk and how it is drawn.

    Attributes:
        moments: times at which the robot is drawn [s].
        apart: distance between two of them, across the walk [m].
        view: the camera.
    """

    moments: tuple[float, ...]
    apart: float
    view: View


WALKS = {
    'sr1_walk': Walk(
        (3.3, 5.65, 8.0, 10.35),
        0.85,
        View((6.2, -1.6, 1.9), (0.25, 1.24, 0.74), field_of_view=0.31, size=(420, 900)),
    ),
    'trotter_walk': Walk(
        (0.5, 2.1, 3.72, 5.3),
        0.55,
        View((5.2, -2.2, 1.5), (0.9, 0.88, 0.19), field_of_view=0.2, size=(290, 900)),
    ),
}


def main(name: str, path: Path) -> None:
    """Walk in simulation, keep the robot of each moment, and draw them all."""
    walk = WALKS[name]
    loop = make_loop(load_config(name))
    loop.begin()
    bodies = []
    for place, moment in enumerate(walk.moments):
        while loop.hardware.time < moment:
            loop.step()
        body = loop.hardware.body.clone()
        body.root_link.p = body.root_link.p + np.array([0.0, walk.apart * place, 0.0])
        body.calc_forward_kinematics()
        bodies.append(body)
    loop.close()
    path.parent.mkdir(parents=True, exist_ok=True)
    save_picture(path, bodies, walk.view)


if __name__ == '__main__':
    which = sys.argv[1] if len(sys.argv) > 1 else 'sr1_walk'
    main(which, Path(sys.argv[2]) if len(sys.argv) > 2 else IMAGES / f'{which}.png')
