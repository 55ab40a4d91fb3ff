"""Replay: the same controller commands the same bits; a changed one is found out."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from cnoid_control import SimpleController, StateFlag
from cnoid_control.log.exceptions import LogError
from cnoid_control.log.writer import McapWriter
from cnoid_control.plugin.mailbox import JointTrajectory
from cnoid_control.plugin.trajectory_goal import FollowTrajectory
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config, parse_config
from cnoid_control.runtime.recorder import Recorder
from cnoid_control.runtime.replay import replay

CONTROLLER = """
import numpy as np
from cnoid_control import SimpleController, StateFlag


class Mine(SimpleController):
    def initialize(self, io):
        self.io = io
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
            io.enable_io(joint)
            io.enable_input(joint, StateFlag.JOINT_VELOCITY | StateFlag.JOINT_EFFORT)
        io.enable_input(io.body.root_link, StateFlag.LINK_POSITION | StateFlag.LINK_TWIST)
        for device in io.body.devices:
            if hasattr(device, 'F'):
                io.enable_input(device)
        self.q0 = io.body.q.copy()
        return True

    def control(self):
        body = self.io.body
        tilt = body.root_link.R[2, 0] + body.root_link.w[1]
        push = sum(device.F[2] for device in body.devices if hasattr(device, 'F')) * 1e-4
        body.u[:] = 8000.0 * (self.q0 - body.q) - 100.0 * body.dq + tilt + push
        body.u[:] += np.sin(self.io.current_time) * GAIN
        return True
"""


def record(path: Path, config, duration: float) -> None:
    """Run a config and record it."""
    loop = make_loop(config, os=io.StringIO())
    loop.recorder = Recorder(path, loop.hardware.body, config.to_text())
    outcome = loop.run(duration)
    assert outcome.reason == ''


@pytest.mark.parametrize('mode', ['torque', 'position', 'velocity'])
def test_recorded_walk_replays_to_identical_outputs(tmp_path, mode):
    """Every command of a walk comes out the same, to the bit, in every mode."""
    config = load_config('sr1_walk', {'sr1_walk.mode': mode})
    record(tmp_path / 'walk.mcap', config, 5.0)
    result = replay(tmp_path / 'walk.mcap', io.StringIO())
    assert result.identical, result
    assert (result.ticks, result.recorded_ticks) == (2500, 2500)


def test_run_that_reads_everything_replays(tmp_path):
    """Root pose, twist, efforts and force sensors are fed again, limits and all."""
    (tmp_path / 'mine.py').write_text(CONTROLLER.replace('GAIN', '1.0'))
    changes = {'controller': f'{tmp_path}/mine.py:Mine', 'limits.max_effort': 60.0}
    config = load_config('sr1_pd', changes)
    record(tmp_path / 'x.mcap', config, 0.5)
    result = replay(tmp_path / 'x.mcap', io.StringIO())
    assert result.identical, result
    assert result.ticks == 500


@pytest.mark.parametrize('name', ['link_force', 'link_position', 'sub_controllers', 'spring'])
def test_samples_replay(tmp_path, name):
    """Runs by wrenches, by root poses and by sub-controllers replay, with or without joints."""
    record(tmp_path / 'sample.mcap', load_config(name), 0.2)
    result = replay(tmp_path / 'sample.mcap', io.StringIO())
    assert result.identical, result
    assert result.ticks > 0


def test_changed_controller_is_found_out(tmp_path):
    """The first difference is named: tick, joint and both values."""
    source = tmp_path / 'mine.py'
    source.write_text(CONTROLLER.replace('GAIN', '1.0'))
    config = load_config('sr1_pd', {'controller': f'{source}:Mine'})
    record(tmp_path / 'x.mcap', config, 0.05)
    # sin(0) = 0: the first tick is still the same.
    source.write_text(CONTROLLER.replace('GAIN', '1.0000001'))
    result = replay(tmp_path / 'x.mcap', io.StringIO())
    assert not result.identical
    assert result.differing_ticks == 49
    assert result.first_difference.tick == 1
    assert result.first_difference.channel == 'u'
    difference = result.first_difference.replayed - result.first_difference.recorded
    assert difference == pytest.approx(np.sin(0.001) * 1e-7, rel=1e-2)
    assert 'u of RLEG_HIP_R was' in str(result.first_difference)


def test_controller_that_fails_now_is_reported(tmp_path):
    """The replay ends there, with the reason."""
    source = tmp_path / 'mine.py'
    source.write_text(CONTROLLER.replace('GAIN', '1.0'))
    config = load_config('sr1_pd', {'controller': f'{source}:Mine'})
    record(tmp_path / 'x.mcap', config, 0.05)
    source.write_text(CONTROLLER.replace('GAIN', 'missing'))
    result = replay(tmp_path / 'x.mcap', io.StringIO())
    assert not result.identical
    assert 'NameError' in result.outcome.reason


def test_controller_that_commands_something_else_is_refused(tmp_path):
    """Outputs of another kind cannot be compared."""
    source = tmp_path / 'mine.py'
    source.write_text(CONTROLLER.replace('GAIN', '1.0'))
    config = load_config('sr1_pd', {'controller': f'{source}:Mine'})
    record(tmp_path / 'x.mcap', config, 0.02)
    push = 'io.enable_output(io.body.root_link, StateFlag.LINK_EXT_WRENCH)\n        return True'
    source.write_text(CONTROLLER.replace('GAIN', '1.0').replace('return True', push, 1))
    result = replay(tmp_path / 'x.mcap', io.StringIO())
    assert not result.identical
    assert 'WAIST.F_ext' in result.outcome.reason


def test_controller_that_reads_more_is_refused(tmp_path):
    """What nobody read then was not recorded."""
    source = tmp_path / 'mine.py'
    source.write_text(CONTROLLER.replace('GAIN', '1.0'))
    config = load_config('sr1_pd', {'controller': f'{source}:Mine'})
    record(tmp_path / 'x.mcap', config, 0.02)
    more = 'io.enable_input(io.body.root_link, StateFlag.LINK_ACCELERATION)\n        return True'
    source.write_text(CONTROLLER.replace('GAIN', '1.0').replace('return True', more, 1))
    result = replay(tmp_path / 'x.mcap', io.StringIO())
    assert "'WAIST.dv' was not recorded" in result.outcome.reason


def test_log_of_something_else_is_refused(tmp_path):
    """An MCAP file that is not of a run."""
    McapWriter(tmp_path / 'x.mcap', {}).close()
    with pytest.raises(LogError, match='carries no configuration'):
        replay(tmp_path / 'x.mcap')


def test_messages_from_outside_are_replayed(tmp_path):
    """A trajectory that was posted while the robot stood is followed again in the replay."""
    config = load_config('trajectory')
    loop = make_loop(config, os=io.StringIO())
    loop.recorder = Recorder(tmp_path / 'x.mcap', loop.hardware.body, config.to_text())
    controller = loop.host.controllers[0]
    goal = FollowTrajectory(
        trajectory=JointTrajectory(
            names=('RARM_SHOULDER_P',), times=np.array([0.2]), positions=np.array([[0.3]])
        )
    )
    control = controller.controller.control
    ticks = []

    def posting() -> bool:
        ticks.append(len(ticks))
        if len(ticks) == 50:
            next(iter(controller.io.mailboxes.values())).post(goal)
        return control()

    controller.controller.control = posting
    assert loop.run(0.4).reason == ''
    joint = loop.hardware.body.joint('RARM_SHOULDER_P')
    assert joint.q == pytest.approx(0.3, abs=0.02)
    result = replay(tmp_path / 'x.mcap', io.StringIO())
    assert result.identical, result


class FromWhereItStarts(SimpleController):
    """Commands what depends on the state that it was initialized in, and places the root."""

    def initialize(self, io):
        self.body = io.body
        self.q_start = io.body.q.copy()
        self.place = io.body.root_link.p.copy()
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_DISPLACEMENT
            io.enable_io(joint)
        return True

    def control(self):
        self.body.q_target[:] = 0.5 * self.q_start + self.place[2]
        return True


def test_a_replay_begins_in_the_state_of_the_run(tmp_path):
    """Though the robot had been moved before the run began."""
    config = parse_config(
        {
            'robot': {'model': 'arm.urdf'},
            'controller': f'{Path(__file__)}:FromWhereItStarts',
            'hardware': {'type': 'kinematic'},
            'rate': 100.0,
        }
    )
    loop = make_loop(config, os=io.StringIO())
    loop.hardware.body.q[:] = 0.1
    loop.recorder = Recorder(tmp_path / 'x.mcap', loop.hardware.body, config.to_text())
    assert loop.run(0.1).reason == ''
    result = replay(tmp_path / 'x.mcap', io.StringIO())
    assert result.identical, result
    assert result.ticks == 10
