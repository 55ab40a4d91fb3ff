"""Other threads of the process and the loop's: who has the interpreter when."""

import sys
import threading

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

import cnoid_control.ros.robot.hardware as hardware_module
from cnoid_control.runtime.realtime import SWITCH_INTERVAL, TICK_INTERVAL, QuietProcess


@pytest.mark.parametrize('trigger', ['state', 'timer'])
def test_it_is_shared_during_a_wait_and_kept_for_the_tick(rig, monkeypatch, trigger):
    """Whoever asks for it in a tick gets it at the end; the loop has it back soon after a wait."""
    hardware = rig.hardware(trigger=trigger, state_timeout=0.05)
    rig.open(hardware)
    shared, loop = [], threading.get_ident()
    subscription = hardware.source.subscription
    wait, sleep = subscription.wait, hardware_module.time.sleep

    def note(function):
        def noted(duration):
            if threading.get_ident() == loop:
                shared.append(sys.getswitchinterval())
            function(duration)

        return noted

    monkeypatch.setattr(subscription, 'wait', note(wait))
    monkeypatch.setattr(hardware_module.time, 'sleep', note(sleep))
    quiet = QuietProcess()
    quiet.begin()
    try:
        hardware.read()
        kept = sys.getswitchinterval()
    finally:
        quiet.end()
    assert shared
    assert shared[0] == pytest.approx(SWITCH_INTERVAL)
    assert kept == pytest.approx(TICK_INTERVAL)
