"""A first motion for any arm: every joint sways a little about where it starts.

    cnoid_control run MODEL --controller examples/sway.py:Sway

docs/real_arm.md takes it to arms behind ros2_control.
"""

from dataclasses import dataclass

import numpy as np

from cnoid_control import SimpleController, StateFlag, parameter


class Sway(SimpleController):
    """Sways every joint about its first posture, by positions or by velocities."""

    @dataclass
    class Parameters:
        """Options."""

        amplitude: float = parameter(0.2, 'largest way', unit='rad or m', minimum=0.0)
        frequency: float = parameter(0.1, 'sways per second', unit='Hz', minimum=0.0)
        interface: str = parameter(
            'position', 'what is commanded', choices=('position', 'velocity'), read_only=True
        )
        gain: float = parameter(1.0, 'speed per error, of velocities', unit='1/s', minimum=0.0)

    def initialize(self, io):
        """Command all joints; begin where they are."""
        self.given, self.body, self.dt = io.parameters, io.body, io.time_step
        by_position = self.given.interface == 'position'
        mode = StateFlag.JOINT_DISPLACEMENT if by_position else StateFlag.JOINT_VELOCITY
        for joint in self.body.joints:
            joint.actuation_mode = mode
            io.enable_io(joint)
            io.enable_input(joint, StateFlag.JOINT_DISPLACEMENT)
        self.q_start = self.body.q.copy()
        self.phase = 0.0
        return True

    def control(self):
        """One tick: the way begins and ends with no speed."""
        given = self.given
        speed = 2.0 * np.pi * given.frequency
        self.phase += speed * self.dt
        way = given.amplitude * 0.5 * (1.0 - np.cos(self.phase))
        rate = given.amplitude * 0.5 * speed * np.sin(self.phase)
        self.body.q_target[:] = self.q_start + way
        error = self.body.q_target - self.body.q
        self.body.dq_target[:] = rate + given.gain * error
        return True
