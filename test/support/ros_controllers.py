"""Controllers for the tests of the node, found by file and class."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import numpy as np

from cnoid_control import SimpleController, StateFlag, parameter
from cnoid_control.body.devices import Imu
from cnoid_control.plugin.mailbox import JointValues, Trigger, Value


class Gains(SimpleController):
    """Pulls the joints to the initial posture by PID actuators."""

    @dataclass
    class Parameters:
        """Options."""

        kp: float = parameter(300.0, 'stiffness', unit='N m/rad')
        kd: float = parameter(5.0, 'damping', unit='N m s/rad')

    def initialize(self, io):
        """Command gains."""
        self.given, self.body = io.parameters, io.body
        for joint in self.body.joints:
            joint.actuation_mode = StateFlag.JOINT_PID
            io.enable_io(joint)
        self.q_ref = self.body.q.copy()
        return True

    def update_parameters(self, old, new):
        """Use other gains at once."""
        self.given = new

    def control(self):
        """Command the same in every tick."""
        body = self.body
        body.kp[:], body.kd[:] = self.given.kp, self.given.kd
        body.q_target[:], body.dq_target[:], body.u[:] = self.q_ref, 0.0, 0.0
        return True


class GainsByEffort(Gains):
    """The same by efforts."""

    def initialize(self, io):
        """Command efforts."""
        super().initialize(io)
        for joint in self.body.joints:
            joint.actuation_mode = StateFlag.JOINT_EFFORT
            io.enable_input(joint, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
        return True

    def control(self):
        """One tick of PD control."""
        body, given = self.body, self.given
        body.u[:] = given.kp * (self.q_ref - body.q) - given.kd * body.dq
        return True


class Hold(SimpleController):
    """Holds the initial posture by PD control of joint torques."""

    @dataclass
    class Parameters:
        """Options."""

        kp: float = parameter(300.0, 'stiffness', unit='N m/rad', minimum=0.0, maximum=1000.0)
        kd: float = parameter(5.0, 'damping', unit='N m s/rad', minimum=0.0)
        mode: str = parameter('effort', 'command mode', choices=('effort', 'position'))
        fail: str = parameter('', 'phase that fails')
        raises: bool = parameter(False, 'whether control() raises')
        hangs: float = parameter(0.0, 'time for which control() hangs once', unit='s')
        bad: bool = parameter(False, 'whether the commands are not numbers')

    def configure(self, config):
        """Fail where told."""
        return config.parameters.fail != 'configure'

    def initialize(self, io):
        """Enable everything."""
        self.given, self.body = io.parameters, io.body
        if self.given.fail == 'initialize':
            raise RuntimeError('no will to begin')
        mode = StateFlag.JOINT_EFFORT
        if self.given.mode == 'position':
            mode = StateFlag.JOINT_DISPLACEMENT
        for joint in self.body.joints:
            joint.actuation_mode = mode
            io.enable_io(joint)
            io.enable_input(joint, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
        self.q_ref = self.body.q.copy()
        self.values = io.mailbox('offset', Value)
        self.targets = io.mailbox('targets', JointValues)
        self.homing = io.mailbox('home', Trigger)
        self.q_start = self.q_ref.copy()
        return True

    def start(self):
        """Fail where told."""
        return self.given.fail != 'start'

    def control(self):
        """One tick of PD control."""
        given = self.given
        if given.raises:
            raise RuntimeError('a bug')
        if given.hangs:
            duration, given.hangs = given.hangs, 0.0
            time.sleep(duration)
        offset = self.values.take_latest()
        if offset is not None:
            self.q_ref[:] = self.q_start + offset.value
        target = self.targets.take_latest()
        if target is not None:
            for name, value in zip(target.names, target.position, strict=True):
                self.q_ref[self.body.joint(name).joint_id] = value
        if self.homing.take_latest() is not None:
            self.q_ref[:] = self.q_start
        self.body.u[:] = (self.q_ref - self.body.q) * given.kp - self.body.dq * given.kd
        self.body.q_target[:] = self.q_ref
        if given.bad:
            self.body.u[0] = np.nan
        return True

    def update_parameters(self, old, new):
        """Take over gains; a stiffness of 13 is refused."""
        if new.kp == 13.0:
            raise ValueError('13 is unlucky')
        self.given = new


class Deaf(Hold):
    """Has one more option than the override of its base class follows."""

    @dataclass
    class Parameters(Hold.Parameters):
        """Options."""

        goal: float = parameter(0.0, 'what nobody reads', unit='rad')
        side: str = parameter('left', 'what cannot change', read_only=True)


class Other(Hold):
    """The same under another name, to be swapped to."""


class ByPosition(Hold):
    """Holds by joint positions."""

    @dataclass
    class Parameters(Hold.Parameters):
        """Options."""

        mode: str = parameter('position', 'command mode', choices=('effort', 'position'))


class Broken(Hold):
    """Cannot begin."""

    @dataclass
    class Parameters(Hold.Parameters):
        """Options."""

        fail: str = parameter('initialize', 'phase that fails')


class Balanced(Hold):
    """The same, and reads the gyro."""

    def initialize(self, io):
        """Enable the gyro, too."""
        io.enable_input(io.body.find_device(Imu, 'gyro'))
        return super().initialize(io)


class Gated(Hold):
    """Waits, without a word to the interpreter, in the phase that is closed until it opens."""

    closed = ''
    is_waiting = threading.Event()
    opened = threading.Event()
    controls = 0

    @classmethod
    def close(cls, phase):
        """Have all instances wait in this phase from now on."""
        cls.opened.clear()
        cls.is_waiting.clear()
        cls.closed = phase

    @classmethod
    def open(cls):
        """Let all of them go on."""
        cls.closed = ''
        cls.opened.set()

    def _pass(self, phase):
        if self.closed == phase:
            self.is_waiting.set()
            self.opened.wait()

    def configure(self, config):
        """Configure."""
        self._pass('configure')
        return super().configure(config)

    def control(self):
        """One tick."""
        self.controls += 1
        self._pass('control')
        return super().control()


class Later(Gated):
    """The same under another name, to be swapped to."""


class Unfed(Hold):
    """Wants messages by a name that no topic can have."""

    def initialize(self, io):
        """Ask for a mailbox."""
        io.mailbox('set point', Value)
        return super().initialize(io)


class Late(Hold):
    """Fails when it has the robot for some ticks."""

    ticks = 0

    def control(self):
        """One tick."""
        self.ticks += 1
        if self.ticks > 3:
            raise RuntimeError('a late bug')
        return super().control()


class Ending(Hold):
    """Has no more to do after some ticks."""

    def initialize(self, io):
        """Count from here."""
        self.left = 200
        return super().initialize(io)

    def control(self):
        """Hold, and end."""
        self.left -= 1
        return super().control() and self.left > 0
