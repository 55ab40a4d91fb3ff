"""Recording: what was read and written is in the log, and the run does not depend on it."""

from __future__ import annotations

import errno
import io
import threading

import numpy as np
import pinocchio as pin
import pytest
from fake_hardware import FakeHardware, two_joint_body

from cnoid_control import SimpleController, StateFlag
from cnoid_control.body import Body, ContactPoint, Device, JointType
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.devices import Camera, ForceSensor, PointLight, RangeCamera, RangeSensor
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.replay import ReplayHardware, ReplayParameters
from cnoid_control.log.exceptions import LogError
from cnoid_control.log.reader import LogFile
from cnoid_control.log.writer import McapWriter
from cnoid_control.messages import layouts
from cnoid_control.runtime import recorder as recorder_module
from cnoid_control.runtime.build import wire_loop
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.runtime.recorder import (
    BLOCK,
    Recorder,
    restore_state_text,
    state_to_text,
    unrotate,
)
from cnoid_control.runtime.safety.limits import LimitsParameters


class Torque(SimpleController):
    """Torque that depends on what is read."""

    def initialize(self, io) -> bool:
        self.io = io
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
            io.enable_io(joint)
        return True

    def control(self) -> bool:
        self.io.body.u[:] = -3.0 * self.io.body.q + self.io.current_time
        self.io.log('norm', np.linalg.norm(self.io.body.u))
        return True


def make_loop(hardware, controller: SimpleController, **options) -> ControlLoop:
    """Loop with one controller named 'a'."""
    os = io.StringIO()
    host = ControllerHost(
        [ManagedController('a', controller)], hardware.body, hardware.time_step, os
    )
    return wire_loop(hardware, host, **options)


def test_every_tick_is_recorded(tmp_path):
    """States, commands as sent, outputs where limits changed them, and own fields."""
    hardware = FakeHardware(two_joint_body())
    recorder = Recorder(tmp_path / 'x.mcap', hardware.body, 'the config')
    limits = LimitsParameters(max_effort=2.0, implausible_factor=1e9)
    loop = make_loop(hardware, Torque(), recorder=recorder, limits=limits)
    loop.run(duration=3.0)
    log = LogFile(tmp_path / 'x.mcap')
    layout = layouts.joint_state(['joint0', 'joint1'], with_effort=False)
    ticks = np.arange(300)
    q = ticks[:, None] + [0.0, 0.1]
    np.testing.assert_array_equal(layout.decode(log.rows('joint_states'), 'position'), q)
    np.testing.assert_array_equal(layout.decode(log.rows('joint_states'), 'velocity'), -q)
    layout = layouts.joint_state(['joint0', 'joint1'])
    u = -3.0 * q + (ticks * 0.01)[:, None]
    sent = layout.decode(log.rows('commands'), 'effort')
    np.testing.assert_array_equal(sent, np.clip(u, -2.0, 2.0))
    changed = (u != np.clip(u, -2.0, 2.0)).any(axis=1)
    raw = layout.decode(log.rows('controller_outputs'), 'effort')
    np.testing.assert_array_equal(raw, u[changed])
    np.testing.assert_array_equal(log.times('joint_states'), ticks * 10_000_000)
    norms = layouts.numbers(1).decode(log.rows('a/norm'), 'data')[:, 0]
    np.testing.assert_allclose(norms, np.linalg.norm(u, axis=1), rtol=1e-15)
    assert log.metadata['cnoid_control']['config'] == 'the config'


def test_full_disk_is_reported_and_the_run_goes_on(tmp_path, monkeypatch):
    """The controllers never notice; what fitted is readable."""
    hardware = FakeHardware(two_joint_body(), states=2000)
    os = io.StringIO()
    recorder = Recorder(tmp_path / 'x.mcap', hardware.body, os=os)
    write = McapWriter.write
    calls = []

    def filling(self, batches):
        calls.append(len(batches))
        if len(calls) > 2:
            raise OSError(errno.ENOSPC, 'No space left on device')
        write(self, batches)

    monkeypatch.setattr(McapWriter, 'write', filling)
    outcome = make_loop(hardware, Torque(), recorder=recorder).run(duration=20.0)
    assert (outcome.exit, outcome.ticks) == ('completed', 2000)
    assert recorder.error.endswith('x.mcap: recording stopped: No space left on device')
    assert os.getvalue().count('No space left') == 1
    assert recorder.report()['log_error'] == recorder.error
    assert len(LogFile(tmp_path / 'x.mcap').times('joint_states')) == 512


def test_unwritable_file_fails_the_run_before_it_begins(tmp_path):
    """Nobody wants to find out after the run."""
    (tmp_path / 'no').write_text('a file, no folder')
    hardware = FakeHardware(two_joint_body())
    recorder = Recorder(tmp_path / 'no' / 'x.mcap', hardware.body)
    loop = make_loop(hardware, Torque(), recorder=recorder)
    outcome = loop.run(duration=1.0)
    assert (outcome.exit, outcome.ticks) == ('failed', 0)
    assert 'cannot be written' in outcome.reason
    with pytest.raises(LogError):
        recorder.open(IORequest(), [])


def world() -> Body:
    """A free root with a joint and one of each kind of device."""
    links = [
        LinkDescription('root', joint_type=JointType.FREE),
        LinkDescription('arm', 'root', joint_type=JointType.REVOLUTE, joint_id=0),
    ]
    devices: list[tuple[str, Device]] = [
        ('arm', ForceSensor('force')),
        ('arm', Camera('camera')),
        ('arm', RangeCamera('depth')),
        ('arm', RangeSensor('laser')),
        ('arm', PointLight('light')),
    ]
    return Body(BodyDescription('world', links, devices))


class Changing(FakeHardware):
    """Everything that a controller can read changes, each thing at its own pace."""

    def __init__(self) -> None:
        super().__init__(world(), states=40)
        self.rng = np.random.default_rng(4)

    def read(self) -> bool:
        if not super().read():
            return False
        rng, body = self.rng, self.body
        for name in ('ddq', 'u'):
            getattr(body, name)[:] = rng.normal(size=1)
        root, arm = body.links
        for link in (root, arm):
            link.p = rng.normal(size=3)
            link.R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            link.v, link.w, link.dv, link.dw = rng.normal(size=(4, 3))
        points = [ContactPoint(*rng.normal(size=(4, 3)), depth=rng.normal())]
        arm.contact_points = points * int(rng.integers(0, 3))
        force, camera, depth, laser, _ = body.devices
        if self.tick % 2:
            force.F[:] = rng.normal(size=6)
            force.notify_state_change()
        if self.tick % 5 == 0:
            camera.image = rng.integers(0, 255, size=(4, 6, 3), dtype=np.uint8)
            camera.notify_state_change()
        if self.tick % 7 == 0:
            depth.image = rng.integers(0, 255, size=(2, 2), dtype=np.uint8)
            depth.points = rng.normal(size=(self.tick, 3)).astype(np.float32)
            depth.notify_state_change()
        if self.tick % 3 == 0:
            laser.range_data = rng.normal(size=5)
            laser.notify_state_change()
        return True


class Digest(SimpleController):
    """Notes a digest of everything it can read, and whether devices have changed."""

    def initialize(self, io) -> bool:
        self.body = io.body
        self.digests: list[bytes] = []
        self.fresh: list[str] = []
        for link in io.body.links:
            io.enable_input(link, ~StateFlag.LINK_EXT_WRENCH)
        for device in io.body.devices:
            io.enable_input(device)
            device.state_changed.connect(lambda changed: self.fresh.append(changed.name))
        return True

    def control(self) -> bool:
        body = self.body
        seen = [body.q, body.dq, body.ddq, body.u]
        for link in body.links:
            seen += [link.p, link.R, link.v, link.w, link.dv, link.dw]
            for point in link.contact_points:
                seen += [point.position, point.normal, point.force, point.velocity]
                seen.append(np.array(point.depth))
        force, camera, depth, laser, light = body.devices
        seen += [force.F, camera.image, depth.image, depth.points, laser.range_data]
        self.digests.append(b''.join(part.tobytes() for part in seen) + str(self.fresh).encode())
        self.fresh.clear()
        light.intensity = len(self.digests) / 100
        light.notify_state_change()
        return True


def test_everything_that_can_be_read_is_replayed_to_the_bit(tmp_path):
    """Joints, links, contacts and devices, in the ticks in which they changed."""
    first, second = Digest(), Digest()
    hardware = Changing()
    recorder = Recorder(tmp_path / 'x.mcap', hardware.body)
    assert make_loop(hardware, first, recorder=recorder).run().reason == ''
    replay = ReplayHardware(world(), ReplayParameters(str(tmp_path / 'x.mcap')), 0.01)
    outcome = make_loop(replay, second).run()
    assert (outcome.exit, outcome.reason) == ('completed', '')
    assert len(first.digests) == 40
    assert first.digests == second.digests
    lights = layouts.numbers(world().devices[4].state_size)
    states = lights.decode(LogFile(tmp_path / 'x.mcap').rows('light/command'), 'data')
    assert len(states) == 40
    assert 0.4 in states[-1]


def test_vectors_are_turned_into_the_axes_of_a_quaternion() -> None:
    """As the rotation matrices of pinocchio do it."""
    rng = np.random.default_rng(3)
    quaternions = [pin.Quaternion(pin.SE3.Random().rotation) for _ in range(5)]
    vectors = rng.normal(size=(5, 3))
    turned = unrotate(np.array([one.coeffs() for one in quaternions]), vectors)
    expected = [one.matrix().T @ vector for one, vector in zip(quaternions, vectors, strict=True)]
    np.testing.assert_allclose(turned, expected, atol=1e-12)


class Sometimes(Torque):
    """Logs in every other tick."""

    def control(self) -> bool:
        self.io.body.u[:] = 0.0
        if round(self.io.current_time / 0.01) % 2 == 0:
            self.io.log('even', self.io.current_time)
        return True


def test_what_is_logged_is_logged_once(tmp_path):
    """A value is not repeated in ticks that log nothing."""
    hardware = FakeHardware(two_joint_body())
    recorder = Recorder(tmp_path / 'x.mcap', hardware.body)
    make_loop(hardware, Sometimes(), recorder=recorder).run(duration=0.1)
    times = LogFile(tmp_path / 'x.mcap').times('a/even')
    assert (times // 10_000_000).tolist() == [0, 2, 4, 6, 8]


def test_blocks_that_nobody_takes_are_counted(tmp_path, monkeypatch):
    """In real time the loop does not wait for the writer; what was dropped is told."""
    monkeypatch.setattr(recorder_module, 'QUEUE_BLOCKS', 3)
    hardware = FakeHardware(two_joint_body(), states=10**9)
    recorder = Recorder(tmp_path / 'x.mcap', hardware.body, real_time=True)
    waits = threading.Event()
    write = recorder._write_blocks
    recorder._write_blocks = lambda *args: waits.wait(20.0) and write(*args)
    loop = make_loop(hardware, Torque(), recorder=recorder)
    loop.open()
    size = recorder._queue.maxsize
    for _ in range((size + 2) * BLOCK):
        loop.step()
    waits.set()
    loop.close()
    assert recorder.dropped == 2 * BLOCK
    assert len(LogFile(tmp_path / 'x.mcap').times('joint_states')) == size * BLOCK


def test_a_state_that_a_body_is_in_is_left_untouched():
    """Restoring another one puts the body into it."""
    body, other = two_joint_body(), two_joint_body()
    other.q[:] = 0.5, -0.5
    text = state_to_text(other)
    restore_state_text(body, text)
    assert body.q.tolist() == [0.5, -0.5]
    body.restore_state = None
    restore_state_text(body, text)


def test_a_file_that_cannot_be_finished_is_told(tmp_path, monkeypatch):
    """The end of the run is where a full disk may show first."""
    hardware = FakeHardware(two_joint_body())
    os = io.StringIO()
    recorder = Recorder(tmp_path / 'x.mcap', hardware.body, os=os)

    def full(self):
        raise OSError(errno.ENOSPC, 'No space left on device')

    monkeypatch.setattr(McapWriter, 'close', full)
    assert make_loop(hardware, Torque(), recorder=recorder).run(duration=0.05).exit == 'completed'
    assert 'No space left on device' in recorder.error


def test_only_devices_that_are_read_and_measure_are_recorded(tmp_path):
    """Neither one that nobody reads, nor a lamp."""
    body = world()
    names = {type(device): device.name for device in body.devices}
    hardware = FakeHardware(body)
    recorder = Recorder(tmp_path / 'x.mcap', body)
    recorder.open(IORequest(devices={names[ForceSensor], names[PointLight]}), [])
    assert [device.name for device in recorder._sensors] == [names[ForceSensor]]
    assert recorder._seeing == set()
    recorder.close()
    recorder = Recorder(tmp_path / 'y.mcap', body)
    recorder.open(IORequest(devices={names[Camera]}), [])
    assert recorder._seeing == {names[Camera]}
    recorder.close()
    assert hardware.body is body


def test_what_is_listened_to_is_let_go_at_the_end(tmp_path):
    """Devices of the robot may change after the run; contacts are noted only where enabled."""
    body = world()
    link = body.links[1].name
    before = [len(device.state_changed._slots) for device in body.devices]
    recorder = Recorder(tmp_path / 'x.mcap', body)
    request = IORequest(inputs={link: StateFlag.JOINT_DISPLACEMENT})
    recorder.open(request, [])
    assert recorder._touched == []
    assert [len(device.state_changed._slots) for device in body.devices] != before
    recorder.close()
    assert [len(device.state_changed._slots) for device in body.devices] == before
    recorder = Recorder(tmp_path / 'y.mcap', body)
    recorder.open(IORequest(inputs={link: StateFlag.LINK_CONTACT_STATE}), [])
    assert [one.name for one in recorder._touched] == [link]
    recorder.close()


def test_no_empty_block_is_written(tmp_path, monkeypatch):
    """Where no tick was taken, nor where a block was just full; none at all after an error."""
    written = []
    monkeypatch.setattr(McapWriter, 'write', lambda self, batches: written.append(len(batches)))
    for ticks, blocks in ((0, 0), (BLOCK, 1), (BLOCK + 1, 2)):
        written.clear()
        hardware = FakeHardware(two_joint_body())
        recorder = Recorder(tmp_path / 'x.mcap', hardware.body)
        make_loop(hardware, Torque(), recorder=recorder).run(duration=0.01 * ticks)
        assert len(written) == blocks
    hardware = FakeHardware(two_joint_body())
    recorder = Recorder(tmp_path / 'x.mcap', hardware.body)
    loop = make_loop(hardware, Torque(), recorder=recorder)
    loop.open()
    recorder.error = 'the disk is full'
    handed = []
    put = recorder._queue.put
    recorder._queue.put = lambda block, **options: handed.append(block) or put(block, **options)
    for _ in range(BLOCK):
        loop.step()
    loop.close()
    assert handed == [None]


def test_a_tick_that_was_not_finished_is_left_out(tmp_path):
    """What a controller logged in it as well."""
    hardware = FakeHardware(two_joint_body())
    recorder = Recorder(tmp_path / 'x.mcap', hardware.body)
    loop = make_loop(hardware, Torque(), recorder=recorder)
    note_sent = recorder.note_sent

    def fail() -> None:
        if hardware.tick == 3:
            raise ZeroDivisionError
        note_sent()

    recorder.note_sent = fail
    with pytest.raises(ZeroDivisionError):
        loop.run(duration=0.1)
    log = LogFile(tmp_path / 'x.mcap')
    assert len(log.times('joint_states')) == len(log.times('a/norm')) == 2
