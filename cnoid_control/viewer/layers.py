"""Layers over a robot that are switched on and off one by one."""

from __future__ import annotations

import abc
from collections import deque
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pinocchio as pin

from cnoid_control.body import Body, Link
from cnoid_control.body.devices import Camera
from cnoid_control.viewer import figures
from cnoid_control.viewer.frame import Frame
from cnoid_control.viewer.moments import base_estimate, tasks_of
from cnoid_control.viewer.robot_nodes import RobotNodes, wxyz

TRAIL_LENGTH = 600
# Height of what lies on the ground above it [m].
ABOVE_GROUND = 2e-3
# Movement from which a trail goes on [m].
TRAIL_STEP = 2e-3
TRAIL_COLORS = ((230, 60, 60), (50, 120, 230), (40, 160, 80), (200, 120, 20), (150, 60, 190))


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


class Contacts(Layer):
    """Forces on the robot where it touches something."""

    label = 'contact forces'
    hint = 'arrows where the robot is touched; its own weight is as long as the robot'

    def draw(self, frame: Frame) -> None:
        """Draw an arrow per contact point."""
        arrows = figures.contact_arrows(
            frame.contacts, self.stage.force_scale, self.stage.least_force
        )
        self._arrows('/contacts', arrows, (220, 60, 40))


class ForceSensors(Layer):
    """Forces that force sensors measure."""

    label = 'force sensors'
    hint = 'arrows at the sensors, in the scale of the contact forces'
    starts_on = False

    def draw(self, frame: Frame) -> None:
        """Draw an arrow per sensor."""
        arrows = figures.sensor_arrows(self.stage.body, frame, self.stage.force_scale)
        self._arrows('/force_sensors', arrows, (150, 60, 190))


class Balance(Layer):
    """Centre of mass, its projection, and what the robot stands on."""

    label = 'centre of mass'
    hint = 'with its projection to the ground, and the support polygon of the contacts'

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self.is_on = not stage.body.is_fixed_root

    def draw(self, frame: Frame) -> None:
        """Draw the centre of mass; the polygon where there are contacts."""
        body = self.stage.body
        if body.is_fixed_root:
            self._ball('/com', body.calc_center_of_mass(), 0.02, (250, 190, 30))
            return
        center = body.calc_center_of_mass()
        polygon = figures.support_polygon(frame.contacts, self.stage.least_force)
        ground = np.array([center[0], center[1], polygon[0, 2] if len(polygon) else 0.0])
        inside = len(polygon) > 2 and is_inside(ground[:2], polygon[:, :2])
        color = (40, 150, 70) if inside else (210, 50, 40)
        self._ball('/com', center, 0.02, (250, 190, 30))
        self._ball('/com_ground', ground, 0.012, (250, 190, 30))
        self._lines('/com_line', np.array([[center, ground]]), (250, 190, 30), 0.003)
        # Above the ground, which would hide it.
        lifted = polygon + np.array([0.0, 0.0, ABOVE_GROUND])
        self._lines('/support', figures.closed_line(lifted), color)
        if '/support' in self._nodes:
            self._nodes['/support'].colors = np.array(color, dtype=np.uint8)
        self._fill(lifted, color)

    def _fill(self, polygon: np.ndarray, color: tuple[int, int, int]) -> None:
        if self._hidden('/support_area', len(polygon) > 2):
            return
        faces = figures.fan(len(polygon))
        if '/support_area' not in self._nodes:
            self._nodes['/support_area'] = self.stage.scene.add_mesh_simple(
                '/support_area',
                polygon,
                faces,
                color=color,
                opacity=0.25,
                side='double',
                cast_shadow=False,
                receive_shadow=False,
            )
        self._put(
            '/support_area',
            vertices=polygon.astype(np.float32),
            faces=faces.astype(np.uint32),
            color=color,
        )


def is_inside(point: np.ndarray, polygon: np.ndarray) -> bool:
    """Whether a point is in a convex polygon with its corners counter-clockwise."""
    edges = np.roll(polygon, -1, axis=0) - polygon
    to_point = point - polygon
    return bool((edges[:, 0] * to_point[:, 1] - edges[:, 1] * to_point[:, 0] >= 0.0).all())


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
        if pose is None:
            for node in self._nodes.values():
                node.visible = False
            return
        self._place_root(pose[:3, :3], pose[:3, 3])
        self._twin.q[:] = self.stage.body.q
        self._draw_twin()


class Targets(Layer):
    """Target frame of each task, and how far it is."""

    label = 'task targets'
    hint = 'the target frame of each task, with a line to what is moved there and its error'

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._shown: set[str] = set()

    def draw(self, frame: Frame) -> None:
        """Draw the tasks that have a target."""
        shown = set()
        for name, task in tasks_of(frame.log).items():
            if not task.active or not task.target.size:
                continue
            path = f'/tasks/{name.replace("/", "_")}'
            shown |= {path, f'{path}_error', f'{path}_label'}
            position = task.target[:3, 3] if task.target.ndim == 2 else task.target[:3]
            self._axes(path, task.target, position)
            text = f'{name.rpartition("/")[2]}: {np.linalg.norm(task.error):.3g}'
            self._label(f'{path}_label', text, position)
            moved = task.frame[:3, 3] if task.frame.ndim == 2 else task.frame[:3]
            line = np.array([[moved, position]]) if moved.size else np.zeros((0, 2, 3))
            self._lines(f'{path}_error', line, (220, 60, 40), 0.004)
        for path in self._shown - shown:
            if path in self._nodes:
                self._nodes[path].visible = False
        self._shown = shown

    def _axes(self, path: str, target: np.ndarray, position: np.ndarray) -> None:
        if path not in self._nodes:
            size = self.stage.size
            self._nodes[path] = self.stage.scene.add_frame(
                path, axes_length=0.12 * size, axes_radius=0.006 * size, origin_radius=0.015 * size
            )
        turn = wxyz(target[:3, :3]) if target.ndim == 2 else np.array([1.0, 0.0, 0.0, 0.0])
        self._put(path, position=position, wxyz=turn)

    def _label(self, path: str, text: str, position: np.ndarray) -> None:
        if path not in self._nodes:
            self._nodes[path] = self.stage.scene.add_label(path, text)
        self._put(path, text=text, position=position)


class Trails(Layer):
    """Ways that chosen links have gone.

    Attributes:
        links: the links by name.
    """

    label = 'trails'
    hint = 'the way that the origins of chosen links have gone'

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self.links: dict[str, Link] = {}
        self._points: dict[str, deque[np.ndarray]] = {}
        self._time = 0.0

    def add(self, name: str) -> None:
        """Follow one more link."""
        self.links[name] = self.stage.body.link(name)
        self._points[name] = deque(maxlen=TRAIL_LENGTH)

    def clear(self) -> None:
        """Follow none."""
        for node in self._nodes.values():
            node.remove()
        self._nodes.clear()
        self.links.clear()
        self._points.clear()

    def show(self, frame: Frame) -> None:
        """Follow the links, drawn or not."""
        if frame.time < self._time:
            for points in self._points.values():
                points.clear()
        self._time = frame.time
        for name, link in self.links.items():
            points = self._points[name]
            if not points or np.linalg.norm(points[-1] - link.p) > TRAIL_STEP:
                points.append(link.p.copy())
        super().show(frame)

    def draw(self, frame: Frame) -> None:
        """Draw the ways."""
        del frame  # The ways were noted before.
        for i, (name, points) in enumerate(self._points.items()):
            line = figures.open_line(np.array(points).reshape(-1, 3))
            path = f'/trails/{name.replace("/", "_")}'
            self._lines(path, line, TRAIL_COLORS[i % len(TRAIL_COLORS)], 0.004)


class JointLimits(Layer):
    """A bar on each joint, coloured by the limit that acts on it."""

    label = 'joint limits'
    hint = (
        'a bar on every joint: green, yellow near a limit, and red (position), orange '
        '(velocity), violet (effort), blue (acceleration) where a limit acts'
    )
    starts_on = False

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._joints = [joint for joint in stage.body.joints if joint.joint_type.has_displacement]

    def draw(self, frame: Frame) -> None:
        """Draw the bars along the joints' axes."""
        if not self._joints:
            return
        positions = np.array([joint.p for joint in self._joints])
        turns = np.array([bar_turn(joint.R @ joint.joint_axis) for joint in self._joints])
        ids = [joint.joint_id for joint in self._joints]
        colors = figures.joint_colors(self.stage.body, frame)[ids]
        if '/limits' not in self._nodes:
            import trimesh

            size = self.stage.size
            bar = trimesh.creation.cylinder(0.014 * size, 0.13 * size, sections=16)
            self._nodes['/limits'] = self.stage.scene.add_batched_meshes_simple(
                '/limits',
                bar.vertices,
                bar.faces,
                turns,
                positions,
                batched_colors=colors,
                cast_shadow=False,
            )
        self._put(
            '/limits',
            batched_positions=positions.astype(np.float32),
            batched_wxyzs=turns.astype(np.float32),
            batched_colors=colors,
        )


def bar_turn(axis: np.ndarray) -> np.ndarray:
    """Quaternion w x y z that turns the Z axis to an axis."""
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), np.asarray(axis))
    x, y, z, w = turn.coeffs()
    return np.array([w, x, y, z])


class Sights(Layer):
    """Camera images in front of their cameras, and the points of range sensors."""

    label = 'cameras and lidar'
    hint = 'camera images in the scene, and what range sensors see'

    def draw(self, frame: Frame) -> None:
        """Draw what came with the frame."""
        points = figures.seen_points(self.stage.body, frame)
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
                self._frustum(camera, image)

    def _frustum(self, camera: Camera, image: np.ndarray) -> None:
        path = f'/cameras/{camera.name.replace("/", "_")}'
        if path not in self._nodes:
            self._nodes[path] = self.stage.scene.add_camera_frustum(
                path,
                fov=camera.vertical_field_of_view,
                aspect=camera.width / camera.height,
                scale=0.25 * self.stage.size,
                cast_shadow=False,
            )
        link = camera.link
        assert link is not None  # It is on a body.
        # viser's cameras look along Z with Y down.
        axes = link.R @ camera.R_optical @ np.diag([1.0, -1.0, -1.0])
        _, origin = figures.device_pose(camera)
        self._put(path, image=rgb(image), position=origin, wxyz=wxyz(axes))


def rgb(image: np.ndarray) -> np.ndarray:
    """Colour image of a colour or a grey one, shape (h, w, 3)."""
    return np.repeat(image[:, :, None], 3, axis=2) if image.ndim == 2 else image


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
