"""How the framework's time grows with joints, devices and robots: 1 is in proportion."""

from __future__ import annotations

from cnoid_control.bench.growth import Case, exponent, tick_times
from cnoid_control.bench.row import MetricRow

JOINTS = (6, 29, 60, 120)
DEVICES = (0, 7, 30)
ROBOTS = (1, 2, 4, 8, 16)
# The robot whose devices, or whose number, change: as large as SR1.
USUAL = Case(29, 7)
GOAL = 1.05


def by_joints() -> float:
    """Exponent over the joints of one robot."""
    cases = [USUAL._replace(joints=joints) for joints in JOINTS]
    times = tick_times(cases)
    return exponent(JOINTS, [times[case][0] for case in cases])


def by_devices() -> float:
    """Exponent over the devices of one robot, of what they cost in addition to none."""
    cases = [USUAL._replace(devices=devices) for devices in DEVICES]
    none, *more = (time for time, _ in tick_times(cases).values())
    return exponent(DEVICES[1:], [time - none for time in more])


def by_robots() -> float:
    """Exponent over the robots in one world, of what they all cost."""
    cases = [USUAL._replace(robots=robots) for robots in ROBOTS]
    times = tick_times(cases)
    return exponent(ROBOTS, [times[case][0] for case in cases])


REFERENCE = 'in proportion: exponent 1'
ROWS = (
    MetricRow(
        'growth_joints',
        'framework time a tick, robots of 6, 29, 60 and 120 joints: exponent of a fit',
        REFERENCE,
        by_joints,
        '',
        goal=GOAL,
        needs='mujoco',
    ),
    MetricRow(
        'growth_devices',
        'framework time a tick of 7 and 30 devices: exponent of a fit',
        REFERENCE,
        by_devices,
        '',
        goal=GOAL,
        needs='mujoco',
        why='Each device crosses to the controller by itself, with its signals; the objects of '
        '30 devices no longer fit in the caches that 7 fit in.',
    ),
    MetricRow(
        'growth_robots',
        'framework time a tick, 1 to 16 robots in a world: exponent of a fit',
        REFERENCE,
        by_robots,
        '',
        goal=GOAL,
        needs='mujoco',
        why='The calls per robot stay the same; the objects of 16 robots no longer fit in the '
        'caches of a core, and less so the more the machine has to do besides.',
    ),
)
