"""A log holds the robot, the controllers and what happened: replay needs nothing else."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import yaml

from cnoid_control import Simulation
from cnoid_control.log import LogError, LogFile, RunLog, model_files, stored_body
from cnoid_control.messages import layouts
from cnoid_control.messages.cdr import parse_message
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.defaults import config_from_model
from cnoid_control.runtime.recorder import Recorder
from cnoid_control.runtime.replay import replay
from cnoid_control.runtime.run_files import record_run, run_files
from cnoid_control.share import shared_file

CONTROLLER = """
from dataclasses import dataclass
from pathlib import Path
from cnoid_control import SimpleController, StateFlag
from cnoid_control.parameters import FileName, parameter

@dataclass
class Options:
    gains: FileName = parameter('')

class Mine(SimpleController):
    Parameters = Options

    def initialize(self, io):
        self.io, self.gain = io, float((io.folder / io.parameters.gains).read_text())
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
            io.enable_io(joint)
        self.q = io.body.q.copy()
        return True

    def control(self):
        body = self.io.body
        body.u[:] = self.gain * (self.q - body.q)
        self.io.log('phase', 'early' if self.io.current_time < 0.05 else 'late')
        self.io.log('sum', body.u.sum())
        return True
"""


def record(path, config, duration: float, push: bool = False) -> LogFile:
    """Run a configuration and record it as the command line does."""
    with Simulation(config, record=False, os=io.StringIO()) as sim:
        body = sim.loop.hardware.body
        sim.loop.recorder = Recorder(
            path, body, config.to_text(), attachments=run_files(config), os=io.StringIO()
        )
        if push:
            sim.run(duration / 2)
            sim.push(body.links[-1].name, [1.0, 0.0, 0.0], 0.01)
            duration /= 2
        sim.run(duration)
    return LogFile(path)


@pytest.fixture
def own(tmp_path):
    """A folder with a robot, a controller, its file and a configuration."""
    folder = tmp_path / 'own'
    folder.mkdir()
    (folder / 'mine.py').write_text(CONTROLLER)
    (folder / 'gains.txt').write_text('30.0')
    shutil.copy(shared_file('urdf', 'arm', '.urdf'), folder / 'robot.urdf')
    values = {
        'robot': {'model': 'robot.urdf'},
        'controller': 'mine.py:Mine',
        'mine': {'gains': 'gains.txt'},
    }
    (folder / 'own.yaml').write_text(yaml.safe_dump({'/**': {'ros__parameters': values}}))
    return folder


def test_replay_needs_nothing_but_the_log(tmp_path, own):
    """Robot, controller, its file and the configuration are gone; the outputs are the same."""
    record(tmp_path / 'x.mcap', load_config(own / 'own.yaml'), 0.1)
    shutil.rmtree(own)
    with pytest.raises(LogError, match=r"controller 'mine' was in .*mine\.py, which is gone"):
        replay(tmp_path / 'x.mcap', io.StringIO())
    result = replay(tmp_path / 'x.mcap', io.StringIO(), recorded_controllers=True)
    assert result.identical, result
    assert (result.ticks, result.notes) == (100, [])


def test_replay_tells_what_has_changed(tmp_path, own):
    """The present controller runs, and that it is another one is said."""
    record(tmp_path / 'x.mcap', load_config(own / 'own.yaml'), 0.02)
    (own / 'mine.py').write_text(CONTROLLER + '# another line\n')
    result = replay(tmp_path / 'x.mcap', io.StringIO())
    assert result.identical
    (note,) = result.notes
    assert note.startswith("controller 'mine' has changed since: ")


def test_log_that_was_cut_off_says_so(tmp_path, own):
    """It is replayed up to there."""
    path = tmp_path / 'x.mcap'
    log = record(path, load_config(own / 'own.yaml'), 0.6)
    content = path.read_bytes()
    last = log._chunks[-1]
    path.write_bytes(content[: last.start + last.length // 2])
    result = replay(path, io.StringIO())
    assert 'the log was cut off' in result.notes[0]
    assert result.identical
    assert result.ticks == 512


def texts(log: LogFile, topic: str) -> list[str]:
    """Texts of a topic."""
    return [parse_message(layouts.TEXT, data).data for data in log.messages(topic)]


def test_texts_numbers_and_pushes_are_in_the_log(tmp_path, own):
    """What a controller logs, and what happened to the robot, with its time."""
    log = record(tmp_path / 'x.mcap', load_config(own / 'own.yaml'), 0.1, push=True)
    assert texts(log, 'mine/phase') == ['early'] * 50 + ['late'] * 50
    assert log.count('mine/sum') == 100
    (push,) = map(json.loads, texts(log, 'pushes'))
    assert (push['force'], push['duration']) == ([1.0, 0.0, 0.0], 0.01)
    assert log.times('pushes').tolist() == [50_000_000]
    assert log.attachment('config.yaml').decode().startswith('/**:')


def test_frames_are_those_of_the_robot(tmp_path):
    """Tf gives the pose of a hand that kinematics gives, about thirty times a second."""
    log = record(tmp_path / 'x.mcap', load_config('sr1_walk'), 0.5)
    assert 14 <= log.count('tf') <= 16
    message = parse_message(log.schema('tf'), log.messages('tf')[-1])
    tick = int(np.searchsorted(log.times('joint_states'), log.times('tf')[-1]))
    body = stored_body(log)
    states = layouts.joint_state(body.joint_names, with_effort=False)
    rows = log.rows('joint_states', np.array([tick]))
    states = layouts.joint_state(body.joint_names, with_effort=rows.shape[1] != states.length)
    body.q[:] = states.decode(rows, 'position')[0]
    pose = layouts.odometry('world', 'WAIST').decode(
        log.rows('root', np.array([tick])), 'pose.pose'
    )[0]
    body.root_link.p = pose[:3]
    body.root_link.R = pin.Quaternion(pose[3:]).toRotationMatrix()
    body.calc_forward_kinematics()
    frames = {one.child_frame_id: one for one in message.transforms}
    place, name = pin.SE3.Identity(), 'LARM_WRIST_R'
    while name != 'world':
        t, r = frames[name].transform.translation, frames[name].transform.rotation
        here = pin.SE3(pin.Quaternion(r.w, r.x, r.y, r.z), np.array([t.x, t.y, t.z]))
        place, name = here * place, frames[name].header.frame_id
    np.testing.assert_allclose(place.translation, body.link('LARM_WRIST_R').p, atol=1e-9)


def test_states_of_a_state_machine_are_in_the_log(tmp_path):
    """Each with the time at which it was entered."""
    log = record(tmp_path / 'x.mcap', load_config('sr1_routine'), 3.4)
    (topic,) = [name for name in log.topics if name.endswith('/state')]
    states = texts(log, topic)
    assert len(states) >= 2
    assert len(set(states)) == len(states)
    assert log.times(topic)[0] == 0


MESH_ROBOT = """<robot name="m"><link name="base"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><visual><geometry>
<mesh filename="part.obj"/></geometry></visual></link></robot>"""


@pytest.mark.parametrize('stored', [True, False])
def test_meshes_are_stored_or_named(tmp_path, monkeypatch, caplog, stored):
    """Small ones are in the log; of large ones that are gone or changed it is said."""
    if not stored:
        monkeypatch.setattr(model_files, 'LARGEST', 10)
    mesh = tmp_path / 'part.obj'
    mesh.write_text('v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n')
    (tmp_path / 'm.urdf').write_text(MESH_ROBOT)
    log = record(tmp_path / 'x.mcap', config_from_model(str(tmp_path / 'm.urdf')), 0.01)
    text = mesh.read_text()
    mesh.unlink()
    shapes = stored_body(log).links[0].description.shapes
    if stored:
        assert Path(shapes[0].geometry.path).read_text() == text
    else:
        assert shapes == []
        assert 'is left out: No such file' in caplog.text
        mesh.write_text('something else')
        assert stored_body(log).links[0].description.shapes == []
        assert 'it is another one by now' in caplog.text
        mesh.write_text(text)
        assert stored_body(log).links[0].description.shapes[0].geometry.path == str(mesh)


def test_who_has_the_robot_is_in_the_log(tmp_path, own):
    """A swap with its time; what the new controller logs is there from then on."""
    values = {'controller': 'pd', 'standby': {'mine': {'type': 'mine.py:Mine'}}}
    values['mine'] = {'gains': 'gains.txt'}
    config = load_config(own / 'own.yaml', values)
    with Simulation(config, record=False, os=io.StringIO()) as sim:
        record_run(tmp_path / 'x.mcap', sim.loop, config)
        sim.run(0.05)
        sim.swap('mine', blend_time=0.0)
        sim.run(0.05)
    log = RunLog(tmp_path / 'x.mcap')
    assert [name for _, name in log.texts('controller')] == ['pd', 'mine']
    ((time, what),) = log.events()
    assert what == 'swap to mine'
    assert 0.05 <= time <= 0.06
    assert log.file.count('mine/sum') >= 40
