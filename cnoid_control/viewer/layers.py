"""Layers over a robot: forces, balance, targets, trails, limits."""

from __future__ import annotations

from collections import deque

import numpy as np
import pinocchio as pin

from cnoid_control.body import Link
from cnoid_control.viewer import figures
from cnoid_control.viewer.frame import Frame
from cnoid_control.viewer.layer import Layer, Stage
from cnoid_control.viewer.moments import tasks_of
from cnoid_control.viewer.robot_nodes import wxyz

TRAIL_LENGTH = 600
# Height of what lies on the ground above it [m].
ABOVE_GROUND = 2e-3
# Movement from which a trail goes on [m].
TRAIL_STEP = 2e-3
TRAIL_COLORS = ((230, 60, 60), (50, 120, 230), (40, 160, 80), (200, 120, 20), (150, 60, 190))


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
            places = (task.target, task.frame)
            if not task.active or not task.target.size or not finite(*places):
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


def finite(*arrays: np.ndarray) -> bool:
    """Whether all numbers of arrays are finite."""
    return all(bool(np.isfinite(array).all()) for array in arrays)


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
