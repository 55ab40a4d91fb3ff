"""The `randomize` section: draws become values of the configuration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from cnoid_control import SimpleController, Simulation, evaluate
from cnoid_control.evaluation.randomization import read_section, run_seed
from cnoid_control.evaluation.runner import Runner, load_runs
from cnoid_control.exceptions import CnoidControlError

# Everything that can be randomised, on a robot that stands.
EVERYTHING = {
    'friction': {'uniform': [0.4, 1.0]},
    'mass.*': {'uniform': [0.9, 1.1]},
    'inertia.CHEST': {'normal': [1.0, 0.05]},
    'com.CHEST': {'uniform': [-0.02, 0.02]},
    'com.WAIST.x': {'normal': [0.0, 0.01]},
    'strength': {'uniform': [0.9, 1.0]},
    'kp.LLEG_*': {'log_uniform': [0.8, 1.2]},
    'kd.RLEG_*': {'uniform': [0.9, 1.1]},
    'damping.*': {'uniform': [0.0, 1.0], 'as': 'set'},
    'armature.LLEG_KNEE': {'uniform': [0.0, 0.1], 'as': 'add'},
    'frictionloss.LLEG_KNEE': {'uniform': [0.0, 0.1], 'as': 'set'},
    'command_delay': {'choice': [0.0, 0.001, 0.002]},
    'noise.q': {'uniform': [0.0, 1e-4]},
    'bias.q.*': {'normal': [0.0, 1e-4]},
    'delay.dq': {'choice': [0.0, 0.002]},
    'posture.*': {'normal': [0.0, 0.005]},
    'position': {'uniform': [[-0.1, -0.1, 0.0], [0.1, 0.1, 0.0]]},
    'rpy.yaw': {'uniform': [-3.0, 3.0]},
    'push': {
        'first': {
            'link': {'choice': ['CHEST', 'WAIST']},
            'force': {'uniform': [50.0, 300.0]},
            'heading': {'uniform': [-180.0, 180.0]},
            'time': {'uniform': [0.01, 0.03]},
            'duration': 0.02,
        },
        'second': {'link': 'CHEST', 'force': {'x': {'normal': [0, 50]}}, 'time': 0.02},
    },
    'watchdog.control_timeout': {'choice': [1.0, 2.0]},
}


def states(simulation: Simulation, duration: float) -> np.ndarray:
    """All that was recorded of a run."""
    with simulation:
        simulation.run(duration)
        return simulation.recorded.rows.copy()


def test_a_run_repeats_itself_to_the_bit():
    """Among others, alone, and as a configuration of its own on a freshly compiled model."""
    runs = load_runs('sr1_pd', EVERYTHING, duration=0.05)
    runner = Runner(runs)
    before = [states(runner.simulation(run, record=True), 0.05) for run in (0, 1, 2)]
    assert not np.array_equal(before[0], before[1])
    again = states(runner.simulation(1, record=True), 0.05)
    np.testing.assert_array_equal(again, before[1])
    alone = states(Runner(runs).simulation(1, record=True), 0.05)
    np.testing.assert_array_equal(alone, before[1])
    fresh = states(Simulation(runner.config(1)), 0.05)
    np.testing.assert_array_equal(fresh, before[1])


def test_values_are_where_they_belong():
    """Each draw is one value of the physics; what controllers see is the model's."""
    runner = Runner(load_runs('sr1_pd', EVERYTHING, duration=0.05))
    nominal = Simulation('sr1_pd', record=False)
    own = nominal.hardware.model
    simulation = runner.simulation(5)
    drawn = runner.randomization.draw(run_seed(0, 5))
    model, body = simulation.hardware.model, simulation.robot
    chest = simulation.hardware._mapping.links[body.link('CHEST').index]
    assert model.body_mass[chest] == own.body_mass[chest] * drawn['mass.CHEST']
    np.testing.assert_allclose(
        model.body_inertia[chest],
        own.body_inertia[chest] * drawn['mass.CHEST'] * drawn['inertia.CHEST'],
    )
    np.testing.assert_allclose(
        model.body_ipos[chest] - own.body_ipos[chest],
        [drawn[f'com.CHEST.{axis}'] for axis in 'xyz'],
        atol=1e-15,
    )
    assert (model.geom_friction[:, 0] == drawn['friction']).all()
    options = simulation.config.hardware_parameters
    assert options.sensors['q'].bias == [drawn[f'bias.q.{name}'] for name in body.joint_names]
    assert options.seed == run_seed(0, 5)
    push = options.pushes['first']
    angle = np.radians(drawn['push.first.heading'])
    force = drawn['push.first.force'] * np.array([np.cos(angle), np.sin(angle), 0.0])
    np.testing.assert_allclose(push.force, force)
    assert (push.link, push.time) == (drawn['push.first.link'], drawn['push.first.time'])
    assert options.pushes['second'].force == [drawn['push.second.force.x'], 0.0, 0.0]
    assert body.mass == nominal.robot.mass
    assert body.link('CHEST').m == nominal.robot.link('CHEST').m
    assert simulation.config.parameters.watchdog.control_timeout in (1.0, 2.0)


def test_a_draw_depends_on_its_name_and_run_alone():
    """Another parameter in the section, or another number of runs, changes no draw."""
    few = Runner(load_runs('sr1_pd', {'friction': {'uniform': [0.4, 1.0]}}, duration=0.05))
    many = Runner(load_runs('sr1_pd', EVERYTHING, duration=0.05))
    for run in range(3):
        seed = run_seed(0, run)
        assert (
            few.randomization.draw(seed)['friction'] == many.randomization.draw(seed)['friction']
        )
    delays = [many.randomization.draw(run_seed(0, run))['command_delay'] for run in range(200)]
    counts = [delays.count(delay) for delay in (0.0, 0.001, 0.002)]
    assert stats.chisquare(counts).pvalue > 0.01
    assert len({run_seed(seed, run) for seed in range(30) for run in range(300)}) == 9000


@pytest.mark.parametrize(
    ('section', 'factor'),
    [
        ({'mass.CHEST': 1.5}, 1.5),
        ({'mass.CHEST': {'constant': 1.5, 'as': 'scale'}}, 1.5),
        ({'mass.CHEST': {'constant': 2.0, 'as': 'add'}}, None),
        ({'mass.CHEST': {'constant': 2.0, 'as': 'set'}}, None),
    ],
)
def test_masses_are_scaled_added_or_set(section, factor):
    """With its inertia, as of the same shape and another density."""
    runner = Runner(load_runs('sr1_pd', section, duration=0.05))
    nominal = runner.simulation(0).robot.link('CHEST').m
    simulation = runner.simulation(0)
    chest = simulation.hardware._mapping.links[simulation.robot.link('CHEST').index]
    mode = section['mass.CHEST'].get('as') if isinstance(section['mass.CHEST'], dict) else 'scale'
    wanted = {'scale': nominal * 1.5, 'add': nominal + 2.0, 'set': 2.0}[mode]
    assert simulation.hardware.model.body_mass[chest] == pytest.approx(wanted, rel=1e-12)
    assert simulation.hardware.model.body_inertia[chest] == pytest.approx(
        Simulation('sr1_pd').hardware.model.body_inertia[chest] * wanted / nominal
    )
    assert factor is None or wanted == nominal * factor


def test_keys_of_the_configuration_that_need_another_model():
    """A model that depends on the draw is compiled for the run; the same as alone."""
    section = {
        'hardware.mujoco.gravity': {'uniform': [5.0, 10.0]},
        'rate': {'choice': [500.0, 1000.0]},
        'pendulum.kp': {'uniform': [0.5, 2.0], 'as': 'scale'},
    }
    runner = Runner(load_runs('pendulum', section, duration=0.1))
    seen = set()
    for run in range(10):
        simulation = runner.simulation(run, record=True)
        config = simulation.config
        seen.add(config.parameters.rate)
        assert -simulation.hardware.model.opt.gravity[2] == config.hardware_parameters.gravity
        drawn = runner.randomization.draw(run_seed(0, run))
        assert config.options['pendulum']['kp'] == 100.0 * drawn['pendulum.kp']
        np.testing.assert_array_equal(
            states(simulation, 0.1), states(Simulation(runner.config(run)), 0.1)
        )
    assert seen == {500.0, 1000.0}


class Plain(SimpleController):
    """Does nothing."""

    def control(self) -> bool:
        """Go on."""
        return True


@pytest.mark.parametrize(
    ('section', 'text'),
    [
        ({'frictoin': 0.5}, 'randomize.frictoin: unknown; choose from: friction, mass'),
        (
            {'mass.NOSE': {'uniform': [0, 1]}},
            "randomize.mass.NOSE: unknown 'NOSE'; choose from: W",
        ),
        ({'strength.X*': {'uniform': [0, 1]}}, "unknown 'X\\*'"),
        ({'com.CHEST': {'uniform': [[0, 0], [1, 1]]}}, '3 values expected'),
        ({'com.CHEST': {'uniform': [0, 1], 'as': 'scale'}}, 'choose from: add'),
        ({'mass.CHEST': {'uniform': [1.0, 0.5]}}, 'not ascending'),
        (
            {'mass.CHEST': {'uniform': [-1.0, -0.5]}},
            'mass.CHEST: .* not allowed; .*drawn by `randomize',
        ),
        ({'noise.NOSE': 0.1}, "unknown sensor 'NOSE'; choose from: q, dq"),
        ({'noise.q': {'normal': [0.0, 0.1]}}, 'sensors.q.noise: -.*drawn by `randomize'),
        ({'delay.q.*': 0.1}, 'all values of a sensor have one delay'),
        ({'position.w': 0.1}, "unknown 'w'; choose from: x, y, z"),
        ({'push.a.link': 'WAIST', 'push.a.force': [1.0, 0.0, 0.0]}, 'push.a.time: is missing'),
        ({'push.force': [50.0, 150.0]}, 'a push has a name of its own: push.NAME.force'),
        ({'push.a.link': 'WAIST', 'push.a.force': 3.0, 'push.a.time': 0.0}, 'a `heading`'),
        ({'push.a': {'link': 'WAIST', 'force': 3.0, 'when': 0.0}}, 'push.a.when: unknown'),
        ({'rate': {'uniform': [-5.0, -1.0]}}, 'rate: .* not allowed; .*drawn by `randomize'),
        ({'then': {'choice': ['a'], 'as': 'scale'}}, 'needs a number in the configuration'),
        ({'mass.CHEST': 1.0, 'mass.CHES*': 1.0}, 'randomised twice'),
    ],
)
def test_wrong_sections_are_refused_before_anything_runs(section, text):
    """The key, the value and the choices are named."""
    with pytest.raises(CnoidControlError, match=text):
        evaluate('sr1_pd', section, 5, workers=0, duration=0.01)


def test_what_needs_physics_is_refused_without():
    """The ideal robot has no friction; its sensors may err."""
    ideal = {'hardware.type': 'kinematic', 'require_commands': False}
    with pytest.raises(CnoidControlError, match="needs hardware mujoco, and it is 'kinematic'"):
        evaluate('sr1_pd', {'friction': 0.5}, 2, changes=ideal, workers=0, duration=0.01)
    found = evaluate(
        'sr1_pd',
        {'noise.q': {'uniform': [0.0, 0.1]}},
        2,
        controller=Plain,
        changes=ideal,
        workers=0,
        duration=0.01,
    )
    assert found.passed == 2


def test_sections_are_read_from_files(tmp_path):
    """A parameter file, or a file with the section alone; the configuration's own counts too."""
    alone = tmp_path / 'alone.yaml'
    alone.write_text('randomize:\n  friction: {uniform: [0.5, 1.0]}\n')
    assert read_section(alone) == {'friction': {'uniform': [0.5, 1.0]}}
    whole = tmp_path / 'mine.yaml'
    whole.write_text(
        '/**:\n  ros__parameters:\n    robot: {model: pendulum}\n    controller: pd\n'
        '    duration: 0.02\n    randomize:\n      mass: {uniform: [0.9, 1.1]}\n'
    )
    found: Any = evaluate(whole, {'strength': {'uniform': [0.9, 1.1]}}, 2, workers=0)
    assert found.parameters == ['mass', 'strength']
    assert 'randomize' not in found.config(0).values
    other = tmp_path / 'other.yaml'
    other.write_text('friction: 1\n')
    with pytest.raises(CnoidControlError, match='has no section `randomize`'):
        evaluate(whole, other, 2, workers=0)
