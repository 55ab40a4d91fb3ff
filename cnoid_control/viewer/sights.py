"""Layer of what cameras and range sensors see."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from cnoid_control.body.devices import Camera
from cnoid_control.viewer import figures
from cnoid_control.viewer.frame import Frame
from cnoid_control.viewer.layer import Layer, Stage
from cnoid_control.viewer.robot_nodes import wxyz

# Wall-clock time between two images [s], and their largest width [pixel].
PICTURE_PERIOD, PICTURE_WIDTH = 0.2, 480
# Points of range sensors that are shown.
MAX_POINTS = 20_000


class Sights(Layer):
    """Camera images in front of their cameras and in the panel, and points of range sensors.

    Attributes:
        pictures: images in the panel by the camera's name, once there are any.
    """

    label = 'cameras and lidar'
    hint = 'camera images in the scene and below, and what range sensors see'

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self.pictures: dict[str, Any] = {}
        self._panel: tuple[Any, Any] | None = None
        self._next = 0.0

    def add_pictures(self, gui: Any) -> None:
        """Have a place for images in the panel that is open; it is there once there are any."""
        if list(self.stage.body.devices_of(Camera)):
            self._panel = gui, gui.add_folder('Cameras', visible=False)

    def draw(self, frame: Frame) -> None:
        """Draw what came with the frame; it is much to send, so not all of it."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + PICTURE_PERIOD
        points = figures.seen_points(self.stage.body, frame)
        points = points[:: -(-len(points) // MAX_POINTS) or 1]
        if not self._hidden('/points', len(points)):
            if '/points' not in self._nodes:
                self._nodes['/points'] = self.stage.scene.add_point_cloud(
                    '/points',
                    points.astype(np.float32),
                    (30, 140, 220),
                    point_size=0.012 * self.stage.size,
                    precision='float32',
                )
            self._put('/points', points=points.astype(np.float32))
        for camera in self.stage.body.devices_of(Camera):
            image = frame.devices.get(camera.name, {}).get('image')
            if image is not None and image.size:
                image = small(rgb(image))
                self._frustum(camera, image)
                self._show_picture(camera.name, image)

    def _show_picture(self, name: str, image: np.ndarray) -> None:
        if name in self.pictures:
            self.pictures[name].image = image
        elif self._panel is not None:
            gui, folder = self._panel
            folder.visible = True
            with folder:
                self.pictures[name] = gui.add_image(image, label=name)

    def _frustum(self, camera: Camera, image: np.ndarray) -> None:
        path = f'/cameras/{camera.name.replace("/", "_")}'
        if path not in self._nodes:
            self._nodes[path] = self.stage.scene.add_camera_frustum(
                path,
                fov=camera.vertical_field_of_view,
                aspect=camera.width / camera.height,
                scale=0.12 * self.stage.size,
                thickness=0.003 * self.stage.size,
                cast_shadow=False,
            )
        link = camera.link
        assert link is not None  # It is on a body.
        # viser's cameras look along Z with Y down.
        axes = link.R @ camera.R_optical @ np.diag([1.0, -1.0, -1.0])
        _, origin = figures.device_pose(camera)
        self._put(path, image=image, position=origin, wxyz=wxyz(axes))


def rgb(image: np.ndarray) -> np.ndarray:
    """Colour image of a colour or a grey one, shape (h, w, 3)."""
    return np.repeat(image[:, :, None], 3, axis=2) if image.ndim == 2 else image


def small(image: np.ndarray) -> np.ndarray:
    """Image with every n-th pixel, so that it is at most `PICTURE_WIDTH` wide."""
    step = -(-image.shape[1] // PICTURE_WIDTH)
    return np.ascontiguousarray(image[::step, ::step])
