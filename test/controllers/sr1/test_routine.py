"""SR1's routine from its configuration: up, over, a wave, and down."""

from __future__ import annotations

import numpy as np
import pytest

from cnoid_control.controllers.composition.graph import graph_text
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config


def test_sr1_stands_up_shifts_waves_and_sits_down() -> None:
    """Every state does its part, the robot does not fall and the run ends by itself."""
    config = load_config('sr1_routine', {'state_machine.actuators': 'hardware'})
    loop = make_loop(config)
    loop.open()
    machine = loop.host.controllers[0].controller.composition
    body = loop.hardware.body
    legs = [i for i, name in enumerate(body.joint_names) if 'LEG' in name]
    right_arm = [i for i, name in enumerate(body.joint_names) if name.startswith('RARM')]
    visited, highest, tilt = [], {}, 0.0
    leg_gains, arm_gains = [], []
    going_on = True
    while going_on and loop.hardware.time < 30.0:
        going_on = loop.step()
        if machine.current not in visited:
            visited.append(machine.current)
        highest[machine.current] = body.root_link.p.copy()
        tilt = max(tilt, float(np.arccos(body.root_link.R[2, 2])))
        if machine.current == 'wave' and machine.state_time > 0.01:
            leg_gains.append(body.kp[legs].max())
            arm_gains.append(body.kp[right_arm].min())
    assert visited == ['stand_up', 'shift_weight', 'wave', 'shift_back', 'sit_down', -1]
    assert highest['stand_up'][2] == pytest.approx(0.708, abs=0.005)
    assert highest['shift_weight'][1] < -0.04, 'the weight is over the right foot'
    assert (max(leg_gains), min(arm_gains)) == (0.0, 3000.0), 'torques below, servos in the arm'
    assert abs(highest['shift_back'][1]) < 0.01
    assert body.root_link.p[2] == pytest.approx(0.517, abs=0.01)
    assert np.degrees(tilt) < 5.0


def test_the_routine_can_be_printed() -> None:
    """The graph names every state and transition; it needs no robot."""
    config = load_config('sr1_routine')
    from cnoid_control.controllers.composition.state_machine import ConfiguredStateMachine
    from cnoid_control.parameters import parse_parameters

    options = config.options['state_machine']
    parameters = parse_parameters(ConfiguredStateMachine.Parameters, options)
    text = graph_text(ConfiguredStateMachine.build(parameters), 'sr1_routine')
    assert 'stand_up: MotionQueueController (start)' in text
    assert '→ wave: finished and RightAnkleForceSensor[2] > 700' in text
    assert '│  └─ arm: MotionQueueController' in text
