"""Draw the README's picture: SR1 at several moments of one walk, beside each other.

python tools/draw_walk.py [OUT.png]
"""

import sys
from pathlib import Path

import numpy as np

from cnoid_control.hardware.mujoco.picture import View, save_picture
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config

MOMENTS = (3.3, 5.65, 8.0, 10.35)
OUT = Path(__file__).resolve().parent.parent / 'docs' / 'images' / 'sr1_walk.png'


def main(path: Path) -> None:
    """Walk in simulation, keep the robot of each moment, and draw them all."""
    loop = make_loop(load_config('sr1_walk'))
    loop.open()
    bodies = []
    for place, moment in enumerate(MOMENTS):
        while loop.hardware.time < moment:
            loop.step()
        body = loop.hardware.body.clone()
        body.root_link.p = body.root_link.p + np.array([0.0, 0.85 * place, 0.0])
        body.calc_forward_kinematics()
        bodies.append(body)
    loop.close()
    path.parent.mkdir(parents=True, exist_ok=True)
    view = View((6.2, -1.6, 1.9), (0.25, 1.24, 0.74), field_of_view=0.31, size=(420, 900))
    save_picture(path, bodies, view)


if __name__ == '__main__':
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUT)
