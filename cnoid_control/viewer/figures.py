"""What is drawn over a robot, as points and colours: arrows, polygons, bars, clouds."""

from __future__ import annotations

import numpy as np

from cnoid_control.body import Body, Device
from cnoid_control.body.devices import ForceSensor, RangeCamera, RangeSensor
from cnoid_control.viewer.frame import Frame

# Colours of the joints' bars: nothing acts, something is near, and each kind of limit.
FREE, NEAR = (70, 170, 90), (235, 200, 40)
KIND_COLORS = {
    'position': (220, 40, 40),
    'velocity': (240, 130, 20),
    'effort': (190, 40, 190),
    'acceleration': (40, 110, 230),
}
OTHER_COLOR = (40, 40, 40)

# Share of its range from which a joint is near its end.
NEAR_SHARE = 0.95

# Forces below this share of the robot's weight are not drawn.
LEAST_SHARE = 1e-4


def force_scale(body: Body, size: float) -> float:
    """Length of an arrow per force [m/N]: the robot's own weight is as long as the robot."""
    return size / max(body.mass * 9.80665, 1e-3)


def contact_arrows(contacts: np.ndarray, scale: float, least: float = 0.0) -> np.ndarray:
    """Arrows of the forces on the robot, world axes, shape (n, 2, 3).

    Args:
        contacts: rows of a frame.
        scale: length per force [m/N].
        least: forces up to this one are left out [N].
    """
    contacts = contacts[np.linalg.norm(contacts[:, 4:7], axis=1) > least]
    start = contacts[:, 1:4]
    return np.stack([start, start + scale * contacts[:, 4:7]], axis=1)


def sensor_arrows(body: Body, frame: Frame, scale: float) -> np.ndarray:
    """Arrows of the forces that force sensors measure, world axes, shape (n, 2, 3).

    Args:
        body: the robot, with forward kinematics done.
        frame: has the measurements.
        scale: length per force [m/N].
    """
    arrows = []
    for sensor in body.devices_of(ForceSensor):
        measured = frame.devices.get(sensor.name, {}).get('F')
        if measured is not None and np.isfinite(measured).all():
            rotation, start = device_pose(sensor)
            arrows.append([start, start + scale * rotation @ measured[:3]])
    return np.array(arrows).reshape(-1, 2, 3)


def device_pose(device: Device) -> tuple[np.ndarray, np.ndarray]:
    """Axes and origin of a device in the world, at the last kinematics."""
    link = device.link
    assert link is not None  # It is on a body.
    return link.R @ device.R_local, link.p + link.R @ device.p_local


def convex_hull(points: np.ndarray) -> np.ndarray:
    """Corners of the convex hull of points in the plane, counter-clockwise, shape (n, 2)."""
    ordered = np.unique(np.round(points, 9), axis=0)
    if len(ordered) < 3:
        return ordered

    def chain(line: np.ndarray) -> list[np.ndarray]:
        kept: list[np.ndarray] = []
        for point in line:
            while len(kept) > 1:
                (ax, ay), (bx, by) = kept[-1] - kept[-2], point - kept[-2]
                if ax * by - ay * bx > 0.0:
                    break
                kept.pop()
            kept.append(point)
        return kept[:-1]

    return np.array(chain(ordered) + chain(ordered[::-1]))


def support_polygon(contacts: np.ndarray, least: float = 0.0) -> np.ndarray:
    """Corners of what the robot stands on, world frame [m], shape (n, 3).

    The hull of the contacts that push upwards, seen from above, at the height of the lowest.

    Args:
        contacts: rows of a frame.
        least: contacts that push upwards with less than this are left out [N].
    """
    pushing = contacts[contacts[:, 6] > least]
    if not len(pushing):
        return np.zeros((0, 3))
    hull = convex_hull(pushing[:, 1:3])
    return np.column_stack([hull, np.full(len(hull), pushing[:, 3].min())])


def closed_line(points: np.ndarray) -> np.ndarray:
    """Segments of the line around a polygon, shape (n, 2, 3)."""
    return np.stack([points, np.roll(points, -1, axis=0)], axis=1)


def open_line(points: np.ndarray) -> np.ndarray:
    """Segments of the line through points, shape (n - 1, 2, 3)."""
    return np.stack([points[:-1], points[1:]], axis=1)


def fan(count: int) -> np.ndarray:
    """Triangles of a convex polygon with that many corners, shape (count - 2, 3)."""
    second = np.arange(1, count - 1)
    return np.column_stack([np.zeros_like(second), second, second + 1])


def joint_colors(body: Body, frame: Frame) -> np.ndarray:
    """Colour of each joint: that of a limit that acts on it, or how near one is, uint8 (n, 3)."""
    colors = np.tile(np.array(FREE, dtype=np.uint8), (body.num_joints, 1))
    colors[near_a_limit(body, frame)] = NEAR
    ids = {joint.joint_name: joint.joint_id for joint in body.joints}
    for kind, names in frame.limited.items():
        colors[[ids[name] for name in names if name in ids]] = KIND_COLORS.get(kind, OTHER_COLOR)
    return colors


def near_a_limit(body: Body, frame: Frame) -> np.ndarray:
    """Whether each joint has used up most of its range of displacement, speed or effort."""
    near = np.zeros(body.num_joints, dtype=bool)
    if frame.q.size == body.num_joints:
        middle, half = (body.q_upper + body.q_lower) / 2.0, (body.q_upper - body.q_lower) / 2.0
        limited = np.isfinite(half) & (half > 0.0)
        near[limited] |= np.abs(frame.q - middle)[limited] > NEAR_SHARE * half[limited]
    for values, lower, upper in (
        (frame.dq, body.dq_lower, body.dq_upper),
        (frame.u, body.u_lower, body.u_upper),
    ):
        if values.size == body.num_joints:
            near |= (values > NEAR_SHARE * upper) & (upper > 0.0)
            near |= (values < NEAR_SHARE * lower) & (lower < 0.0)
    return near


def seen_points(body: Body, frame: Frame) -> np.ndarray:
    """What range sensors and range cameras see, world frame [m], shape (n, 3)."""
    clouds = [np.zeros((0, 3))]
    for device in body.devices:
        values = frame.devices.get(device.name, {})
        local = None
        if isinstance(device, RangeCamera):
            local = values.get('points')
        elif isinstance(device, RangeSensor) and values.get('range_data') is not None:
            distances = values['range_data']
            if distances.size == len(device.directions):
                seen = np.isfinite(distances)
                local = device.directions[seen] * distances[seen, None]
        if local is not None and local.size:
            local = local[np.isfinite(local).all(axis=1)]
            rotation, origin = device_pose(device)
            clouds.append(local @ rotation.T + origin)
    return np.concatenate(clouds)
