"""The life cycle: what each phase does with True, False, an exception and anything else."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
import pytest
from fake_hardware import FakeHardware, two_joint_body

from cnoid_control import SimpleController, StateFlag, parameter
from cnoid_control.body import Body, JointType
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.devices import PointLight
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.exceptions import ControllerFailed, NoControllerLeft
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.runtime.safety.hang_monitor import Abandoned, HangMonitor
from cnoid_control.runtime.safety.limit_rules import ImplausibleCommand

CALLS: list[str] = []


@pytest.fixture(autouse=True)
def forget_calls():
    """Begin each test with no calls noted."""
    CALLS.clear()


class Noting(SimpleController):
    """Notes its calls; answers as told: {'start': False} or {'start': ValueError('x')}."""

    def __init__(self, name: str, answers: dict | None = None) -> None:
        self.name = name
        self.answers = answers or {}

    def _note(self, phase: str):
        CALLS.append(f'{self.name}.{phase}')
        answer = self.answers.get(phase, True)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def configure(self, config):
        self.config = config
        return self._note('configure')

    def initialize(self, io):
        self.io = io
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
            io.enable_io(joint)
        return self._note('initialize')

    def start(self):
        return self._note('start')

    def control(self):
        return self._note('control')

    def stop(self):
        self._note('stop')

    def pause(self):
        self._note('pause')

    def resume(self):
        return self._note('resume')

    def unconfigure(self):
        self._note('unconfigure')


def make_host(*managed: ManagedController) -> ControllerHost:
    """Host on a two-joint arm."""
    return ControllerHost(managed, two_joint_body(), 0.01, io.StringIO())


def noting(name: str, children=(), **answers) -> ManagedController:
    """A noting controller and its sub-controllers."""
    return ManagedController(name, Noting(name, answers), children=list(children))


def run(host: ControllerHost, ticks: int = 1) -> None:
    """All phases in order."""
    host.configure()
    host.initialize()
    host.start()
    for tick in range(ticks):
        host.control(tick, tick * 0.01)
    host.stop()
    host.unconfigure()


@pytest.mark.parametrize('answer', [True, ValueError('x'), None], ids=['True', 'raised', 'None'])
def test_who_loses_the_robot_while_it_computes_commands_nothing(answer) -> None:
    """However control() ends: whoever has closed its call owns the robot."""
    monitor = HangMonitor()
    host = make_host(noting('one', control=answer))
    host.configure()
    host.initialize()
    host.start()
    controller = host.controllers[0].controller
    note = controller._note

    def take_over(phase: str):
        controller.io.body.u[:] = 7.0
        call = monitor.last_call()
        assert (call.host, call.name, call.in_tick) == (host, 'control', True)
        assert call.close()
        return note(phase)

    controller._note = take_over
    with pytest.raises(Abandoned) as lost:
        host.control(3, 0.03, monitor)
    assert lost.value.call.host is host
    assert host.body.u.tolist() == [0.0, 0.0]


def test_base_class_results():
    """The base class agrees to everything and has nothing to do."""
    base = SimpleController()
    assert base.configure(None) is True
    assert base.initialize(None) is True
    assert base.start() is True
    assert base.control() is False
    assert base.stop() is None
    assert base.pause() is None
    assert base.resume() is True
    assert base.unconfigure() is None


def test_phases_come_in_order():
    """Configure, initialize, start, control, stop, unconfigure."""
    run(make_host(noting('a')), ticks=2)
    phases = ['configure', 'initialize', 'start', 'control', 'control', 'stop', 'unconfigure']
    assert [f'a.{phase}' for phase in phases] == CALLS


BAD_ANSWERS = {
    'False': (False, 'returned False'),
    'exception': (ValueError('bad luck'), 'raised ValueError: bad luck'),
    'no bool': (None, 'returned None; it must return True or False'),
    'number': (1, 'returned 1; it must return True or False'),
}


@pytest.mark.parametrize('answer', BAD_ANSWERS)
@pytest.mark.parametrize('phase', ['configure', 'initialize', 'start'])
def test_failing_before_the_loop_drops_the_controller(phase, answer):
    """The others go on; the dropped one is neither controlled nor stopped."""
    value, message = BAD_ANSWERS[answer]
    host = make_host(noting('a', **{phase: value}), noting('b'))
    run(host)
    assert 'b.control' in CALLS
    assert 'b.stop' in CALLS
    assert 'a.control' not in CALLS
    assert 'a.stop' not in CALLS
    assert ('a.initialize' in CALLS) == (phase != 'configure')
    assert ('a.unconfigure' in CALLS) == (phase != 'configure')
    (error,) = host.errors
    assert str(error).startswith(f"controller 'a', {phase}(): {message}")
    assert message in host.os.getvalue()


@pytest.mark.parametrize('phase', ['configure', 'initialize', 'start'])
def test_run_does_not_begin_without_controllers(phase):
    """When all have been dropped there is nothing to run."""
    with pytest.raises(NoControllerLeft, match=rf"'a', {phase}\(\): returned False"):
        run(make_host(noting('a', **{phase: False})))


@pytest.mark.parametrize('answer', ['exception', 'no bool', 'number'])
def test_failing_in_control_is_raised_with_its_tick(answer):
    """It names the controller, the phase and the tick."""
    value, message = BAD_ANSWERS[answer]
    host = make_host(noting('a', control=value))
    host.configure()
    host.initialize()
    host.start()
    with pytest.raises(ControllerFailed) as caught:
        host.control(17, 0.17)
    assert str(caught.value).startswith(f"controller 'a', control() at tick 17: {message}")
    assert caught.value.tick == 17


def test_false_from_control_is_an_answer():
    """control() is called again after a False; the host says whether anyone has more to do."""
    first, second = noting('a', control=False), noting('b')
    host = make_host(first, second)
    host.configure()
    host.initialize()
    host.start()
    assert host.control(0, 0.0) is True
    second.controller.answers['control'] = False
    assert host.control(1, 0.01) is False
    assert CALLS.count('a.control') == 2


def test_unconfigures_before_it_configures_again():
    """A second configure is preceded by unconfigure."""
    managed = noting('a')
    body = two_joint_body()
    managed.configure(body, 0.01, io.StringIO())
    managed.configure(body, 0.01, io.StringIO())
    assert CALLS == ['a.configure', 'a.unconfigure', 'a.configure']


def test_sub_controllers_are_led_by_their_parent():
    """Parents first and children in order; stop, pause and unconfigure in reverse."""
    host = make_host(noting('p', [noting('c', [noting('g')]), noting('d')]))
    host.configure()
    host.initialize()
    host.start()
    host.control(0, 0.0)
    host.pause()
    host.resume()
    host.stop()
    host.unconfigure()
    down, up = ['p', 'c', 'g', 'd'], ['d', 'g', 'c', 'p']
    expected = [f'{name}.{phase}' for phase in ('configure', 'initialize') for name in down]
    expected += [f'{name}.{phase}' for phase in ('start', 'control') for name in down]
    expected += [f'{name}.pause' for name in up] + [f'{name}.resume' for name in down]
    expected += [f'{name}.{phase}' for phase in ('stop', 'unconfigure') for name in up]
    assert expected == CALLS


@pytest.mark.parametrize('phase', ['configure', 'initialize'])
def test_failing_child_is_left_out(phase):
    """Its parent and its siblings go on."""
    host = make_host(noting('p', [noting('c', **{phase: False}), noting('d')]))
    run(host)
    assert [call for call in CALLS if call.endswith('control')] == ['p.control', 'd.control']
    assert len(host.errors) == 1


def test_child_that_fails_to_start_fails_its_parent():
    """A family starts as a whole or not at all."""
    host = make_host(noting('p', [noting('c', start=False)]), noting('b'))
    run(host)
    assert [call for call in CALLS if call.endswith('control')] == ['b.control']
    assert 'p.stop' not in CALLS


def test_results_of_a_family_are_or_ed():
    """A child that has more to do keeps the run going."""
    host = make_host(noting('p', [noting('c')], control=False))
    host.configure()
    host.initialize()
    host.start()
    assert host.control(0, 0.0) is True


@pytest.mark.parametrize('answer', [False, None, ValueError('no')])
def test_parent_that_does_not_resume_keeps_its_children_back(answer):
    """It is reported, and the run goes on."""
    host = make_host(noting('p', [noting('c')], resume=answer), noting('b'))
    host.configure()
    host.initialize()
    host.start()
    host.pause()
    host.resume()
    assert 'c.resume' not in CALLS
    assert 'b.resume' in CALLS
    assert len(host.errors) == 1
    assert host.control(0, 0.0)


@pytest.mark.parametrize('phase', ['pause', 'stop', 'unconfigure'])
def test_exceptions_of_phases_without_a_result_are_reported(phase):
    """Everybody else is still called."""
    host = make_host(
        noting('p', [noting('c', **{phase: OSError('x')})]),
        noting('b', **{phase: OSError('y')}),
    )
    host.configure()
    host.initialize()
    host.start()
    host.pause()
    host.stop()
    host.unconfigure()
    assert {f'{name}.{phase}' for name in 'pcb'} <= set(CALLS)
    assert {error.controller for error in host.errors} == {'c', 'b'}


def test_config_body_is_the_model_and_io_body_a_clone():
    """Neither is the robot's own body, and controllers do not share one; families do."""
    host = make_host(noting('a', [noting('c')]), noting('b'))
    host.body.q[:] = [0.3, 0.4]
    host.configure()
    host.initialize()
    a, b = host.controllers
    c = a.children[0]
    bodies: list[Body] = [host.body, a.controller.config.body, a.io.body, b.io.body]
    assert len({id(body) for body in bodies}) == 4
    assert c.io.body is a.io.body
    np.testing.assert_array_equal(a.io.body.q, [0.3, 0.4])


def test_initial_commands_reach_the_robot_before_the_first_tick():
    """What initialize() wrote is in the robot's body when the hardware opens."""

    class Posing(Noting):
        def initialize(self, io):
            super().initialize(io)
            io.body.u[:] = [5.0, 6.0]
            return True

    host = make_host(ManagedController('a', Posing('a')))
    host.configure()
    request = host.initialize()
    np.testing.assert_array_equal(host.body.u, [5.0, 6.0])
    assert [joint.actuation_mode for joint in host.body.joints] == [StateFlag.JOINT_EFFORT] * 2
    assert request.outputs == {'arm0': StateFlag.JOINT_EFFORT, 'arm1': StateFlag.JOINT_EFFORT}
    assert request.inputs == {
        'arm0': StateFlag.JOINT_DISPLACEMENT,
        'arm1': StateFlag.JOINT_DISPLACEMENT,
    }
    assert request.no_delay == set()


def test_no_delay_is_requested_for_the_links_of_that_controller():
    """Only the outputs of the controller in no-delay mode act at once."""

    class Half(SimpleController):
        def __init__(self, joint: int, no_delay: bool) -> None:
            self.joint, self.no_delay = joint, no_delay

        def initialize(self, io):
            joint = io.body.joint(self.joint)
            io.enable_output(joint, StateFlag.JOINT_VELOCITY)
            io.no_delay_mode = self.no_delay
            return True

    host = make_host(ManagedController('a', Half(0, True)), ManagedController('b', Half(1, False)))
    host.configure()
    request = host.initialize()
    assert request.no_delay == {'arm0'}
    assert request.outputs == dict.fromkeys(('arm0', 'arm1'), StateFlag.JOINT_VELOCITY)


def test_two_controllers_on_one_link_are_warned_of():
    """The later one wins, and that is said."""
    host = make_host(noting('a'), noting('b'))
    host.configure()
    host.initialize()
    assert "link 'arm0' is commanded by 'a' and by 'b'; the latter wins" in host.os.getvalue()


def test_time_is_that_of_the_tick():
    """io.current_time follows the time of the state; io.time_step is the period."""
    times = []

    class Clock(Noting):
        def control(self):
            times.append(self.io.current_time)
            return True

    hardware = FakeHardware(two_joint_body())
    host = ControllerHost(
        [ManagedController('a', Clock('a'))], hardware.body, hardware.time_step, io.StringIO()
    )
    host.configure()
    host.initialize()
    host.start()
    assert host.controllers[0].io.time_step == 0.01
    for tick in range(3):
        hardware.read()
        host.control(tick, hardware.time)
    assert times == [0.0, 0.01, 0.02]


def test_control_c_in_a_phase_is_not_the_fault_of_the_controller() -> None:
    """It ends the program, as everywhere."""

    class Interrupted(SimpleController):
        def configure(self, config):
            raise KeyboardInterrupt

    host = ControllerHost([ManagedController('c', Interrupted())], two_joint_body(), 0.01)
    with pytest.raises(KeyboardInterrupt):
        host.configure()


def test_other_options_reach_the_controller() -> None:
    """By update_parameters, before `io.parameters` has them; a refusal leaves the old ones."""

    @dataclass
    class Options:
        gain: float = parameter(1.0, 'gain')

    class Tuned(SimpleController):
        Parameters = Options

        def initialize(self, io):
            self.io, self.seen = io, []
            return True

        def update_parameters(self, old, new):
            self.seen.append((old.gain, new.gain, self.io.parameters.gain))
            if new.gain < 0.0:
                raise ValueError('too small')

    controller = Tuned()
    managed = ManagedController('c', controller, {'gain': 1.0})
    host = ControllerHost([managed], two_joint_body(), 0.01)
    host.configure()
    host.initialize()
    managed.change_options({'gain': 2.0}, Options(2.0))
    with pytest.raises(ValueError, match='too small'):
        managed.change_options({'gain': -1.0}, Options(-1.0))
    assert controller.seen == [(1.0, 2.0, 1.0), (2.0, -1.0, 2.0)]
    assert controller.io.parameters.gain == managed.parameters.gain == 2.0


def test_no_controller_is_left_after_initialize() -> None:
    """That is said at once, not in the first tick."""

    class Refusing(SimpleController):
        def initialize(self, io):
            return False

    managed = ManagedController('c', Refusing())
    host = ControllerHost([managed], two_joint_body(), 0.01, io.StringIO())
    host.configure()
    with pytest.raises(NoControllerLeft):
        host.initialize()


def test_devices_of_a_controller_that_does_not_start_are_let_go() -> None:
    """What it does with them afterwards does not reach the robot."""
    root = LinkDescription('root', joint_type=JointType.FREE)
    body = Body(BodyDescription('lamp', [root], [('root', PointLight('light'))]))

    class Dark(SimpleController):
        def initialize(self, io):
            self.light = io.body.devices[0]
            return True

        def start(self):
            return False

    class Idle(SimpleController):
        def initialize(self, io):
            return True

        def control(self):
            return True

    dark = Dark()
    managed = ManagedController('dark', dark)
    host = ControllerHost([managed, ManagedController('idle', Idle())], body, 0.01, io.StringIO())
    host.configure()
    host.initialize()
    transfer = managed.devices
    host.start()
    dark.light.on = False
    dark.light.notify_state_change()
    assert transfer is not None
    assert not transfer.outgoing


@pytest.mark.parametrize('phase', ['update_parameters', 'control', 'stop', 'pause', 'unconfigure'])
def test_control_c_passes_through_every_phase(phase: str) -> None:
    """In the main thread, where Python raises it."""

    @dataclass
    class Options:
        gain: float = parameter(1.0, 'gain')

    class Tuned(SimpleController):
        Parameters = Options

        def initialize(self, io):
            return True

        def update_parameters(self, old, new):
            """Follow."""

        def control(self):
            return True

    def interrupt(*args):
        raise KeyboardInterrupt

    controller = Tuned()
    managed = ManagedController('c', controller, {'gain': 1.0})
    host = ControllerHost([managed], two_joint_body(), 0.01, io.StringIO())
    host.configure()
    host.initialize()
    host.start()
    if phase == 'update_parameters':
        Tuned.update_parameters = interrupt
        with pytest.raises(KeyboardInterrupt):
            managed.change_options({'gain': 2.0}, Options(2.0))
        return
    setattr(controller, phase, interrupt)
    host.compile()
    with pytest.raises(KeyboardInterrupt):
        getattr(host, phase)(*((0, 0.0) if phase == 'control' else ()))


def test_devices_of_a_controller_that_does_not_initialize_are_let_go() -> None:
    """Nobody listens to them any more."""
    root = LinkDescription('root', joint_type=JointType.FREE)
    body = Body(BodyDescription('lamp', [root], [('root', PointLight('light'))]))
    kept = []

    class Dark(SimpleController):
        def initialize(self, io):
            kept.append(io.body.devices[0])
            return False

    class Idle(Dark):
        def initialize(self, io):
            return True

        def control(self):
            return True

    managed = [ManagedController('dark', Dark()), ManagedController('idle', Idle())]
    host = ControllerHost(managed, body, 0.01, io.StringIO())
    host.configure()
    host.initialize()
    assert managed[0].devices is None
    assert not kept[0].state_changed._slots


def test_who_commands_a_joint_is_named() -> None:
    """Those whose output it is; all where that is not known, or it is nobody's."""

    class Half(SimpleController):
        def __init__(self, joint: int) -> None:
            self.joint = joint

        def initialize(self, io):
            io.enable_output(io.body.joint(self.joint), StateFlag.JOINT_VELOCITY)
            return True

    host = make_host(ManagedController('a', Half(0)), ManagedController('b', Half(1)))
    host.configure()
    host.initialize()
    bad = ImplausibleCommand('joint1', 'velocity', 1e9, -1.0, 1.0)
    assert host.who_commands(bad) == ['b']
    assert host.who_commands(bad._replace(joint='joint0')) == ['a']
    assert host.who_commands(None) == ['a', 'b']
