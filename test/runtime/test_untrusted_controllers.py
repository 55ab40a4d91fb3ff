"""Controllers that misbehave: the host names them, and the robot's body is not touched."""

from __future__ import annotations

import io
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from fake_hardware import FakeHardware, two_joint_body

from cnoid_control import SimpleController, StateFlag
from cnoid_control.plugin.exceptions import ControllerLoadError
from cnoid_control.plugin.registry import find_controller
from cnoid_control.runtime.build import make_controllers
from cnoid_control.runtime.config import parse_config
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.exceptions import (
    ControllerFailed,
    ControllerRaised,
    NoControllerLeft,
)
from cnoid_control.runtime.managed_controller import ManagedController


class Misbehaving(SimpleController):
    """Does what a test tells it in one phase, and commands 7 otherwise."""

    def __init__(self, phase: str, act) -> None:
        self.phase, self.act = phase, act

    def _maybe(self, phase: str):
        return self.act(self) if self.phase == phase else True

    def configure(self, config) -> bool:
        """Act, perhaps."""
        return self._maybe('configure')

    def initialize(self, io) -> bool:
        """Command all joints; act, perhaps."""
        self.io, self.body = io, io.body
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
            io.enable_io(joint)
        return self._maybe('initialize')

    def start(self) -> bool:
        """Act, perhaps."""
        return self._maybe('start')

    def control(self) -> bool:
        """Command 7; act, perhaps."""
        self.body.u[:] = 7.0
        return self._maybe('control')


def make_host(controller: SimpleController) -> tuple[ControllerHost, FakeHardware]:
    """Host of one controller on a fake robot."""
    hardware = FakeHardware(two_joint_body())
    managed = [ManagedController('bad', controller)]
    return ControllerHost(managed, hardware.body, 0.01, io.StringIO()), hardware


def run_phases(host: ControllerHost) -> None:
    """Walk to the end of the first tick."""
    host.configure()
    host.initialize()
    host.start()
    host.control(0, 0.0)


def leave(controller: Misbehaving) -> bool:
    """End the program."""
    sys.exit(3)


def recurse(controller: Misbehaving) -> bool:
    """Call itself for ever."""
    return recurse(controller)


def divide(controller: Misbehaving) -> bool:
    """Divide by zero."""
    return bool(1 // 0)


def end_generator(controller) -> bool:
    """Raise what is no Exception."""
    raise GeneratorExit


class Unspeakable(Exception):
    """Cannot be put into words."""

    def __str__(self) -> str:
        """Raise, as a mistake in a message does."""
        return self.args[7]

    __repr__ = __str__


def be_unspeakable(controller) -> bool:
    """Raise what raises again when it is shown."""
    raise Unspeakable


def interrupt(controller) -> bool:
    """Raise what Ctrl-C raises."""
    raise KeyboardInterrupt


def test_ctrl_c_is_no_fault_of_a_controller_but_in_other_threads() -> None:
    """In the main thread it ends the program; elsewhere nobody but the controller raises it."""
    host, _ = make_host(Misbehaving('control', interrupt))
    host.configure()
    host.initialize()
    host.start()
    with pytest.raises(KeyboardInterrupt):
        host.control(0, 0.0)
    caught: list[BaseException] = []

    def control() -> None:
        try:
            host.control(1, 0.0)
        except ControllerRaised as error:
            caught.append(error)

    thread = threading.Thread(target=control)
    thread.start()
    thread.join()
    assert 'KeyboardInterrupt' in str(caught[0])


@pytest.mark.parametrize('phase', ['configure', 'initialize', 'start', 'control'])
@pytest.mark.parametrize('act', [leave, recurse, divide, end_generator, be_unspeakable])
def test_exceptions_of_every_kind_are_named(phase: str, act) -> None:
    """A phase that raises, leaves the program or recurses is a failure with a name."""
    host, hardware = make_host(Misbehaving(phase, act))
    with pytest.raises((ControllerRaised, NoControllerLeft), match=rf"'bad', {phase}\(\)"):
        run_phases(host)
    assert hardware.body.u.tolist() == [0.0, 0.0]


@pytest.mark.parametrize('phase', ['configure', 'initialize', 'start', 'control'])
@pytest.mark.parametrize('result', [None, 1, 'yes', np.ones(2), [], Unspeakable()])
def test_results_that_are_no_bool_are_refused(phase: str, result: object) -> None:
    """A result that is neither True nor False is a failure that shows it."""
    host, hardware = make_host(Misbehaving(phase, lambda controller: result))
    with pytest.raises((ControllerFailed, NoControllerLeft), match='must return True or False'):
        run_phases(host)
    assert hardware.body.u.tolist() == [0.0, 0.0]


def rebind(controller: Misbehaving) -> bool:
    """Put an array of the wrong size into the body."""
    controller.body.u = np.zeros(5)
    return True


def assign_text(controller: Misbehaving) -> bool:
    """Write a word as torques."""
    controller.body.u[:] = 'fast'
    return True


def grow(controller: Misbehaving) -> bool:
    """Resize an array."""
    controller.body.u.resize(7)
    return True


@pytest.mark.parametrize('act', [rebind, assign_text, grow])
def test_wrong_shapes_and_types_fail_where_they_are_written(act) -> None:
    """Commands of a wrong size or type are errors of the controller."""
    host, hardware = make_host(Misbehaving('control', act))
    with pytest.raises(ControllerRaised, match=r"'bad', control\(\) at tick 0"):
        run_phases(host)
    assert hardware.body.u.tolist() == [0.0, 0.0]


def reshape(controller: Misbehaving) -> bool:
    """Turn the row of torques into a column."""
    controller.body.u.shape = (2, 1)
    return True


def empty_lists(controller: Misbehaving) -> bool:
    """Empty everything that can be emptied."""
    controller.body.joints.clear()
    controller.body.links.clear()
    controller.body.joint_arrays.clear()
    controller.io.outputs.clear()
    controller.io.inputs.clear()
    return True


def change_modes(controller: Misbehaving) -> bool:
    """Change the actuation modes in the middle of a run."""
    for joint in controller.body.joints:
        joint.actuation_mode = StateFlag.JOINT_DISPLACEMENT
    return True


@pytest.mark.parametrize('act', [reshape, empty_lists, change_modes])
@pytest.mark.filterwarnings('ignore::DeprecationWarning')
def test_the_robot_has_a_body_of_its_own(act) -> None:
    """Whatever a controller does to its body, the robot's keeps sizes, lists and modes."""
    host, hardware = make_host(Misbehaving('control', act))
    run_phases(host)
    host.control(1, 0.01)
    body = hardware.body
    assert body.u.tolist() == [7.0, 7.0]
    assert body.u.shape == (2,)
    assert [joint.actuation_mode for joint in body.joints] == [StateFlag.JOINT_TORQUE] * 2


def test_kept_references_move_nothing_after_the_stop() -> None:
    """A controller that keeps its body and writes to it later does not reach the robot."""
    controller = Misbehaving('', None)
    host, hardware = make_host(controller)
    run_phases(host)
    host.stop()
    controller.body.u[:] = 99.0
    controller.body.joints[0].u = 99.0
    assert hardware.body.u.tolist() == [7.0, 7.0]


@pytest.mark.filterwarnings('ignore::pytest.PytestUnhandledThreadExceptionWarning')
def test_threads_that_raise_do_not_matter() -> None:
    """An exception in a thread that a controller has started does not reach the loop."""

    def spawn(controller: Misbehaving) -> bool:
        thread = threading.Thread(target=lambda: divide(controller))
        thread.start()
        thread.join()
        return True

    host, hardware = make_host(Misbehaving('control', spawn))
    run_phases(host)
    assert hardware.body.u.tolist() == [7.0, 7.0]


def test_abandoned_controllers_are_stopped_by_their_own_thread_only() -> None:
    """Who has not returned is not stopped or unconfigured by others."""
    controller = Misbehaving('', None)
    calls: list[str] = []
    controller.stop = lambda: calls.append('stop')
    controller.unconfigure = lambda: calls.append('unconfigure')
    host, _ = make_host(controller)
    run_phases(host)
    calls.clear()
    host.initialize()
    host.start()
    host.abandon()
    host.stop()
    host.unconfigure()
    assert calls == []
    host.stop_abandoned()
    assert calls[0] == 'stop'


@pytest.mark.parametrize(
    'source', ['import sys; sys.exit(1)', 'import nothing_like_it', '1 +', 'raise ValueError(2)']
)
def test_imports_that_fail_are_named(tmp_path: Path, source: str) -> None:
    """A file that cannot be imported is an error with the file's name."""
    path = tmp_path / 'broken.py'
    path.write_text(source)
    with pytest.raises(ControllerLoadError, match=r'broken\.py'):
        find_controller(f'{path}:Broken')


def test_constructors_that_raise_are_named(tmp_path: Path) -> None:
    """A controller that cannot be made is an error with its name."""
    path = tmp_path / 'unmade.py'
    path.write_text(
        'from cnoid_control import SimpleController\n'
        'class Unmade(SimpleController):\n'
        '    def __init__(self):\n'
        '        raise ValueError("no")\n'
    )
    config = parse_config({'robot': {'model': 'sr1.urdf'}, 'controller': f'{path}:Unmade'})
    with pytest.raises(ControllerRaised, match=r"'unmade', __init__\(\): raised ValueError: no"):
        make_controllers(config)
