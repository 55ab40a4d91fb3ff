"""Simulation: a loop that the user owns, on the same parts as `cnoid_control run`."""

from __future__ import annotations

import gc
import io
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cnoid_control import SimpleController, Simulation, StateFlag, load_robot, run
from cnoid_control.body import JointPath
from cnoid_control.cli.main import main
from cnoid_control.controllers.composition import BaseController, LambdaController
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.runtime.config import load_config


class Torque(SimpleController):
    """The same torque for ever; counts what is called."""

    torque = 0.0

    def __init__(self) -> None:
        """Nothing was called yet."""
        self.calls: list[str] = []

    def initialize(self, io: Any) -> bool:
        """Command torques."""
        self.calls.append('initialize')
        self.body, self.io = io.body, io
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
            io.enable_io(joint)
        return True

    def control(self) -> bool:
        """Command it."""
        self.calls.append('control')
        self.body.u[:] = self.torque
        return True

    def stop(self) -> None:
        """Note it."""
        self.calls.append('stop')


class Failing(Torque):
    """Fails in its third tick."""

    def control(self) -> bool:
        """Fail."""
        if self.io.current_time > 0.009:
            raise RuntimeError('no more')
        return super().control()


def make(robot: Any, goal: float = 0.4) -> LambdaController:
    """Hold a goal."""
    return LambdaController(lambda t: {'qcmd': np.full(robot.num_joints, goal)}, ['t'])


def quiet(*arguments: Any, **more: Any) -> Simulation:
    """Simulation without messages."""
    return Simulation(*arguments, os=io.StringIO(), **more)


def test_three_lines(folder: Path) -> None:
    """A run, and its arrays."""
    done = run(folder / 'arm.yaml', make, 1.0)
    assert done.recorded.q[-1, 0] == pytest.approx(0.4, abs=0.01)
    assert done.summary()['exit'] == 'completed'
    assert len(done.recorded) == 200


@pytest.mark.parametrize(
    'controller',
    [Torque, Torque(), make, 'pd'],
    ids=['class', 'instance', 'function', 'name'],
)
def test_controllers_of_every_kind(folder: Path, controller: Any) -> None:
    """A class, an instance, a function that makes one, and a name."""
    with quiet(folder / 'arm.yaml', controller) as simulation:
        assert simulation.step()
        assert simulation.controller is not None
        assert simulation.run(0.1)['exit'] == 'completed'


def test_a_block_as_controller(folder: Path) -> None:
    """An instance of a BaseController, and options of a function."""
    block = LambdaController(lambda t: {'qcmd': np.array([0.2])}, ['t'])
    assert quiet(folder / 'arm.yaml', block).run(2.0)['exit'] == 'completed'
    simulation = quiet(folder / 'arm.yaml', make, options={'goal': -0.3})
    simulation.run(2.0)
    assert simulation.robot.q[0] == pytest.approx(-0.3, abs=0.01)
    with pytest.raises(CnoidControlError, match=r'make\.gaol: unknown option'):
        quiet(folder / 'arm.yaml', make, options={'gaol': 1.0})


def test_steps_are_ticks_of_the_run(folder: Path) -> None:
    """Stepping by hand, in parts and at once gives the same, to the bit."""
    by_hand, in_parts = (quiet(folder / 'arm.yaml', make) for _ in range(2))
    for _ in range(60):
        assert by_hand.step()
    in_parts.run(0.1)
    in_parts.run(0.2)
    whole = run(folder / 'arm.yaml', make, 0.3)
    assert by_hand.time == in_parts.time == pytest.approx(0.295)
    np.testing.assert_array_equal(by_hand.recorded.rows, in_parts.recorded.rows)
    np.testing.assert_array_equal(by_hand.recorded.rows, whole.recorded.rows)


def test_a_torque_by_newton(folder: Path) -> None:
    """The recorded motion is that of a constant torque on the known inertia."""

    class Two(Torque):
        torque = 0.05

    simulation = quiet(folder / 'arm.yaml', Two)
    simulation.run(1.0)
    inertia = 0.05 + 2.0 * 0.25**2
    recorded = simulation.recorded
    # The first command acts one tick later.
    expected = 0.5 * 0.05 / inertia * np.maximum(0.0, recorded.time - 0.005) ** 2
    np.testing.assert_allclose(recorded.q[:, 0], expected, atol=2e-4)
    np.testing.assert_allclose(recorded.u[1:, 0], 0.05)
    assert recorded.dq.shape == recorded.q_target.shape == (200, 1)
    assert recorded.root_position.shape == (200, 3)
    assert recorded.root_orientation.shape == (200, 4)
    assert recorded['dq_target'].shape == (200, 1)
    with pytest.raises(CnoidControlError, match=r"under 'qq'; choose from: .*dq"):
        recorded['qq']


def test_a_push_changes_the_angular_momentum_by_its_impulse(folder: Path) -> None:
    """Force times time times lever arm, for the point given and for the centre of mass."""
    inertia = 0.05 + 2.0 * 0.25**2
    for point, arm in ((None, 0.25), ([0.5, 0.0, 0.0], 0.5)):
        simulation = quiet(folder / 'arm.yaml', Torque)
        simulation.run(0.05)
        simulation.push('upper', [0.0, 0.2, 0.0], 0.05, point)
        simulation.run(0.2)
        expected = 0.2 * 0.05 * arm / inertia
        assert simulation.robot.dq[0] == pytest.approx(expected, rel=1e-3)


def test_a_push_falls_a_free_body(folder: Path) -> None:
    """On a free root too: it flies by its impulse."""
    simulation = quiet(
        folder / 'arm.yaml',
        Torque,
        changes={'robot.model': 'box.urdf', 'hardware.mujoco.collision': []},
    )
    simulation.push('box', [8.0, 0.0, 0.0], 0.1)
    simulation.run(0.5)
    assert simulation.recorded.root_velocity[-1, 0] == pytest.approx(0.2, rel=1e-6)


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (('lower', [1, 0, 0], 0.1), "unknown link 'lower'; choose from: base, upper"),
        (('upper', [1, 0], 0.1), 'force is .*; 3 finite values'),
        (('upper', [1, 0, np.nan], 0.1), 'force is .*; 3 finite values'),
        (('upper', [1, 0, 0], 0.0), 'duration is 0.0'),
        (('upper', [1, 0, 0], 0.1, [1]), 'point is'),
    ],
)
def test_a_wrong_push_is_refused(folder: Path, arguments: Any, words: str) -> None:
    """With what was expected."""
    with pytest.raises(CnoidControlError, match=words):
        quiet(folder / 'arm.yaml').push(*arguments)


def test_what_is_not_physics_is_not_pushed(folder: Path) -> None:
    """It would be ignored."""
    simulation = quiet(folder / 'arm.yaml', changes={'hardware.type': 'kinematic'})
    with pytest.raises(CnoidControlError, match="'kinematic' cannot be pushed"):
        simulation.push('upper', [1, 0, 0], 0.1)


def test_reset_repeats_to_the_bit() -> None:
    """With noise, a push and a swap in between."""
    noise = {'q': {'noise': 1e-4}, 'dq': {'noise': 1e-3, 'delay': 0.002}}
    simulation = quiet('sr1_pd', changes={'hardware.mujoco.sensors': noise})

    def story() -> np.ndarray:
        simulation.run(0.2)
        simulation.push('WAIST', [100.0, 20.0, 0.0], 0.05)
        simulation.run(0.3)
        return simulation.recorded.rows.copy()

    first = story()
    simulation.swap('sr1_walk')
    simulation.run(0.3)
    simulation.swap('sr1_minimum')
    simulation.run(0.1)
    simulation.reset()
    assert simulation.time == 0.0
    assert len(simulation.recorded) == 0
    np.testing.assert_array_equal(story(), first)
    simulation.close()


def test_an_instance_is_initialized_again(folder: Path) -> None:
    """It is the same object, and a class makes another one."""
    mine = Torque()
    simulation = quiet(folder / 'arm.yaml', mine)
    simulation.run(0.02)
    simulation.reset()
    assert simulation.controller is mine
    assert mine.calls == ['initialize', *['control'] * 4, 'stop', 'initialize']
    simulation = quiet(folder / 'arm.yaml', Torque)
    before = simulation.controller
    simulation.reset()
    assert simulation.controller is not before


def test_swap_takes_over_and_a_bad_one_does_not(folder: Path) -> None:
    """The position goes on from where it is; who fails leaves the robot to the old one."""
    simulation = quiet(folder / 'arm.yaml', make)
    simulation.run(1.0)
    simulation.swap(make, {'goal': -0.2}, blend_time=0.2)
    simulation.run(2.0)
    assert simulation.robot.q[0] == pytest.approx(-0.2, abs=0.01)
    jumps = np.abs(np.diff(simulation.recorded.q[200:, 0]))
    # The blended target moves by up to 0.019 in a tick; a jump would be one of 0.5.
    assert jumps.max() < 0.03
    with pytest.raises(CnoidControlError, match='no_such'):
        simulation.swap('no_such')
    with pytest.raises(CnoidControlError, match=r'blend_time is -1; a finite time'):
        simulation.swap(make, blend_time=-1)
    with pytest.raises(CnoidControlError, match=r'duration is -1; a finite time above 0 s'):
        run(folder / 'arm.yaml', make, duration=-1)
    with pytest.raises(CnoidControlError, match='refused'):
        simulation.swap(Refusing)
    simulation.run(0.5)
    assert simulation.robot.q[0] == pytest.approx(-0.2, abs=0.01)
    assert simulation.config.controller_name == 'make'


class Refusing(Torque):
    """Fails in its first tick."""

    def control(self) -> bool:
        """Fail."""
        raise CnoidControlError('refused')


def test_a_failure_ends_the_run_and_is_told(folder: Path) -> None:
    """The reason is in the summary; what comes afterwards is refused until a reset."""
    simulation = quiet(folder / 'arm.yaml', Failing)
    summary = simulation.run(1.0)
    assert summary['exit'] == 'failed'
    assert 'no more' in summary['reason']
    assert summary['ticks'] == 3
    with pytest.raises(CnoidControlError, match=r'the run has ended: .*no more'):
        simulation.step()
    simulation.reset()
    assert simulation.step()


def test_the_limits_act(folder: Path) -> None:
    """As in every other loop."""

    class Strong(Torque):
        torque = 8.0

    simulation = quiet(folder / 'arm.yaml', Strong, changes={'limits.max_effort': 5.0})
    assert simulation.run(0.05)['limited']


def test_controllers_stop_when_it_is_left(folder: Path) -> None:
    """And the records stay."""
    mine = Torque()
    with quiet(folder / 'arm.yaml', mine) as simulation:
        simulation.run(0.01)
    assert mine.calls[-1] == 'stop'
    assert len(simulation.recorded) == 2


def test_a_loaded_config_and_changes(folder: Path) -> None:
    """A RunConfig is taken as it is; changes make another one."""
    config = load_config(folder / 'arm.yaml')
    assert quiet(config).config is config
    changed = quiet(config, changes={'rate': 100.0})
    assert changed.time_step == 0.01
    with pytest.raises(CnoidControlError, match='raet: unknown option'):
        quiet(config, changes={'raet': 100.0})


def test_tables_and_plots(folder: Path) -> None:
    """Objects show themselves; the table has a column per joint."""
    simulation = quiet(folder / 'arm.yaml', make)
    simulation.run(0.1)
    assert '<table>' in simulation._repr_html_()
    assert '(20, 1)' in simulation.recorded._repr_html_()
    assert 'at 0.095 s' in repr(simulation)
    figure = simulation.recorded.plot('q', 'root_q')
    figure.canvas.draw()
    for axes in figure.axes:
        # Legends are beside the curves.
        assert axes.get_legend().get_window_extent().x0 >= axes.get_window_extent().x1
    assert len(figure.axes) == 2
    assert len(figure.axes[1].lines) == 7
    with pytest.raises(CnoidControlError, match="unknown joint 'elbow'"):
        simulation.recorded.plot(joints=['elbow'])
    pandas = pytest.importorskip('pandas', reason='pandas is not installed')
    table = simulation.recorded.to_pandas()
    assert isinstance(table, pandas.DataFrame)
    np.testing.assert_array_equal(table['q.shoulder'], simulation.recorded.q[:, 0])
    assert table.index.name == 'time'


def test_nothing_is_recorded_where_nothing_shall_be(folder: Path) -> None:
    """A run without an end needs no memory for its records."""
    simulation = quiet(folder / 'arm.yaml', record=False)
    simulation.run(0.1)
    with pytest.raises(CnoidControlError, match='record=False'):
        _ = simulation.recorded


def test_kinematics_alone() -> None:
    """Forward kinematics, Jacobian by differences, and inverse kinematics back to the start."""
    body = load_robot('sr1')
    path = JointPath(body.link('CHEST'), body.link('RARM_WRIST_R'))
    hand = body.link('RARM_WRIST_R')
    place, q = hand.p.copy(), body.q.copy()
    jacobian = path.calc_jacobian()
    joint = path.joints[1]
    joint.q += 1e-6
    body.calc_forward_kinematics()
    np.testing.assert_allclose((hand.p - place) / 1e-6, jacobian[:3, 1], atol=1e-5)
    body.q[:] = q
    body.calc_forward_kinematics()


def test_simulation_is_imported_when_it_is_used() -> None:
    """A controller file pays nothing for it."""
    code = (
        'import sys, cnoid_control\n'
        "assert 'mujoco' not in sys.modules and 'cnoid_control.simulation' not in sys.modules\n"
        'from cnoid_control import Simulation, load_robot, run\n'
        "assert 'mujoco' not in sys.modules\n"
    )
    subprocess.run([sys.executable, '-c', code], check=True, timeout=60)


def test_the_command_line_says_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`run --json` and `Simulation.run` are one."""
    assert main(['run', str(folder / 'arm.yaml'), '--duration', '0.5', '--json']) == 0
    told = json.loads(capsys.readouterr().out)
    done = run(folder / 'arm.yaml', duration=0.5).summary()
    for key in told:
        if key != 'real_time_factor':
            assert told[key] == done[key]


def test_sensors_by_name_and_by_number() -> None:
    """Every device is there, whether a controller reads it or not; the feet carry the weight."""
    simulation = quiet('sr1_pd')
    simulation.run(1.0)
    devices = [device.name for device in simulation.robot.devices]
    for i, name in enumerate(['q', 'dq', *devices]):
        assert simulation.sensor(i).name == simulation.sensor(name).name == name
    np.testing.assert_array_equal(simulation.sensor('q').measurements, simulation.robot.q)
    feet = [simulation.sensor(f'{side}AnkleForceSensor') for side in ('Left', 'Right')]
    simulation.run(0.5)
    weight = sum(foot.measurements[2] for foot in feet)
    below = sum(simulation.robot.link(f'{side}LEG_ANKLE_R').m for side in 'LR')
    assert weight == pytest.approx((simulation.robot.mass - below) * 9.80665, rel=0.05)
    for key in ('no_such', -1, 2 + len(devices)):
        with pytest.raises(CnoidControlError, match='unknown sensor'):
            simulation.sensor(key)


def test_a_camera_is_switched_on_by_asking_for_it() -> None:
    """It costs nothing before."""
    simulation = quiet('light_camera', 'pd')
    camera = next(one for one in simulation.robot.devices if hasattr(one, 'image'))
    simulation.run(0.2)
    before = simulation.sensor(camera.name)
    simulation.run(0.3)
    assert before.measurements.size > 100
    simulation.close()


def test_the_controller_sees_every_device_too() -> None:
    """With `sensors: [all]`; without, it says what to do."""
    simulation = quiet('sr1_pd', 'motion_queue', options={'sensors': ['all']})
    simulation.run(0.5)
    controller = simulation.controller
    names = [device.name for device in simulation.robot.devices if device.measured_fields]
    for name in names:
        assert controller.sensor(name).measurements.size
    assert controller.sensor(2).name == simulation.robot.devices[0].name
    simulation = quiet('sr1_pd', 'motion_queue')
    with pytest.raises(CnoidControlError, match=f"'{names[0]}' is not read; name it in"):
        simulation.controller.sensor(names[0])


def test_a_block_gets_every_device_in_its_message() -> None:
    """As klampt_sim gives it."""
    seen: dict[str, Any] = {}

    def law(**inputs: Any) -> dict[str, Any]:
        seen.update(inputs)
        return {}

    class Look(BaseController):
        def output(self, **inputs: Any) -> dict[str, Any]:
            return law(**inputs)

    simulation = quiet('sr1_pd', Look, options={'sensors': ['all'], 'kp': 3000.0, 'kd': 100.0})
    simulation.run(0.1)
    names = {device.name for device in simulation.robot.devices if device.measured_fields}
    assert names <= set(seen)
    assert {'t', 'dt', 'q', 'dq', 'qcmd', 'dqcmd'} <= set(seen)


def test_a_trajectory_block(folder: Path) -> None:
    """Klamp't's trajectory controller: a linear path of a file, and rest behind its end."""
    (folder / 'way.path').write_text('0 1 0.0\n1.0 1 0.5\n')
    simulation = quiet(
        folder / 'arm.yaml',
        'cnoid_control.controllers.trajectory.block:make',
        options={'file': 'way.path', 'kp': 2000.0, 'kd': 100.0},
    )
    simulation.run(1.6)
    recorded = simulation.recorded
    middle = np.searchsorted(recorded.time, 0.5)
    assert recorded.q_target[middle, 0] == pytest.approx(0.25, abs=0.005)
    assert recorded.dq_target[middle, 0] == pytest.approx(0.5)
    assert recorded.q[-1, 0] == pytest.approx(0.5, abs=0.005)
    assert recorded.dq_target[-1, 0] == 0.0


def test_a_camera_that_mujoco_cannot_draw_ends_the_run_by_name() -> None:
    """MuJoCo itself would end the process."""
    with Simulation('light_camera') as simulation:
        camera = next(one for one in simulation.robot.devices if one.name == 'Camera')
        camera.near = 0.0
        simulation.sensor('Camera')
        summary = simulation.run(0.2)
    assert summary['exit'] == 'failed'
    assert "near of 'Camera' is 0.0, not within" in summary['reason']


class LateFailure(SimpleController):
    """Fails while it takes over."""

    def initialize(self, io):
        self.ticks = 0
        return True

    def control(self):
        self.ticks += 1
        if self.ticks == 20:
            raise RuntimeError('too late')
        return True


def test_a_swap_that_is_given_up_leaves_the_controller_before() -> None:
    """In the robot's hands, in the configuration, and after a reset."""
    with Simulation('arm_circle') as simulation:
        before = simulation.config.controller_name
        simulation.run(0.02)
        simulation.swap(LateFailure, blend_time=0.3)
        assert simulation.run(0.2)['exit'] == 'completed'
        assert simulation.config.controller_name == before
        simulation.reset()
        assert simulation.config.controller_name == before


@pytest.mark.parametrize('blend_time', [-1.0, float('nan'), float('inf')])
def test_a_blend_time_that_is_none_is_refused(blend_time) -> None:
    """By name; nothing has changed."""
    with Simulation('arm_circle') as simulation:
        with pytest.raises(CnoidControlError, match='blend_time is'):
            simulation.swap('pd', blend_time=blend_time)
        assert simulation.run(0.01)['exit'] == 'completed'


def test_a_simulation_that_was_closed_does_not_begin_again_by_itself(folder: Path) -> None:
    """Only a reset begins it anew."""
    sim = Simulation('sr1_pd')
    sim.run(0.01)
    sim.close()
    for act in (sim.step, lambda: sim.run(0.01), lambda: sim.swap('sr1_walk')):
        with pytest.raises(CnoidControlError, match=r'closed; reset\(\) begins it anew'):
            act()
    sim.reset()
    assert sim.run(0.01)['ticks'] == 10
    sim.close()


def test_a_run_that_was_done_goes_on(folder: Path) -> None:
    """In time and in records; the controllers begin anew where the robot is."""
    controller = Torque()
    controller.torque = 1.0
    done = run(folder / 'arm.yaml', controller, 0.1)
    assert controller.calls.count('stop') == 1
    speed = done.recorded.dq[-1, 0]
    assert done.run(0.1)['ticks'] == 40
    assert controller.calls.count('initialize') == 2
    assert len(done.recorded) == 40
    assert np.allclose(np.diff(done.recorded.time), 0.005)
    assert done.recorded.dq[-1, 0] == pytest.approx(2.0 * speed, rel=0.1)
    done.complete(0.05)
    assert done.summary()['ticks'] == 50
    done.reset()
    assert done.run(0.05)['ticks'] == 10


def test_a_loop_runs_again_but_not_into_a_log_that_has_ended(folder: Path) -> None:
    """The time counts from where it is."""
    from cnoid_control.runtime.recorder import Recorder

    simulation = Simulation(folder / 'arm.yaml')
    assert [simulation.loop.run(0.1).ticks for _ in range(3)] == [20, 40, 60]
    simulation = Simulation(folder / 'arm.yaml')
    config = simulation.config
    simulation.loop.recorder = Recorder(folder / 'a.mcap', simulation.robot, config.to_text(), {})
    simulation.loop.run(0.1)
    size = (folder / 'a.mcap').stat().st_size
    with pytest.raises(CnoidControlError, match='the log ended with the run'):
        simulation.loop.run(0.1)
    assert (folder / 'a.mcap').stat().st_size == size


def test_a_run_that_failed_does_not_go_on(folder: Path) -> None:
    """And its controllers are not called again."""
    controller = Failing()
    done = run(folder / 'arm.yaml', controller, 0.1)
    calls = list(controller.calls)
    with pytest.raises(CnoidControlError, match=r'the run has ended: .*no more'):
        done.run(0.1)
    assert done.loop.run(0.1).exit == 'failed'
    assert controller.calls == calls


def test_two_threads_are_told_apart(folder: Path) -> None:
    """Whatever the second one asks is refused by name; the first one's run is not disturbed."""
    inside, leave = threading.Event(), threading.Event()

    def wait(robot: Any, t: float) -> None:
        robot.u[:] = 0.0
        inside.set()
        assert leave.wait(30.0)

    simulation = Simulation(folder / 'arm.yaml', wait)
    result: list[Any] = []
    thread = threading.Thread(target=lambda: result.append(simulation.run(0.1)))
    thread.start()
    assert inside.wait(30.0)
    try:
        for name, ask in {
            'step': simulation.step,
            'run': lambda: simulation.run(0.1),
            'complete': lambda: simulation.complete(0.1),
            'reset': simulation.reset,
            'swap': lambda: simulation.swap('pd'),
            'close': simulation.close,
            'summary': simulation.summary,
            'push': lambda: simulation.push('upper', [1.0, 0.0, 0.0], 0.1),
            'recorded': lambda: simulation.recorded,
            'controller': lambda: simulation.controller,
            'sensor': lambda: simulation.sensor('q'),
        }.items():
            with pytest.raises(CnoidControlError, match=f'{name} was called while another thread'):
                ask()
    finally:
        leave.set()
        thread.join()
    assert result[0]['ticks'] == 20
    assert result[0]['exit'] == 'completed'
    assert simulation.run(0.1)['ticks'] == 40


def test_a_controller_cannot_move_what_calls_it(folder: Path) -> None:
    """It fails by name."""
    simulation = Simulation(folder / 'arm.yaml', lambda robot, t: simulation.step())
    assert 'called from within a tick' in simulation.run(0.1)['reason']


def test_controllers_are_stopped_with_a_simulation_that_nobody_closed(folder: Path) -> None:
    """When it is gone."""
    controller = Torque()
    simulation = Simulation(folder / 'arm.yaml', controller)
    simulation.run(0.1)
    del simulation
    gc.collect()
    assert controller.calls[-1] == 'stop'


def test_everything_shows_itself_in_a_notebook(folder: Path) -> None:
    """As a table with a picture or a plot, of the present posture."""
    robot = load_robot('arm.urdf')
    before = robot._repr_png_()
    robot.q[:] = 1.0
    assert before.startswith(b'\x89PNG')
    assert robot._repr_png_() != before
    html = robot._repr_html_()
    assert 'joint7' in html
    assert 'fixed base' in html
    assert '180' in html
    with Simulation(folder / 'arm.yaml') as simulation:
        assert simulation.recorded._repr_png_() is None
        simulation.run(0.1)
    for shown in (simulation, simulation.robots['robot'], simulation.recorded):
        assert shown._repr_png_().startswith(b'\x89PNG')
        assert 'data:image/png;base64,' in shown._repr_html_()
    assert 'completed' in simulation.summary()._repr_html_()
    assert simulation.picture().shape == (600, 800, 3)


def test_messages_for_a_controller_and_logs(folder: Path) -> None:
    """As from a topic, and as by --log; what cannot be is refused by name."""
    from cnoid_control.log import LogFile
    from cnoid_control.plugin.mailbox import JointTrajectory
    from cnoid_control.plugin.trajectory_goal import FollowTrajectory

    file = folder / 'a.mcap'
    with Simulation(folder / 'arm.yaml', 'trajectory') as simulation:
        simulation.log(file)
        points = JointTrajectory(
            names=('shoulder',), times=np.array([0.5]), positions=np.array([[0.4]])
        )
        simulation.mailbox('follow_joint_trajectory').post(FollowTrajectory(trajectory=points))
        with pytest.raises(CnoidControlError, match=r"no .* mailbox 'x'; choose from: follow_jo"):
            simulation.mailbox('x')
        simulation.run(0.6)
        assert simulation.recorded.q_target[-1, 0] == pytest.approx(0.4, abs=1e-6)
        with pytest.raises(CnoidControlError, match=r"b.mcap': the run has begun; log it from"):
            simulation.log('b.mcap')
    assert LogFile(file).count('joint_states') == 120


def test_a_run_that_is_to_end_before_its_first_tick_is_interrupted():
    """As by a key that was pressed too early; nothing moves, and nothing has failed."""
    simulation = Simulation('pendulum')
    simulation.loop.request_stop()
    summary = simulation.complete(1.0)
    assert (summary['exit'], summary['interrupted'], summary['ticks']) == ('completed', True, 0)
