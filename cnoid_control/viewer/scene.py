"""The picture of a robot in its world, moved from frame to frame."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pinocchio as pin

from cnoid_control.body import Body, Link
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.runtime.config import RunConfig
from cnoid_control.viewer.frame import Frame
from cnoid_control.viewer.ghosts import Estimate, Reference
from cnoid_control.viewer.layer import Layer, Stage
from cnoid_control.viewer.layers import (
    Balance,
    Contacts,
    ForceSensors,
    JointLimits,
    Targets,
    Trails,
)
from cnoid_control.viewer.robot_nodes import RobotNodes, wxyz
from cnoid_control.viewer.sights import Sights
from cnoid_control.viewer.surfaces import surfaces, to_glb
from cnoid_control.viewer.world import Surroundings, Thing, surroundings

# From where the robot is seen at first, in sizes of it, and the opening angle [rad].
VIEWPOINT = np.array([1.25, -0.95, 0.45])
FIELD_OF_VIEW = np.radians(45.0)
# Quaternion w x y z that turns Z to Y.
UPRIGHT = (float(np.sqrt(0.5)), -float(np.sqrt(0.5)), 0.0, 0.0)
# Share of the way to the robot that the cameras go with every frame.
FOLLOW_SHARE = 0.2
# Share of the robot's size that it moves until the first view of it is another one.
AIM_SHARE = 0.2
GROUND_SIZE = 400.0
NO_LINK = '(choose a link)'

LAYERS: tuple[type[Layer], ...] = (
    Contacts,
    ForceSensors,
    Balance,
    Reference,
    Targets,
    Estimate,
    JointLimits,
    Sights,
    Trails,
)

# Told who has clicked, the link, the point in its axes [m] and the line of sight in the world.
Clicked = Callable[[Any, str, np.ndarray, np.ndarray], None]


def put_world(scene: Any, place: np.ndarray) -> None:
    """Have a place of the world where its origin was for the cameras, with the Z axis up.

    viser sets the axes of the world in this way, and has no call for its place.
    """
    from viser import _messages

    # The browser has Y up.
    x, y, z = place.tolist()
    scene._queue_scene_message(_messages.SetOrientationMessage('', UPRIGHT))
    scene._queue_scene_message(_messages.SetPositionMessage('', (-x, -z, y)))


class Scene:
    """The robot, what is around it, and the layers over it.

    Everything that is not in a frame is computed here from the frame: the loop that sends the
    frames does not pay for it.

    Attributes:
        body: the robot in the moment that is shown.
        robot: its nodes.
        things: nodes of what moves besides, by name.
        layers: what is drawn over it, by the labels of their switches.
        missing: what cannot be shown, one sentence each.
        follows: whether the cameras keep with the robot.
        size: size of the robot [m].
    """

    def __init__(self, server: Any, body: Body, config: RunConfig | None = None) -> None:
        """Send what does not change.

        Args:
            server: viser's server.
            body: the robot; its state is that of the frame shown last, from now on.
            config: the configuration, for what is around the robot; None where there is none.
        """
        self.body = body
        self._server = server
        # Frames come in one thread, what somebody switches in another.
        self._lock = threading.Lock()
        self._frame: Frame | None = None
        self.follows = not body.is_fixed_root
        self._start = body.root_link.p.copy()
        self._shift = np.zeros(3)
        self._shifted = np.zeros(3)
        body.calc_forward_kinematics()
        put_world(server.scene, np.zeros(3))
        server.scene.configure_default_lights(enabled=True, cast_shadow=True)
        self.robot = RobotNodes(server.scene, body)
        self.missing = list(self.robot.missing)
        self.things: dict[str, Any] = {}
        self._add_world(config)
        self.size = max(0.1, float(np.ptp(self.robot.bounds, axis=0).max()))
        stage = Stage(server.scene, body, self.size)
        made = [layer(stage) for layer in LAYERS]
        self.layers: dict[str, Layer] = {layer.label: layer for layer in made}
        self._middle = self.robot.bounds.mean(axis=0) - body.root_link.p
        self._aimed = np.full(3, np.inf)
        camera = server.initial_camera
        camera.fov = FIELD_OF_VIEW
        self._aim()

    # --- what does not change -----------------------------------------------------------------

    def _add_world(self, config: RunConfig | None) -> None:
        try:
            world = surroundings(self.body, config)
        except CnoidControlError as error:
            self.missing.append(f'what is around the robot: {error}')
            world = Surroundings(grounds=[np.eye(4)])
        for i, frame in enumerate(world.grounds):
            self._server.scene.add_grid(
                f'/ground_{i}' if i else '/ground',
                width=GROUND_SIZE,
                height=GROUND_SIZE,
                cell_size=0.5,
                section_size=1.0,
                cell_color=(205, 208, 214),
                section_color=(170, 175, 184),
                plane_color=(232, 235, 240),
                plane_opacity=1.0,
                shadow_opacity=0.35,
                fade_distance=40.0,
                position=frame[:3, 3],
                wxyz=wxyz(frame[:3, :3]),
            )
        for thing in world.things:
            self._add_thing(thing)

    def _add_thing(self, thing: Thing) -> None:
        meshes = []
        for shape in thing.shapes:
            try:
                meshes += surfaces(shape)
            except (OSError, ValueError) as error:
                self.missing.append(f'{thing.name}: {error}')
        if not meshes:
            return
        node = self._server.scene.add_glb(
            f'/world/{thing.name.replace("/", "_")}',
            to_glb(meshes),
            position=thing.position,
            wxyz=wxyz(thing.rotation),
        )
        if thing.moves:
            self.things[thing.name] = node

    def _aim(self) -> None:
        """Have who opens the page now, or resets the view, see the whole robot."""
        place = self.body.root_link.p
        if np.linalg.norm(place - self._aimed) < AIM_SHARE * self.size:
            return
        self._aimed = place.copy()
        distance = 0.75 * self.size / np.tan(FIELD_OF_VIEW / 2.0)
        camera = self._server.initial_camera
        camera.look_at = place + self._middle
        camera.position = camera.look_at + distance * VIEWPOINT / np.linalg.norm(VIEWPOINT)

    # --- every frame --------------------------------------------------------------------------

    def show(self, frame: Frame) -> None:
        """Move the robot and everything else to where a frame has it."""
        with self._lock:
            self._take(frame)
            self.robot.move(self.body)
            for name, node in self.things.items():
                pose = frame.things.get(name)
                if pose is not None:
                    node.position = pose[:3]
                    node.wxyz = pose[[6, 3, 4, 5]]
            for layer in self.layers.values():
                layer.show(frame)
            self._follow()
            self._aim()
            self._frame = frame

    def _take(self, frame: Frame) -> None:
        """Put the body into the state of a frame."""
        body = self.body
        if frame.q.size == body.num_joints and np.isfinite(frame.q).all():
            body.q[:] = frame.q
        if frame.root.size == 7 and np.isfinite(frame.root).all():
            body.root_link.p = frame.root[:3]
            body.root_link.R = pin.Quaternion(frame.root[3:].copy()).normalized().matrix()
        for index in self._free_links():
            pose = frame.things.get(body.links[index].name)
            if pose is not None:
                rotation = pin.Quaternion(pose[3:].copy()).normalized().matrix()
                body.set_free_pose(index, rotation, pose[:3].copy())
        body.calc_forward_kinematics()

    def _free_links(self) -> list[int]:
        return [
            link.index
            for link in self.body.links
            if link.parent is not None and link.joint_type.value == 'free'
        ]

    def _follow(self) -> None:
        """Keep the robot before the cameras: the world is moved under them.

        A camera that were moved instead would be where the browser has put it meanwhile.
        """
        if not self.follows:
            return
        # Steps of the robot shall not shake the picture.
        self._shift += FOLLOW_SHARE * (self.body.root_link.p - self._start - self._shift)
        offset = np.round(self._shift, 3)
        if not np.array_equal(offset, self._shifted):
            self._shifted = offset
            put_world(self._server.scene, offset)

    # --- controls -----------------------------------------------------------------------------

    def add_controls(self) -> None:
        """Add a switch for every layer to the panel that is open."""
        gui = self._server.gui
        follow = gui.add_checkbox('follow the robot', self.follows)
        follow.on_update(lambda _: setattr(self, 'follows', follow.value))
        for layer in self.layers.values():
            self._add_switch(gui, layer)
        self._add_trail_choice(gui)
        sights = self.layers[Sights.label]
        assert isinstance(sights, Sights)
        sights.add_pictures(gui)
        if self.missing:
            text = '\n'.join(f'- {sentence}' for sentence in self.missing)
            gui.add_markdown(f'**Not shown**\n{text}')

    def _add_switch(self, gui: Any, layer: Layer) -> None:
        box = gui.add_checkbox(layer.label, layer.is_on, hint=layer.hint)

        @box.on_update
        def _(_: Any) -> None:
            with self._lock:
                layer.switch(box.value, self._frame)

    def _add_trail_choice(self, gui: Any) -> None:
        trails = self.layers[Trails.label]
        assert isinstance(trails, Trails)
        names = [link.name for link in self.body.links]
        choice = gui.add_dropdown('trail of', [NO_LINK, *names], hint=trails.hint)
        clear = gui.add_button('Clear trails')

        @choice.on_update
        def _(_: Any) -> None:
            with self._lock:
                if choice.value != NO_LINK and choice.value not in trails.links:
                    trails.add(choice.value)

        @clear.on_click
        def _(_: Any) -> None:
            with self._lock:
                trails.clear()
            choice.value = NO_LINK

    def on_click(self, clicked: Clicked) -> None:
        """Have somebody told when a link is clicked."""
        for link in self.robot.links:
            self.robot.node(link).on_click(partial(self._clicked, clicked, link))

    def _clicked(self, clicked: Clicked, link: Link, event: Any) -> None:
        if event.ray_origin is None or event.ray_direction is None:
            return
        direction = np.array(event.ray_direction, dtype=float)
        # In the axes of the link.
        start = link.R.T @ (np.array(event.ray_origin, dtype=float) - link.p)
        point = self.robot.hit(link, start, link.R.T @ direction)
        clicked(event.client, link.name, point, direction)
