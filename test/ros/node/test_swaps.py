"""Standing and walking take turns on SR1 through DDS, seen from the wire between two processes.

In lock-step a command depends on nothing but the states before it. So the test computes from the
states on the wire what either controller commands, and from that what the blend allows.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')
pytest.importorskip('mujoco', reason='needs MuJoCo')

from controller_manager_msgs.srv import ListControllers
from nav_msgs.msg import Odometry
from node_rig import CONTROLLERS, NodeRig
from wire_tap import ROBOT_WORDS, WireTap

from cnoid_control.body.formats.joint_motion import load_motion
from cnoid_control.share import shared_file

DT = 0.002
# Ticks of a take-over, and the part that the new controller has before the first and after each.
BLEND = 60
PART = np.polyval([-2.0, 3.0, 0.0, 0.0], np.arange(BLEND + 1) / BLEND)
LEG, ARM, WAIST = [8000.0] * 6, [3000.0] * 7, [8000.0] * 3
PGAIN, DGAIN = np.array([*LEG, *ARM, *LEG, *ARM, *WAIST]), 100.0
# Of commands of some hundred newton metres.
ROUNDING = 1e-7
OPTIONS = {
    'hardware.ros2_control.lock_step': 'true',
    'controller': 'sr1_minimum',
    'swap_blend_time': str(BLEND * DT),
    'allow_file_plugins': 'true',
}


@functools.cache
def walk() -> np.ndarray:
    """Joint displacements of the walk [rad], shape (ticks, joints)."""
    return load_motion(shared_file('motion', 'sr1_walk_1', '.npz')).resampled(DT)


@dataclass
class Turn:
    """The time in which one controller is called.

    Attributes:
        name: name of the controller.
        asked: ticks that had been taken when it was asked for.
        answered: ticks that had been taken when it was said to command.
        begin: its first tick.
        posture: the state from which it was initialized [rad].
    """

    name: str
    asked: int = 0
    answered: int = 0
    begin: int = 0
    posture: np.ndarray | None = None

    def commands(self, q: np.ndarray, end: int) -> np.ndarray:
        """What the controller commands in its ticks up to `end` [N m], from the states."""
        assert self.posture is not None
        now = q[self.begin : end]
        dq = np.diff(now, axis=0, prepend=self.posture[np.newaxis]) / DT
        if self.name == 'sr1_minimum':
            return (self.posture - now) * PGAIN - dq * DGAIN
        motion = walk()[: len(now)]
        dq_ref = np.diff(motion, axis=0, prepend=motion[:1]) / DT
        return (motion - now) * PGAIN + (dq_ref - dq) * DGAIN


def mix(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Commands in the ticks of a take-over, from those of the old and of the new controller."""
    part = PART[1:, np.newaxis]
    return (1.0 - part) * before + part * after


def find(old: Turn, new: Turn, q: np.ndarray, u: np.ndarray) -> None:
    """Find the tick in which the new one has begun, and the state from which."""
    # When it is said to command, its first tick may be under way.
    end = new.answered + 1
    strange = np.abs(u[old.begin : end] - old.commands(q, end)).max(axis=1) > ROUNDING
    begun = np.flatnonzero(strange[new.asked - old.begin :])
    assert begun.size, f'{new.name} has no part in the commands when it is said to have one'
    new.begin = new.asked + int(begun[0])
    end = new.begin + BLEND
    before = old.commands(q, end)[-BLEND:]

    def misfit(tick: int) -> float:
        new.posture = q[tick]
        return float(np.abs(u[new.begin : end] - mix(before, new.commands(q, end))).max())

    new.posture = q[min(range(new.asked - 1, new.begin), key=misfit)]


def check_steps(old: Turn, new: Turn, q: np.ndarray, u: np.ndarray) -> None:
    """In no tick of a take-over does a command step further than the blend allows."""
    end = new.begin + BLEND
    before, after = old.commands(q, end)[-BLEND - 1 :], new.commands(q, end)
    sent = u[new.begin - 1 : end]
    np.testing.assert_allclose(sent[1:], mix(before[1:], after), rtol=0.0, atol=ROUNDING)
    part, change = PART[:-1, np.newaxis], np.diff(PART)[:, np.newaxis]
    allowed = (1.0 - part) * np.abs(np.diff(before, axis=0))
    allowed += part * np.abs(np.diff(after, axis=0, prepend=after[:1]))
    allowed += change * np.abs(after - before[1:])
    assert (np.abs(np.diff(sent, axis=0)) <= allowed + ROUNDING).all()


@pytest.fixture
def tap(ros_node):
    """Return a tap on the wire between the robot and the node."""
    tap = WireTap(ros_node)
    yield tap
    tap.close()


@pytest.fixture
def rig(ros_node, spin_until, start_process, root, tap):
    """Return a rig with SR1, standing."""
    rig = NodeRig(ros_node, spin_until, start_process, root / 'config' / 'sr1_walk.yaml')
    rig.start_robot('-p', 'real_time_factor:=0.0', *ROBOT_WORDS)
    # A node that finds no controller_manager in time would command nobody.
    manager = ros_node.create_client(ListControllers, 'controller_manager/list_controllers')
    assert spin_until(manager.service_is_ready, timeout=60)
    rig.start_node(*(word for k, v in OPTIONS.items() for word in ('-p', f'{k}:={v}')))
    assert spin_until(lambda: tap.ticks > 50, timeout=90), rig.logs
    return rig


@pytest.mark.timeout(300)
def test_twenty_swaps_between_standing_and_walking(rig, tap):
    """SR1 does not fall, no tick is missed, no command steps further than the blend allows."""
    tilts = []

    def look(message: Odometry) -> None:
        turn = message.pose.pose.orientation
        tilts.append(np.degrees(2.0 * np.arcsin(np.hypot(turn.x, turn.y))))

    rig.node.create_subscription(Odometry, 'cnoid_control_mujoco/root', look, 10)

    def pass_ticks(count: int) -> None:
        end = tap.ticks + count
        assert rig.spin_until(lambda: tap.ticks >= end, timeout=60), rig.logs

    turns = [Turn('sr1_minimum')]
    for i in range(10):
        # Once it comes as far as the first step.
        for name, ticks in (('sr1_walk', 1000 if i == 4 else 70), ('sr1_minimum', 70)):
            turn = Turn(name, asked=tap.ticks)
            assert rig.set(controller=name) == (True, ''), rig.logs
            turn.answered = tap.ticks
            turns.append(turn)
            pass_ticks(ticks)
            if i % 5 == 0:
                success, reason = rig.set(controller=f'{CONTROLLERS}:Broken')
                assert not success
                assert 'no will to begin' in reason
                assert rig.get('controller') == name
                pass_ticks(20)
    tap.close()
    assert len(turns) == 1 + 20
    assert 'safe state' not in rig.log, rig.log
    assert max(tilts) < 10.0

    stamps = tap.stamps()
    assert stamps == list(range(stamps[0], stamps[0] + len(stamps) * 2_000_000, 2_000_000))
    assert tap.answered_stamps() == stamps
    assert len(tap.commands) == len(stamps)

    q, u = tap.positions(), tap.efforts()
    turns[0].posture = q[0]
    settled = 0
    for old, new in itertools.pairwise(turns):
        find(old, new, q, u)
        # Nothing but the old one has commanded before, whatever else was asked for.
        alone = old.commands(q, new.begin)[settled - old.begin :]
        np.testing.assert_allclose(u[settled : new.begin], alone, rtol=0.0, atol=ROUNDING)
        settled = new.begin + BLEND
        check_steps(old, new, q, u)
