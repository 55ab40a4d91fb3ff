"""What a run says of mistakes in a controller: file, line, joint, value, and of doing nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cnoid_control import Simulation
from cnoid_control.cli.main import main

HEAD = """
import numpy as np
from cnoid_control import SimpleController, StateFlag

class Base(SimpleController):
    def initialize(self, io):
        self.io, self.body, self.ticks = io, io.body, 0
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_EFFORT
            io.enable_io(joint)
        return True

    def control(self):
        self.ticks += 1
        return True
"""
MINE = """
import helper

class Failing(Base):
    def control(self):
        print('said by a controller')
        return helper.broken(self)

class Nan(Base):
    def control(self):
        self.ticks += 1
        self.body.u[:] = 0.0
        if self.ticks in (5, 9):
            self.body.u[1] = np.nan
        return True

class Slip(Base):
    def control(self):
        self.body.uu = self.body.u + 1.0
        self.body.joints[0].q_taget = 1.0
        self.body.my_gain = self.body._mine = 1.0
        return False

class Typo(SimpleController):
    def initialize(self, io):
        return True

    def contol(self):
        return True

class Clipped(Base):
    def control(self):
        effort = 1e5 * (1.0 - self.body.q)
        self.body.u[:] = np.clip(effort, self.body.u_lower, self.body.u_upper)
        return True

class TypoWithOutputs(SimpleController):
    initialize = Base.initialize

    def contol(self):
        return True

class Silent(SimpleController):
    def initialize(self, io):
        return True

    def control(self):
        return True
"""


STATES = """
/**:
  ros__parameters:
    robot: {model: arm.urdf}
    controller: state_machine
    state_machine:
      actuators: controller
      start: reach
      states:
        reach:
          controller: pd
          options: {kp: 1.0e6, kd: 0.0, posture: [1, 1, 1, 1, 1, 1, 1], move_time: 0.0}
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """File with controllers that are wrong, and a module beside it."""
    (tmp_path / 'helper.py').write_text('def broken(controller):\n    return controller.missing\n')
    path = tmp_path / 'mine.py'
    path.write_text(HEAD + MINE)
    return path


def run(capsys, mine: Path, name: str, *words: str) -> tuple[dict, str]:
    """Summary of a run of 20 ticks on the package's arm, and what was said."""
    main(['run', 'arm', '--controller', f'{mine}:{name}', '--duration', '0.02', '--json', *words])
    said = capsys.readouterr()
    assert said.out.count('\n') == 1
    return json.loads(said.out), said.err


def test_an_exception_is_shown_from_the_controllers_own_file_on(capsys, mine: Path) -> None:
    """Where it was raised and who called it, in the reason; all calls in the traceback."""
    summary, said = run(capsys, mine, 'Failing')
    line = mine.read_text().splitlines().index('        return helper.broken(self)') + 1
    assert summary['exit'] == 'failed'
    assert f'(helper.py:2 in broken, called from mine.py:{line} in control)' in summary['reason']
    files = [text for text in summary['traceback'].splitlines() if text.startswith('  File')]
    assert ['mine.py' in files[0], 'helper.py' in files[1], len(files)] == [True, True, 2]
    assert f'error:   File "{mine}", line {line}, in control' in said
    # What controllers print does not spoil the object.
    assert 'said by a controller' in said


def test_a_command_that_is_no_number_is_named_with_its_first_tick(capsys, mine: Path) -> None:
    """Also one that is repeated but twice, and does not end the run."""
    summary, said = run(capsys, mine, 'Nan')
    joint = Simulation('arm').robot.joint(1).joint_name
    assert summary['exit'] == 'completed'
    assert summary['limited'] == {'implausible': {joint: 2}}
    (warning,) = summary['warnings']
    assert "controller 'nan', control() at tick 4" in warning
    assert f'effort nan of joint {joint!r}' in warning
    assert f'warning: {warning}' in said


@pytest.mark.parametrize(
    ('name', 'messages'),
    [
        ('Typo', ('Typo has no control(); is contol() meant', 'nothing commands the robot')),
        ('TypoWithOutputs', ('TypoWithOutputs has no control(); is contol() meant',)),
        ('Silent', ("nothing commands the robot: 'silent' enabled no output",)),
        ('Base', ()),
    ],
)
def test_a_controller_that_does_nothing_is_warned_of(
    capsys, mine: Path, name: str, messages: tuple[str, ...]
) -> None:
    """It has no control(), or has enabled no output."""
    summary, said = run(capsys, mine, name)
    warnings = summary.get('warnings', [])
    assert len(warnings) == len(messages)
    for warning, message in zip(warnings, messages, strict=True):
        assert message in warning
        assert message in said
    # Nothing has reached the robot: that is no success.
    assert (summary['exit'] == 'failed') is bool(messages)
    assert all(message in summary['reason'] for message in messages[-1:])


def test_a_run_that_commands_nothing_may_be_meant(capsys, mine: Path) -> None:
    """The configuration says so; the warning stays."""
    words = ('--set', 'require_commands=false')
    summary, _ = run(capsys, mine, 'Silent', *words)
    assert summary['exit'] == 'completed'
    assert summary['warnings']
    status = main(['run', 'arm', '--controller', f'{mine}:Silent', '--duration', '0.01'])
    assert status == 1


def test_efforts_that_a_controller_of_ones_own_clips_are_counted(capsys, mine: Path) -> None:
    """Though nobody but the controller knows of the clamp."""
    summary, _ = run(capsys, mine, 'Clipped')
    assert set(summary['limited']['effort'].values()) == {20}


def test_slips_of_the_pen_are_warned_of(capsys, mine: Path) -> None:
    """A new attribute of the body or a link that is nearly one that there is; no other one."""
    summary, said = run(capsys, mine, 'Slip')
    on_body, on_link = summary['warnings']
    assert "'slip' has set 'uu' of body, which nothing reads; is 'u' meant?" in on_body
    assert "has set 'q_taget' of link" in on_link
    assert "is 'q_target' meant?" in on_link
    assert f'warning: {on_body}' in said


def test_efforts_that_a_controller_limits_by_itself_are_counted() -> None:
    """As often as MuJoCo was told the effort limit."""
    simulation = Simulation(
        'arm', 'pd', options={'kp': 1e6, 'kd': 0.0, 'posture': [1.0] * 7, 'move_time': 0.0}
    )
    summary = simulation.run(0.2)
    body, efforts = simulation.robot, simulation.recorded.u
    at_limit = (efforts >= body.u_upper) | (efforts <= body.u_lower)
    assert at_limit.any()
    counted = summary['limited']['effort']
    for joint in body.joints:
        expected = int(np.count_nonzero(at_limit[:, joint.joint_id]))
        assert counted.get(joint.joint_name, 0) == pytest.approx(expected, abs=1)


def test_efforts_that_a_state_of_a_state_machine_limits_are_counted(tmp_path: Path) -> None:
    """As those of a controller that has the robot alone."""
    config = tmp_path / 'states.yaml'
    config.write_text(STATES)
    simulation = Simulation(config)
    summary = simulation.run(0.2)
    body, efforts = simulation.robot, simulation.recorded.u
    at_limit = (efforts >= body.u_upper) | (efforts <= body.u_lower)
    names = [joint.joint_name for joint in body.joints]
    counts = dict(zip(names, at_limit.sum(axis=0).tolist(), strict=True))
    assert any(counts.values())
    assert summary['limited']['effort'] == {name: n for name, n in counts.items() if n}


def test_a_configuration_that_is_wrong_is_one_object_too(capsys) -> None:
    """With the reason; the exit status says it as well."""
    assert main(['run', 'nowhere', '--json']) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)['exit'] == 'failed'
    assert json.loads(said.out)['reason'] in said.err


def test_the_table_says_the_share_of_the_time(capsys, mine: Path) -> None:
    """Of each limit that acted, by joint."""
    main(['run', 'arm', '--controller', f'{mine}:Nan', '--duration', '0.02'])
    assert ' 2 (10 %)' in capsys.readouterr().out


# --- files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('argument', 'name', 'message'),
    [
        ('--log', 'a.txt', 'its name must end otherwise; choose from: .mcap'),
        ('--plot', 'a.mcap', 'its name must end otherwise; choose from: '),
        ('--log', 'folder.mcap', 'it is a folder'),
        ('--plot', 'text.png', 'what is there is no .png file'),
        ('--log', 'text.png/a.mcap', 'cannot be written'),
    ],
)
def test_files_that_cannot_be_written_are_refused_before_the_run(
    capsys, tmp_path: Path, argument: str, name: str, message: str
) -> None:
    """And what is there stays as it is."""
    (tmp_path / 'folder.mcap').mkdir()
    (tmp_path / 'text.png').write_text('notes')
    assert main(['run', 'arm', argument, str(tmp_path / name), '--duration', '0.01']) == 1
    said = capsys.readouterr()
    assert message in said.err
    assert 'Traceback' not in said.err
    assert said.out == ''
    assert (tmp_path / 'text.png').read_text() == 'notes'


def test_a_model_is_not_overwritten_by_the_log(capsys, tmp_path: Path, root: Path) -> None:
    """Whatever its name ends with."""
    model = tmp_path / 'model.mcap'
    model.write_text((root / 'urdf' / 'arm.urdf').read_text())
    assert main(['run', str(model), '--log', str(model)]) == 1
    assert '<robot' in model.read_text()


def test_options_that_a_controller_refuses_have_its_name(tmp_path: Path, capsys) -> None:
    """And nothing else is told: nothing has moved."""
    words = ['run', 'arm', '--hardware', 'kinematic', '--option', 'posture={nose: 1.0}']
    assert main([*words, '--duration', '0.1']) == 1
    captured = capsys.readouterr()
    assert 'ParameterError: pd.posture.nose: unknown joint; choose from: ' in captured.err
    assert 'error: no controller is left to run: ' in captured.err
    assert captured.out == ''
    assert main([*words, '--duration', '0.1', '--json']) == 1
    summary = json.loads(capsys.readouterr().out)
    assert (summary['exit'], summary['ticks']) == ('failed', 0)
    assert 'pd.posture.nose' in summary['reason']
