"""Classes of one's own in a configuration: tasks, constraints, interpolators, solvers, bundles."""

import io
import shutil
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from cnoid_control.controllers.tasks import (
    BodyPositionTask,
    Configuration,
    JointVelocityConstraint,
    JointVelocityTask,
    TaskSolver,
)
from cnoid_control.controllers.tasks.exceptions import TaskError
from cnoid_control.controllers.tasks.interpolators import TimeOptimalInterpolator
from cnoid_control.controllers.tasks.qp_solver import QpSolver
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import ParameterError
from cnoid_control.plugin import registry
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import parse_config

FILE = Path(__file__).with_name('own_classes.py')
POSTURE = [0.3, 0.5, -0.4, 1.1, 0.6, 0.8, -0.2]
SWING = {'type': 'own_classes.py:Swing', 'link': 'hand'}
HAND = {'type': 'body_velocity', 'link': 'hand', 'target': [0.2, 0.0, 0.0, 0.0, 0.0, 0.0]}


@pytest.fixture
def run(tmp_path):
    """Return a function that runs options on an ideal arm, the file beside the configuration."""
    shutil.copy(FILE, tmp_path)

    def start(ticks=1, **options):
        values = {
            'robot': {'model': 'arm.urdf', 'posture': POSTURE},
            'controller': 'tasks',
            'hardware': {'type': 'kinematic'},
            'rate': 100.0,
            'tasks': {'joint_group': 'all', 'output': 'velocity', **options},
        }
        loop = make_loop(parse_config(values, folder=tmp_path), os=io.StringIO())
        loop.open()
        for _ in range(ticks):
            loop.step()
        return loop

    return start


def solver_of(loop):
    """Tasks and constraints of a run."""
    return loop.host.controllers[0].controller.tasks


def change(loop, **options):
    """Change options of the running controller, as a parameter would."""
    managed = loop.host.controllers[0]
    values = {**managed.options, **options}
    managed.change_options(values, managed.check(values))


def hand_velocity(loop):
    """Velocity of the hand that was commanded, by its Jacobian."""
    solver = solver_of(loop)
    return solver.kinematics.jacobian(solver.body.link('hand')) @ solver.velocity


def test_a_task_of_a_file_beside_the_configuration_runs(run):
    """Its own options are checked and followed, those that are read-only are refused."""
    options = {'tasks': {'swing': {**SWING, 'options': {'speed': 0.2}}}}
    loop = run(**options)
    expected = 0.2 * np.cos(2 * np.pi * 0.5 * 0.01)
    assert hand_velocity(loop)[0] == pytest.approx(expected, rel=1e-4)
    change(loop, tasks={'swing': {**SWING, 'options': {'speed': 0.05}}})
    loop.step()
    expected = 0.05 * np.cos(2 * np.pi * 0.5 * 0.02)
    assert hand_velocity(loop)[0] == pytest.approx(expected, rel=1e-4)
    with pytest.raises(ParameterError, match=r'tasks\.swing\.options\.frequency: read-only'):
        change(loop, tasks={'swing': {**SWING, 'options': {'frequency': 2.0}}})
    assert solver_of(loop).tasks['swing'].parameters.speed == 0.05


def test_options_that_a_class_does_not_follow_are_refused_while_running(run):
    """The rule is that of controllers: who overrides update_parameters follows them."""
    stiff = {**SWING, 'type': 'own_classes.py:Stiff'}
    loop = run(tasks={'swing': stiff})
    with pytest.raises(ParameterError, match=r'swing\.options\.speed: Stiff cannot change it'):
        change(loop, tasks={'swing': {**stiff, 'options': {'speed': 0.3}}})


@pytest.mark.parametrize('solver', ['qp', 'sum', 'own_classes.py:TransposeSolver'])
def test_a_constraint_of_ones_own_is_kept_under_every_solver(run, solver):
    """The energy of the motion that is commanded is the largest allowed."""
    limit = {'type': 'own_classes.py:EnergyLimit', 'options': {'maximum': 1e-4}}
    options = {'tasks': {'hand': HAND}, 'solver': solver}
    loop = run(**options, constraints={'energy': limit})

    def energy():
        solved = solver_of(loop)
        momentum = solved.kinematics.momentum_matrix()[:, 6:] @ solved.velocity
        return 0.5 * momentum[:3] @ momentum[:3] / solved.body.mass

    assert energy() == pytest.approx(1e-4, rel=1e-6)
    change(loop, constraints={'energy': {**limit, 'options': {'maximum': 2e-5}}})
    loop.step()
    assert energy() == pytest.approx(2e-5, rel=1e-6)
    assert 0.0 < solver_of(loop).constraints['energy'].scaling_factor < 1.0


def test_a_control_law_of_ones_own(run):
    """Its formula decides what is commanded, and its options change while running."""
    options = {'tasks': {'hand': HAND}, 'solver': 'own_classes.py:TransposeSolver'}
    loop = run(**options, solver_options={'gain': 0.5})

    def expected(gain):
        solved = solver_of(loop)
        jacobian = solved.kinematics.jacobian(solved.body.link('hand'))
        return gain * jacobian.T @ np.array(HAND['target'])

    np.testing.assert_allclose(solver_of(loop).velocity, expected(0.5), rtol=1e-9)
    change(loop, solver_options={'gain': 0.1})
    loop.step()
    np.testing.assert_allclose(solver_of(loop).velocity, expected(0.1), rtol=1e-9)
    with pytest.raises(ParameterError, match=r'solver_options\.gian: unknown.*choose from: gain'):
        change(loop, solver_options={'gian': 0.1})


def test_an_interpolator_of_ones_own(run):
    """The target does the part of what is left that the option says."""
    own = {'type': 'own_classes.py:HalfWay', 'options': {'part': 0.25}}
    loop = run(ticks=2, tasks={'hand': {**HAND, 'interpolator': own}})
    target = solver_of(loop).tasks['hand'].target
    assert target.output[0] == pytest.approx(0.2 * (1 - 0.75**2))
    own = {**own, 'options': {'part': 0.5}}
    change(loop, tasks={'hand': {**HAND, 'interpolator': own}})
    loop.step()
    assert target.output[0] == pytest.approx(0.2 * (1 - 0.75**2 * 0.5))


def test_entry_points_of_other_packages_are_found(run, monkeypatch):
    """Each kind has a group of its own, and unknown names list what is registered."""
    asked = []
    real = registry.entry_points_by_name

    def fake(group):
        asked.append(group)
        if group == 'cnoid_control.controllers':
            return real(group)
        word = group.rsplit('.')[-1]
        names = {'tasks': 'Crawl', 'constraints': 'EnergyLimit', 'interpolators': 'HalfWay'}
        name = names.get(word, 'TransposeSolver')
        return {'mine': EntryPoint('mine', f'own_classes:{name}', group)}

    monkeypatch.syspath_prepend(str(FILE.parent))
    registry._entry_points_in.cache_clear()
    monkeypatch.setattr(registry, 'entry_points_by_name', fake)
    try:
        loop = run(
            solver='mine',
            tasks={'crawl': {'type': 'mine', 'joint_group': 'all'}},
            constraints={'limit': {'type': 'mine', 'options': {'maximum': 1e9}}},
        )
        np.testing.assert_allclose(solver_of(loop).velocity, 0.1)
        with pytest.raises(CnoidControlError, match=r"unknown task type 'yours'.*look_at, mine;"):
            run(tasks={'a': {'type': 'yours'}})
    finally:
        registry._entry_points_in.cache_clear()
    groups = {f'cnoid_control.{kind}' for kind in ('tasks', 'constraints', 'solvers')}
    assert groups <= set(asked)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'tasks': {'a': {'type': 'own_classes.py:Nobody'}}}, 'choose from: .*Crawl.*Swing'),
        (
            {'tasks': {'a': {'type': 'own_classes.py:Listless'}}},
            'does not define jacobian, update',
        ),
        ({'tasks': {'a': {'type': 'own_classes.py:Odd'}}}, 'Odd cannot be made: .*secret'),
        (
            {'tasks': {'a': {'type': 'own_classes.py:EnergyLimit'}}},
            'not a class derived from Task',
        ),
        ({'tasks': {'a': {'type': 'nowhere.py:Task'}}}, 'cannot be imported'),
        (
            {'tasks': {'a': {**SWING, 'options': {'sped': 1.0}}}},
            r'a\.options\.sped: unknown.*speed',
        ),
        ({'tasks': {'a': {**SWING, 'options': {'speed': -1.0}}}}, r'a\.options\.speed: -1\.0'),
        ({'tasks': {'a': {**SWING, 'gain': 3.0}}}, r'tasks\.a\.gain: .* have none'),
        ({'tasks': {'a': {**HAND, 'options': {'x': 1}}}}, r'a\.options\.x: unknown option'),
        (
            {'constraints': {'a': {'type': 'own_classes.py:EnergyLimit'}}},
            r'constraints\.a\.options\.maximum: is missing',
        ),
        ({'solver': 'own_classes.py:Swing'}, 'not a class derived from Solver'),
        ({'solver': 'sump'}, r"unknown solver 'sump'; choose from: sum, qp"),
        ({'solver_options': {'x': 1}}, r'solver_options\.x: unknown option'),
        (
            {'tasks': {'a': {**HAND, 'interpolator': {'type': 'smooth'}}}},
            r"a\.interpolator\.type: unknown interpolator type 'smooth'; choose from: identity",
        ),
    ],
)
def test_a_wrong_class_or_option_is_refused_at_the_start(run, options, message):
    """The key, the value and the choices are named."""
    with pytest.raises(CnoidControlError, match=message):
        run(**options)


@pytest.mark.parametrize(
    ('options', 'key'),
    [
        ({'tasks': {'a': {**HAND, 'gain': 3.0}}}, r'tasks\.a\.gain'),
        ({'tasks': {'a': {**HAND, 'joint_group': 'all'}}}, r'tasks\.a\.joint_group'),
        ({'tasks': {'a': {**HAND, 'axis': [0.0, 0.0, 1.0]}}}, r'tasks\.a\.axis'),
        ({'tasks': {'a': {'type': 'com', 'link': 'hand'}}}, r'tasks\.a\.link'),
        ({'tasks': {'a': {'type': 'com', 'reference': 'hand'}}}, r'tasks\.a\.reference'),
        (
            {'tasks': {'a': {**HAND, 'interpolator': {'duration': 2.0}}}},
            r'tasks\.a\.interpolator\.duration',
        ),
        ({'tasks': {'a': {**HAND, 'motion': {'radius': 2.0}}}}, r'tasks\.a\.motion\.radius'),
        (
            {'tasks': {'a': {**HAND, 'motion': {'type': 'circle', 'times': [1.0]}}}},
            r'tasks\.a\.motion\.times',
        ),
        ({'solver': 'sum', 'tasks': {'a': {**HAND, 'weight': 2.0}}}, r'tasks\.a\.weight'),
        ({'solver': 'sum', 'damping': 0.1}, 'damping'),
        ({'pgain': 3.0}, 'pgain'),
        ({'contacts': ['hand']}, 'contacts'),
        (
            {
                'constraints': {
                    'a': {'type': 'joint_velocity', 'joint_group': 'all', 'margin': 1.0}
                }
            },
            r'constraints\.a\.margin',
        ),
        (
            {
                'constraints': {
                    'a': {'type': 'joint_position', 'joint_group': 'all', 'link': 'hand'}
                }
            },
            r'constraints\.a\.link',
        ),
    ],
)
def test_an_option_that_would_be_ignored_is_refused_at_the_start(run, options, key):
    """As it is while running."""
    with pytest.raises(CnoidControlError, match=key):
        run(**options)


# --- bundles ------------------------------------------------------------------------------------


def test_a_bundle_is_switched_as_one_while_running(run):
    """What is in two bundles counts while one of them is on."""
    v = {'type': 'joint_velocity', 'joint_group': 'all'}
    tasks = {name: {**v, 'target': [speed] * 7} for name, speed in (('a', 0.1), ('b', 0.2))}
    limit = {'type': 'joint_velocity', 'joint_group': 'all', 'maximum': 0.05}
    bundles = {
        'slow': {'tasks': ['a'], 'constraints': ['limit']},
        'fast': {'tasks': ['a', 'b'], 'enabled': False},
    }
    options = {'tasks': tasks, 'constraints': {'limit': limit}, 'solver': 'sum'}
    loop = run(**options, configurations=bundles)
    speed = lambda: solver_of(loop).velocity[0]  # noqa: E731
    assert speed() == pytest.approx(0.05)
    for slow, fast, expected in ((False, True, 0.3), (True, True, 0.05), (False, False, 0.0)):
        switched = {
            'slow': {**bundles['slow'], 'enabled': slow},
            'fast': {**bundles['fast'], 'enabled': fast},
        }
        change(loop, configurations=switched)
        loop.step()
        assert speed() == pytest.approx(expected)
    assert [task.name for task in solver_of(loop).active_tasks] == []
    with pytest.raises(ParameterError, match=r'configurations\.slow\.tasks: read-only'):
        change(loop, configurations={**bundles, 'slow': {'tasks': ['b']}})


@pytest.mark.parametrize(
    ('bundle', 'message'),
    [
        ({'tasks': ['c']}, r"configurations\.x: 'c' is no task of its own; choose from: a"),
        ({'constraints': ['a']}, r"'a' is no constraint"),
        ({'tasks': ['a', 'a']}, "already a task named 'a'"),
        ({'task': ['a']}, r'configurations\.x\.task: unknown option; choose from: tasks'),
    ],
)
def test_a_wrong_bundle_is_refused(run, bundle, message):
    """With what there is."""
    with pytest.raises(CnoidControlError, match=message):
        run(tasks={'a': HAND}, configurations={'x': bundle})


def test_a_bundle_is_added_whole_or_not_at_all(controller, all_joints):
    """A name that stands in it twice adds nothing; what another bundle has stays with it."""
    twins = [JointVelocityTask('same', all_joints) for _ in range(2)]
    with pytest.raises(TaskError, match="already a task named 'same'"):
        controller.add_configuration(Configuration('x', tasks=twins))
    assert not controller.tasks
    one = controller.add_configuration(Configuration('one', tasks=twins[:1]))
    controller.add_configuration(Configuration('two', tasks=twins[:1]))
    controller.remove_configuration('two')
    assert controller.tasks == {'same': twins[0]}
    one.disable()
    controller.compute()
    assert controller.active_tasks == []
    controller.remove_configuration('one')
    assert not controller.tasks
    assert twins[0].is_in_force


def test_a_bundle_that_is_switched_on_starts_from_the_state_of_now(controller, arm):
    """A pose that it held before it was off is not gone back to."""
    task = BodyPositionTask('hand', arm.link('hand'))
    bundle = controller.add_configuration(Configuration('x', tasks=[task]))
    controller.compute()
    bundle.disable()
    arm.q[:] += 0.1
    bundle.enable()
    controller.compute()
    np.testing.assert_allclose(controller.velocity, 0.0, atol=1e-9)


# --- changes from Python ------------------------------------------------------------------------


def test_attributes_that_do_not_exist_are_refused(arm, all_joints):
    """They would be accepted by Python and ignored by everybody."""
    solver = TaskSolver(arm, all_joints, 0.01, QpSolver())
    task = solver.add_task(BodyPositionTask('hand', arm.link('hand')))
    limit = solver.add_constraint(JointVelocityConstraint('speed', all_joints))
    for thing, name in (
        *((task, name) for name in ('max_speed', 'integral_gain', 'gian', 'timeout', 'motion')),
        (task.target, 'goal'),
        (limit, 'maximum'),
        (TimeOptimalInterpolator(1.0, 1.0), 'max_velocity'),
        (solver.solver, 'dampig'),
    ):
        with pytest.raises(AttributeError, match=rf"has no attribute '{name}'; choose from:"):
            setattr(thing, name, 0.1)
    task.gain = 3.0
    task._mine = 1


def test_a_mirrored_pose_is_refused(arm):
    """Orthogonal is not enough, and the last row counts."""
    task = BodyPositionTask('hand', arm.link('hand'))
    with pytest.raises(TaskError, match='a rotation'):
        task.target.set(np.diag([1.0, 1.0, -1.0, 1.0]))
    crooked = np.eye(4)
    crooked[3, 0] = 0.1
    with pytest.raises(TaskError, match='last row'):
        task.target.set(crooked)


def test_a_target_that_moves_by_itself_takes_no_messages(run):
    """They would be overwritten in the next tick."""
    moving = {'type': 'body_position', 'link': 'hand', 'motion': {'type': 'circle'}}
    loop = run(tasks={'hand': moving, 'other': HAND})
    assert list(loop.host.controllers[0].io.mailboxes) == ['other/target']
