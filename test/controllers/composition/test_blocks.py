"""The blocks of compositions on their own: what they put out and when they change."""

from __future__ import annotations

import numpy as np
import pytest
from fake_hardware import two_joint_body

from cnoid_control.body import load_body
from cnoid_control.controllers.composition import (
    BaseController,
    ComposeController,
    LambdaController,
    LinearController,
    MultiController,
    StateMachineController,
    TimedControllerSequence,
    TransitionStateMachineController,
)
from cnoid_control.controllers.composition.command_message import CommandInterpreter
from cnoid_control.controllers.composition.conditions import After, AllOf, Finished, Threshold
from cnoid_control.controllers.composition.exceptions import CompositionError
from cnoid_control.controllers.drive import DriveMode, DriveParameters, JointDrive
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.plugin import ControllerIO


class Probe(BaseController):
    """Puts out its name and notes what happens to it."""

    def __init__(self, name: str = '', last: int = 10**9) -> None:
        self.name = name
        self.last = last
        self.ticks = 0
        self.events: list[str] = []

    def output(self, **inputs):
        """Name of the block."""
        return {'who': self.name, 'ticks': self.ticks}

    def advance(self, **inputs) -> None:
        """Count."""
        self.ticks += 1

    def signal(self, type: str, **inputs) -> None:
        """Note it with the time."""
        self.events.append(f'{type}@{inputs.get("t", 0):g}')

    @property
    def finished(self) -> bool:
        """Whether enough ticks were counted."""
        return self.ticks >= self.last


def ticks(controller: BaseController, times: np.ndarray, dt: float = 0.1, **inputs) -> list:
    """Who answered at each time."""
    answers = [controller.output_and_advance(t=float(t), dt=dt, **inputs) for t in times]
    return [answer and answer['who'] for answer in answers]


class TestSequence:
    """TimedControllerSequence."""

    def test_three_controllers_switch_at_their_times(self):
        """Each runs until its own time, not the last one's; then there is nothing."""
        probes = [Probe(name) for name in 'abc']
        sequence = TimedControllerSequence(probes, [0.2, 0.3, 0.5])
        sequence.signal('enter', t=0.0)
        times = np.arange(7) * 0.1
        assert ticks(sequence, times) == ['a', 'a', 'a', 'b', 'c', 'c', None]
        assert sequence.finished
        assert probes[0].events == ['enter@0', 'exit@0.2']
        assert probes[1].events == ['enter@0.2', 'exit@0.3']
        assert probes[2].events == ['enter@0.3', 'exit@0.5']

    def test_relative_times_count_from_entering(self):
        """Entered at 3 s, a sequence of 0.2 and 0.3 s ends at 3.3 s."""
        sequence = TimedControllerSequence([Probe('a'), Probe('b')], [0.2, 0.3], relative=True)
        sequence.signal('enter', t=3.0)
        assert ticks(sequence, 3.0 + np.arange(4) * 0.1) == ['a', 'a', 'b', None]

    @pytest.mark.parametrize('times', [[1.0], [2.0, 1.0], [1.0, 1.0]])
    def test_times_must_fit(self, times):
        """Too few times, or times that do not increase, are refused."""
        with pytest.raises(CompositionError, match='2 controllers need 2 increasing times'):
            TimedControllerSequence([Probe(), Probe()], times)


class TestStateMachines:
    """StateMachineController and its transitions."""

    def test_output_alone_changes_nothing(self):
        """Any number of outputs leave state and counts as they are; advance changes them."""
        machine = TransitionStateMachineController(
            [Probe('a'), Probe('b')], {0: {1: lambda inputs: True}}
        )
        assert [machine.output(t=0.0, dt=0.1)['who'] for _ in range(3)] == ['a'] * 3
        machine.advance(t=0.0, dt=0.1)
        assert machine.output(t=0.1, dt=0.1)['who'] == 'b'

    def test_split_calls_send_the_signals_too(self):
        """Output and advance one by one signal exit and enter as output_and_advance does."""
        a, b = Probe('a'), Probe('b')
        machine = TransitionStateMachineController([a, b], {0: {1: lambda inputs: True}})
        machine.output(t=0.5, dt=0.1)
        machine.advance(t=0.5, dt=0.1)
        assert (a.events, b.events) == (['exit@0.5'], ['enter@0.5'])

    def test_the_first_true_condition_wins(self):
        """In the order in which they were given."""
        true = lambda inputs: True  # noqa: E731
        machine = TransitionStateMachineController(
            {'a': Probe('a'), 'b': Probe('b'), 'c': Probe('c')},
            {'a': {'c': true, 'b': true}},
            'a',
        )
        assert ticks(machine, np.arange(2)) == ['a', 'c']

    def test_conditions_on_time_threshold_and_finished(self):
        """Each of them, and all of them together, act in the right tick."""
        machine = TransitionStateMachineController(
            {'wait': Probe('wait'), 'feel': Probe('feel'), 'work': Probe('work', 2)},
            {
                'wait': {'feel': After(0.3)},
                'feel': {'work': Threshold('force[2]', above=10.0)},
                'work': {-1: AllOf([Finished(), After(0.4)])},
            },
            'wait',
        )
        assert ticks(machine, np.arange(5) * 0.1, force=[0, 0, 5]) == ['wait'] * 3 + ['feel'] * 2
        assert ticks(machine, np.arange(2), force=[0, 0, 11]) == ['feel', 'work']
        assert ticks(machine, np.arange(4), force=[0, 0, 0]) == ['work'] * 3 + [None]
        assert machine.finished

    def test_subclasses_decide_by_themselves(self):
        """next_state of a subclass is followed; -1 ends."""

        class Toggle(StateMachineController):
            def next_state(self, current, **inputs):
                return -1 if inputs['t'] > 2 else 1 - current

        machine = Toggle([Probe('a'), Probe('b')])
        assert ticks(machine, np.arange(5)) == ['a', 'b', 'a', 'b', None]

    def test_unknown_states_are_refused(self):
        """At the start, in a transition and when next_state names one."""
        with pytest.raises(CompositionError, match="'x'; choose from: 0, -1"):
            StateMachineController([Probe()], 'x')
        with pytest.raises(CompositionError, match='transitions of 0: unknown state 7'):
            TransitionStateMachineController([Probe()], {0: {7: lambda inputs: True}})

        class Lost(StateMachineController):
            def next_state(self, current, **inputs):
                return 'nowhere'

        with pytest.raises(CompositionError, match='nowhere'):
            Lost([Probe()]).output_and_advance(t=0.0, dt=0.1)

    def test_thresholds_need_their_item(self):
        """A sensor that no message has is named together with those that there are."""
        with pytest.raises(CompositionError, match="'force'; choose from: t"):
            Threshold('force', above=1.0)({'t': 0.0})

    def test_machines_can_be_nested(self):
        """An inner machine starts anew each time it is entered, and finishing it is seen."""
        inner = TimedControllerSequence([Probe('x'), Probe('y')], [0.1, 0.2], relative=True)
        machine = TransitionStateMachineController(
            {'in': inner, 'out': Probe('out')},
            {'in': {'out': Finished()}, 'out': {'in': After(0.1)}},
            'in',
        )
        machine.signal('enter', t=0.0)
        assert ticks(machine, np.arange(6) * 0.1) == ['x', 'y', 'out', 'x', 'y', 'out']


class TestMulti:
    """MultiController."""

    def test_outputs_cascade_into_inputs(self):
        """A later controller sees what an earlier one put out in the same tick."""
        multi = MultiController(
            [
                LambdaController(lambda q: q + 1, ['q'], 'q'),
                LambdaController(lambda q: 10 * q, ['q'], 'torquecmd'),
            ]
        )
        answer = multi.output_and_advance(t=0.0, dt=0.1, q=np.array([1.0]))
        np.testing.assert_array_equal(answer['torquecmd'], [20.0])
        assert set(answer) == {'q', 'torquecmd'}, 'inputs are no outputs'

    def test_an_earlier_controller_sees_the_last_tick(self):
        """Against the order, items arrive one tick later."""
        multi = MultiController(
            [
                LambdaController(lambda x: x, ['count'], 'seen'),
                LambdaController(lambda t: t, ['t'], 'count'),
            ]
        )
        assert multi.output_and_advance(t=1.0, dt=1.0)['seen'] is None
        assert multi.output_and_advance(t=2.0, dt=1.0)['seen'] == 1.0

    def test_items_are_mapped(self):
        """Mapped inputs and outputs have their names inside and outside."""
        multi = MultiController([LambdaController(lambda a, b: a + b, ['a', 'b'], 'sum')])
        multi.map_input(0, 'x', 'a')
        multi.map_input(0, 'y', 'b')
        multi.map_output(0, 'sum', 'total')
        multi.map_my_output('total', 'qcmd')
        assert multi.output(t=0.0, dt=0.1, x=1, y=2) == {'qcmd': 3}
        assert multi.links() == [
            (None, 'x', 0, 'a'),
            (None, 'y', 0, 'b'),
            (0, 'total', None, 'qcmd'),
        ]

    def test_controllers_share_the_joints(self):
        """NaN leaves a joint to the earlier controller."""
        multi = MultiController(
            [
                LambdaController(lambda: np.array([1.0, np.nan]), [], 'qcmd'),
                LambdaController(lambda: np.array([np.nan, 2.0]), [], 'qcmd'),
            ]
        )
        np.testing.assert_array_equal(multi.output(t=0.0)['qcmd'], [1.0, 2.0])

    def test_output_leaves_the_register_alone(self):
        """Only advance writes to the blackboard."""
        multi = MultiController([Probe('a')])
        multi.output(t=0.0, dt=0.1)
        assert multi.register == {}
        multi.advance(t=0.0, dt=0.1)
        assert multi.register['who'] == 'a'

    def test_signals_reach_all(self):
        """Enter and exit go to every controller; one launched later gets later ones."""
        a, b = Probe('a'), Probe('b')
        multi = MultiController([a])
        multi.signal('enter', t=0.0)
        multi.launch(b)
        multi.signal('exit', t=1.0)
        assert (a.events, b.events) == (['enter@0', 'exit@1'], ['exit@1'])


class TestFunctions:
    """Compose, Linear and Lambda."""

    def test_compose_uses_the_same_indices_on_both_sides(self):
        """Element k of the item becomes element k of the result; holes are 0."""
        compose = ComposeController({'arm': [0, 3], 'leg': [1]}, 'qcmd')
        answer = compose.output(arm=[1, 2, 3, 4], leg=[5, 6])
        np.testing.assert_array_equal(answer['qcmd'], [1, 6, 0, 4])
        answer = ComposeController({'arm': [3]}, 'q', flatten=False).output(arm=[1, 2, 3, 4])
        assert answer == {'q': {3: 4}}

    def test_missing_items_are_left_out_with_a_warning(self, caplog):
        """Compose, linear and lambda go on without them and say so."""
        np.testing.assert_array_equal(
            ComposeController({'arm': [1]}, 'q').output()['q'], [0.0, 0.0]
        )
        np.testing.assert_array_equal(
            LinearController('u', {'x': 2.0, 'y': 1.0}).output(x=np.ones(2))['u'], [2.0, 2.0]
        )
        assert LambdaController(lambda a: a, ['a'], 'b').output() == {'b': None}
        assert [record.levelname for record in caplog.records] == ['WARNING'] * 3

    def test_linear_sums_its_terms(self):
        """The result is K x + k y + offset."""
        linear = LinearController('torquecmd', {'x': [[1.0, 2.0]], 'y': 3.0}, offset=[0.5])
        answer = linear.output(x=np.array([1.0, 1.0]), y=np.array([2.0]))
        np.testing.assert_allclose(answer['torquecmd'], [9.5])

    def test_lambda_names_its_results(self):
        """One name, several names, or a message of its own."""
        assert LambdaController(lambda t: (t, -t), ['t'], ['a', 'b']).output(t=1) == {
            'a': 1,
            'b': -1,
        }
        assert LambdaController(lambda t: {'c': t}, ['t']).output(t=1) == {'c': 1}


@pytest.mark.parametrize(
    ('command', 'mode'),
    [({'torquecmd': [5.0, 5.0]}, DriveMode.TORQUE), ({'qcmd': [0.1, 0.1]}, DriveMode.PID)],
)
def test_the_time_of_a_velocity_ends_with_the_velocity(command, mode) -> None:
    """A command that took over from a velocity stays in force when the velocity's time is up."""
    drive = JointDrive(ControllerIO('test', two_joint_body(), 0.1), DriveParameters())
    commands = CommandInterpreter(drive, 2)
    commands.take({'dqcmd': [1.0, 1.0], 'tcmd': 1.0}, 0.0)
    commands.take({'torquecmd': [2.0, 2.0]} | command, 0.5)
    effort = drive.u.copy()
    commands.take(None, 1.1)
    assert (drive.modes == mode).all()
    assert drive.u == pytest.approx(effort)


@pytest.mark.parametrize('item', ['root_p[2]', 'u[0]', 'qcmd'])
def test_conditions_on_the_state_need_no_sensor(item: str) -> None:
    """What a message has of the robot's state is not looked for among its devices."""
    io = ControllerIO('test', two_joint_body(), 0.1)
    Threshold(item, above=1.0).attach(io)
    assert not io.device_inputs
    with pytest.raises(CnoidControlError, match="unknown sensor 'nose'"):
        Threshold('nose', above=1.0).attach(io)
    size = io.body.num_joints
    Threshold(f'q[{size - 1}]', above=1.0).attach(io)
    with pytest.raises(CnoidControlError, match=rf'q\[{size}\]: q has the values 0 to {size - 1}'):
        Threshold(f'q[{size}]', above=1.0).attach(io)
    with pytest.raises(CnoidControlError, match=r'root_p has the values 0 to 2'):
        Threshold('root_p[3]', above=1.0).attach(io)
    io = ControllerIO('test', load_body('package://cnoid_control/urdf/sr1.urdf'), 0.1)
    Threshold('LeftAnkleForceSensor[5]', above=1.0).attach(io)
    with pytest.raises(CnoidControlError, match='LeftAnkleForceSensor has the values 0 to 5'):
        Threshold('LeftAnkleForceSensor[6]', above=1.0).attach(io)
