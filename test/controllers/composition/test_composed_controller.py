"""Compositions on a simulated arm, from Python and from options."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from controllers.arm import make_loop, run

from cnoid_control import run as simulate
from cnoid_control.controllers.composition import (
    BaseController,
    CompositionController,
    LambdaController,
    MultiController,
    SimpleControllerStage,
    TransitionStateMachineController,
)
from cnoid_control.controllers.composition.conditions import After, MessageArrived
from cnoid_control.controllers.composition.graph import graph_text
from cnoid_control.controllers.composition.graph_drawing import draw_graph
from cnoid_control.controllers.composition.multi import (
    ConfiguredMultiController,
    MultiParameters,
)
from cnoid_control.controllers.composition.sequence import SequenceController
from cnoid_control.controllers.composition.state_machine import ConfiguredStateMachine
from cnoid_control.controllers.motion_queue.controller import MotionQueueController
from cnoid_control.parameters import ParameterError, parse_parameters
from cnoid_control.plugin import SimpleController, StateFlag
from cnoid_control.plugin.mailbox import JointTrajectory, Trigger
from cnoid_control.runtime.exceptions import NoControllerLeft

GAINS = {'kp': 2000.0, 'kd': 60.0}
HERE = 'controllers.composition.test_composed_controller'


class ElbowPd(SimpleController):
    """Torque PD that holds the elbow where it was at the start of the run."""

    def initialize(self, io) -> bool:
        """Command the elbow by torque."""
        self.body = io.body
        self.elbow = io.body.joint('elbow')
        self.elbow.actuation_mode = StateFlag.JOINT_TORQUE
        io.enable_io(self.elbow)
        io.enable_input(self.elbow, StateFlag.JOINT_VELOCITY)
        self.reference = self.elbow.q
        self.starts = getattr(self, 'starts', 0)
        return True

    def start(self) -> bool:
        """Count runs."""
        self.starts += 1
        return True

    def control(self) -> bool:
        """PD."""
        self.elbow.u = 50.0 * (self.reference - self.elbow.q) - 3.0 * self.elbow.dq
        return True


class Constant(BaseController):
    """Always the same message."""

    def __init__(self, **message) -> None:
        self.message = message

    def output(self, **inputs):
        """The message."""
        return {key: np.array(value) for key, value in self.message.items()}


def start(composition: BaseController, gravity: float = 0.0, **options):
    """Loop that runs a composition."""
    return make_loop(CompositionController(composition), {**GAINS, **options}, gravity=gravity)


class TestCommands:
    """What each combination of keys means."""

    def test_qcmd_servoes(self):
        """The joints go to the position; a key that is missing counts as 0."""
        loop = start(Constant(qcmd=[0.3, -0.2]))
        run(loop, 1.0)
        np.testing.assert_allclose(loop.hardware.body.q, [0.3, -0.2], atol=1e-3)

    def test_torquecmd_with_qcmd_is_added(self):
        """A feed-forward torque moves the equilibrium by torque / kp."""
        loop = start(Constant(qcmd=[0.0, 0.0], dqcmd=[0.0, 0.0], torquecmd=[20.0, 0.0]))
        run(loop, 2.0)
        assert loop.hardware.body.q[0] == pytest.approx(0.01, abs=1e-4)

    def test_torquecmd_alone_is_a_torque(self):
        """No servo acts: a constant torque accelerates the joint."""
        loop = start(Constant(torquecmd=[0.0, 0.05]))
        path = run(loop, 0.5)
        assert path[-1, 1] > 0.03

    def test_dqcmd_runs_for_tcmd(self):
        """The velocity is held for the time that was given, then the position."""
        command = LambdaController(
            lambda t: {'dqcmd': np.array([0.5, np.nan]), 'tcmd': 0.4} if t == 0.0 else {}, ['t']
        )
        loop = start(command)
        run(loop, 1.5)
        assert loop.hardware.body.q[0] == pytest.approx(0.2, abs=5e-3)

    def test_none_keeps_the_last_command(self):
        """After one command nothing more needs to be said."""
        command = LambdaController(
            lambda t: {'qcmd': np.array([0.2, 0.1])} if t < 0.1 else None, ['t']
        )
        loop = start(command)
        run(loop, 1.0)
        np.testing.assert_allclose(loop.hardware.body.q, [0.2, 0.1], atol=1e-3)

    @pytest.mark.parametrize(
        ('message', 'words'),
        [({'qcmd': [0.0]}, 'vector of 2 elements'), ({'dqcmd': [0.0, 0.0]}, 'tcmd')],
    )
    def test_bad_messages_end_the_run(self, message, words):
        """The error names the key and what was expected."""
        loop = start(Constant(**message))
        assert not loop.step()
        assert re.search(words, loop.safe_state.reason)


class TestStages:
    """SimpleControllers inside compositions."""

    def test_joints_are_shared_between_controllers(self):
        """The shoulder follows a queue while a torque PD holds the elbow."""
        queue = SimpleControllerStage(
            'queue',
            MotionQueueController(),
            {'joints': ['shoulder'], 'queue': {'a': {'q': [0.6]}}, **GAINS},
        )
        pd = ElbowPd()
        loop = start(MultiController({'queue': queue, 'pd': SimpleControllerStage('pd', pd)}))
        run(loop, 2.5)
        np.testing.assert_allclose(loop.hardware.body.q, [0.6, 0.0], atol=3e-3)
        # The elbow has no servo but its own controller.
        assert loop.hardware.body.kp.tolist() == [2000.0, 0.0]

    def test_a_stage_starts_where_the_robot_is(self):
        """Entered later, and again, a controller takes the posture of that moment."""
        pd = ElbowPd()
        machine = TransitionStateMachineController(
            {
                'move': Constant(qcmd=[0.0, 0.5]),
                'hold': SimpleControllerStage('pd', pd),
                'back': Constant(qcmd=[0.0, 0.2]),
            },
            {
                'move': {'hold': After(1.0)},
                'hold': {'back': After(0.5)},
                'back': {'hold': After(1)},
            },
            'move',
        )
        loop = start(machine)
        run(loop, 1.4)
        assert pd.reference == pytest.approx(0.5, abs=2e-3)
        run(loop, 1.3)
        assert pd.reference == pytest.approx(0.2, abs=2e-3)
        assert pd.starts == 2

    def test_messages_reach_a_stage_under_its_name(self):
        """The mailbox of a nested queue is the composition's, as stage/box."""
        stage = SimpleControllerStage('queue', MotionQueueController(), GAINS)
        loop = start(stage)
        boxes = loop.host.controllers[0].io.mailboxes
        assert boxes['queue/milestone'].topic == '~/queue/milestone'
        boxes['queue/milestone'].post(
            JointTrajectory(names=('elbow',), positions=np.array([[0.3]]))
        )
        run(loop, 1.5)
        assert loop.hardware.body.q[1] == pytest.approx(0.3, abs=2e-3)

    def test_a_stage_believes_an_estimator_in_front_of_it(self):
        """Positions in the message take the place of the measured ones."""
        pd = ElbowPd()
        offset = LambdaController(lambda q: q - 0.1, ['q'], 'q')
        stage = SimpleControllerStage('pd', pd)
        loop = start(MultiController({'estimator': offset, 'pd': stage}))
        run(loop, 3.0)
        assert loop.hardware.body.q[1] == pytest.approx(0.1, abs=5e-3)

    def test_a_file_with_a_make_function(self, tmp_path):
        """What make(robot) returns is run; it gets the robot's body and the options."""
        path = tmp_path / 'swing.py'
        path.write_text(
            'import numpy as np\n'
            'from cnoid_control.controllers.composition import LambdaController\n'
            'def make(robot, place):\n'
            '    goal = np.full(robot.num_joints, place)\n'
            "    return LambdaController(lambda t: {'qcmd': goal}, ['t'])\n"
        )
        stages = {'swing': {'controller': f'{path}:make', 'options': {'place': 0.25}}}
        loop = make_loop(ConfiguredMultiController(), {'stages': stages, **GAINS})
        run(loop, 1.0)
        np.testing.assert_allclose(loop.hardware.body.q, 0.25, atol=2e-3)

    def test_gains_can_change_while_running(self):
        """Gains are taken over; what the composition is made of is not."""
        loop = start(Constant(qcmd=[0.0, 0.0]))
        managed = loop.host.controllers[0]
        stiffer = replace(managed.parameters, kp=500.0)
        managed.change_options({}, stiffer)
        run(loop, 0.1)
        assert loop.hardware.body.kp.tolist() == [500.0, 500.0]
        with pytest.raises(ParameterError, match=r'test\.joints: read-only'):
            managed.change_options({}, replace(stiffer, joints=['elbow']))

    def test_unknown_options_of_a_stage_are_refused(self):
        """The key has the stage's name."""
        with pytest.raises(ParameterError, match=r'queue\.speed'):
            SimpleControllerStage('queue', MotionQueueController(), {'speed': 1.0})

    def test_a_composition_that_contains_itself_is_refused(self):
        """The cycle is named."""
        multi = MultiController()
        multi.launch(multi)
        with pytest.raises(NoControllerLeft, match='MultiController -> MultiController'):
            start(multi)


QUEUE = {'controller': 'motion_queue', 'options': {'finish': True, **GAINS}}


def queue_to(*q: float) -> dict:
    """Options of a queue with one milestone."""
    return {**QUEUE, 'options': {**QUEUE['options'], 'queue': {'a': {'q': list(q)}}}}


class TestConfigured:
    """Compositions from options."""

    def test_sequence(self):
        """Controllers run until their times, in the order of the times; then the run ends."""
        stages = {
            'second': {**queue_to(0.1, 0.4), 'until': 2.0},
            'first': {**queue_to(0.3, 0.0), 'until': 1.0},
        }
        loop = make_loop(SequenceController(), {'stages': stages, **GAINS})
        run(loop, 1.0)
        np.testing.assert_allclose(loop.hardware.body.q, [0.3, 0.0], atol=2e-3)
        while loop.step():
            assert loop.tick < 1000
        assert loop.hardware.time == pytest.approx(2.0, abs=0.011)
        np.testing.assert_allclose(loop.hardware.body.q, [0.1, 0.4], atol=2e-3)

    def test_state_machine(self):
        """States change when a queue is done, on a message and on a measured position."""
        states = {
            'up': {**queue_to(0.5, 0.0), 'next': {'wait': {'finished': True}}},
            'wait': {
                'controller': f'{HERE}:ElbowPd',
                'next': {'down': {'message': 'go', 'after': 0.3}},
            },
            'down': {**queue_to(-0.5, 0.0), 'next': {'end': {'sensor': 'q[0]', 'below': -0.2}}},
        }
        controller = ConfiguredStateMachine()
        loop = make_loop(controller, {'states': states, 'start': 'up', **GAINS})
        machine = controller.composition
        controller.io.mailboxes['go'].post(Trigger())
        run(loop, 1.0)
        assert machine.current == 'wait', 'a message from before the state counts for nothing'
        controller.io.mailboxes['go'].post(Trigger())
        run(loop, 0.05)
        assert machine.current == 'down'
        while loop.step():
            assert loop.tick < 1000
        assert loop.hardware.body.q[0] == pytest.approx(-0.2, abs=0.02)

    def test_multi(self):
        """Controllers that depend on each other are put in order."""
        stages = {
            'use': {
                'controller': f'{HERE}:Double',
                'inputs': {'x': 'x'},
                'outputs': {'qcmd': 'goal'},
            },
            'make': {
                'controller': f'{HERE}:Constant',
                'options': {'x': [0.1, 0.2]},
                'outputs': {'x': 'x'},
            },
        }
        controller = ConfiguredMultiController()
        loop = make_loop(controller, {'stages': stages, 'outputs': {'qcmd': 'goal'}, **GAINS})
        assert list(controller.composition.controllers) == ['make', 'use']
        run(loop, 1.0)
        np.testing.assert_allclose(loop.hardware.body.q, [0.2, 0.4], atol=2e-3)

    @pytest.mark.parametrize(
        ('controller', 'options', 'words'),
        [
            (
                ConfiguredStateMachine,
                {'states': {'a': {**queue_to(0, 0), 'next': {'b': {'after': 1.0}}}}},
                "states.a.next.b: unknown state 'b'; choose from: a, end",
            ),
            (
                ConfiguredStateMachine,
                {'states': {'a': {**queue_to(0, 0), 'next': {'end': {}}}}},
                'states.a.next.end: say when',
            ),
            (ConfiguredStateMachine, {'states': {}}, "unknown state ''"),
            (
                ConfiguredStateMachine,
                {'states': {'a': {'controller': 'nothing'}}},
                "unknown controller 'nothing'",
            ),
            (
                ConfiguredMultiController,
                {
                    'stages': {
                        'a': {
                            'controller': f'{HERE}:Double',
                            'inputs': {'x': 'y'},
                            'outputs': {'qcmd': 'z'},
                        },
                        'b': {
                            'controller': f'{HERE}:Double',
                            'inputs': {'x': 'z'},
                            'outputs': {'qcmd': 'y'},
                        },
                    }
                },
                'cycle without delay: a -> b -> a',
            ),
            (
                SequenceController,
                {'stages': {'a': {**queue_to(0, 0), 'until': -1.0}}},
                r'stages\.a\.until: -1\.0',
            ),
        ],
    )
    def test_bad_options_are_refused(self, controller, options, words):
        """With the name of the place and the value, before the first tick."""
        with pytest.raises((NoControllerLeft, ParameterError), match=words):
            make_loop(controller(), options)

    def test_a_delay_opens_a_cycle(self):
        """An item that is read as it was in the tick before may go round."""
        double = f'{HERE}:Double'
        stages = {
            'a': {'controller': double, 'inputs': {'x': 'y'}, 'outputs': {'qcmd': 'z'}},
            'b': {'controller': double, 'inputs': {'x': 'z'}, 'outputs': {'qcmd': 'y'}},
        }
        parameters = parse_parameters(
            ConfiguredMultiController.Parameters, {'stages': stages, 'delayed': ['y']}
        )
        assert list(ConfiguredMultiController.build(parameters).children()) == ['a', 'b']


class Double(BaseController):
    """Twice the input x, as a position."""

    def output(self, **inputs):
        """2 x."""
        return {'qcmd': 2.0 * inputs.get('x', np.zeros(2))}


class TestGraph:
    """Text and drawing."""

    def test_text_and_drawing_show_states_and_transitions(self, tmp_path):
        """Every state with its class, and where it leads when."""
        machine = TransitionStateMachineController(
            {
                'one': Double(),
                'two': MultiController({'a': Double(), 'b': Constant()}),
            },
            {'one': {'two': After(1.5)}, 'two': {-1: MessageArrived('go')}},
            'one',
        )
        assert graph_text(machine, 'demo').splitlines() == [
            'demo: TransitionStateMachineController',
            '├─ one: Double (start)',
            '│  → two: after 1.5 s',
            '└─ two: MultiController',
            '   ├─ a: Double',
            '   └─ b: Constant',
            '   → end: message go',
        ]
        picture = tmp_path / 'graph.png'
        draw_graph(machine, picture)
        assert picture.stat().st_size > 5000


class TestOptions:
    """Options of parts that change while the composition runs."""

    def multi(self):
        """Two queues side by side, each for a joint of its own."""
        options = {'controller': 'motion_queue', 'options': {'kp': 50.0}}
        stages = {'first': {**options, 'joints': ['shoulder']}}
        stages['second'] = {**options, 'joints': ['elbow']}
        loop = make_loop(ConfiguredMultiController(), {'stages': stages, **GAINS})
        return loop, loop.host.controllers[0], stages

    def change(self, managed, stages):
        """Change the options of the parts as the host does."""
        options = {'stages': stages, **GAINS}
        managed.change_options(options, parse_parameters(MultiParameters, options, 'test'))

    def test_they_are_passed_on_to_the_part(self):
        """Another gain of one part acts on its joint."""
        loop, managed, stages = self.multi()
        run(loop, 0.1)
        stages['first'] = {**stages['first'], 'options': {'kp': 70.0}}
        self.change(managed, stages)
        run(loop, 0.1)
        assert loop.hardware.body.kp.tolist() == [70.0, 50.0]

    def test_all_parts_follow_or_none(self):
        """Where the second part refuses, the first one keeps what it had."""
        loop, managed, stages = self.multi()
        stages['first'] = {**stages['first'], 'options': {'kp': 70.0}}
        stages['second'] = {**stages['second'], 'options': {'joints': ['elbow']}}
        with pytest.raises(ParameterError, match=r'second\.joints: read-only'):
            self.change(managed, stages)
        run(loop, 0.1)
        assert loop.hardware.body.kp.tolist() == [50.0, 50.0]

    def test_parts_cannot_be_added(self):
        """What the composition is made of is fixed."""
        _, managed, stages = self.multi()
        stages['third'] = stages['first']
        with pytest.raises(ParameterError, match=r'test\.stages\.third: it cannot be added'):
            self.change(managed, stages)


class ElbowFollower(SimpleController):
    """Moves the elbow by displacement and velocity together, or by another mode."""

    mode = StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY

    def initialize(self, io) -> bool:
        """Command the elbow."""
        self.io, self.elbow = io, io.body.joint('elbow')
        io.enable_output(self.elbow, self.mode)
        self.start_q = self.elbow.q
        return True

    def control(self) -> bool:
        """Go on at half a radian per second."""
        self.elbow.q_target = self.start_q + 0.5 * self.io.current_time
        self.elbow.dq_target = 0.5
        return True


class ElbowHighGain(ElbowFollower):
    """Commands the elbow by everything."""

    mode = StateFlag.ALL_STATE_HIGH_GAIN


def test_a_part_commands_displacement_and_velocity_together():
    """The velocity target reaches the actuators: the elbow does not lag."""
    options = {'stages': {'follow': {'controller': f'{HERE}:ElbowFollower'}}, **GAINS}
    loop = make_loop(ConfiguredMultiController(), options)
    elbow = loop.hardware.body.joint('elbow')
    begin = elbow.q
    run(loop, 0.5)
    assert elbow.q - begin == pytest.approx(0.25, abs=0.01)


def test_a_mode_that_cannot_be_composed_is_named():
    """The error names the part, the link and the mode."""
    options = {'stages': {'stiff': {'controller': f'{HERE}:ElbowHighGain'}}, **GAINS}
    with pytest.raises(NoControllerLeft, match=r'stiff: commands .* ALL_STATE_HIGH_GAIN'):
        run(make_loop(ConfiguredMultiController(), options), 0.1)


@pytest.mark.parametrize('actuators', ['controller', 'hardware'])
def test_the_reference_of_a_torque_controller_reaches_the_summary(actuators):
    """What a part writes into q_target is what its joint is compared with, as without it."""
    options = {'posture': {'swing': 0.8}, 'move_time': 0.2}
    alone = simulate('pendulum', 'pd', duration=0.3, options=options)
    states = {'only': {'controller': 'pd', 'options': options}}
    machine = {'actuators': actuators, 'states': states}
    composed = simulate('pendulum', 'state_machine', duration=0.3, options=machine)
    expected = alone.summary()['max_joint_error']
    assert expected > 1e-3
    assert composed.summary()['max_joint_error'] == pytest.approx(expected, rel=0.05)
    np.testing.assert_allclose(
        composed.recorded.q_target[5:], alone.recorded.q_target[5:], atol=1e-6
    )


def test_a_reference_that_jumps_is_no_clamped_command():
    """The target goes along without stiffness, no faster than a command might."""
    options = {'posture': {'swing': 0.8}, 'move_time': 0.0}
    states = {'only': {'controller': 'pd', 'options': options}}
    done = simulate('pendulum', 'state_machine', duration=0.3, options={'states': states})
    assert not {'velocity', 'position'} & set(done.summary()['limited'])
    assert done.recorded.q_target[-1, 0] == pytest.approx(0.8)
