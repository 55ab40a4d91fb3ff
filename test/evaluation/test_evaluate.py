"""evaluate(): many runs, the same with any number of workers."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from cnoid_control import Simulation, evaluate
from cnoid_control.controllers.pd import PDController
from cnoid_control.evaluation.metric import NamedMetric
from cnoid_control.exceptions import CnoidControlError

SECTION = {
    'mass': {'uniform': [0.8, 1.2]},
    'strength': {'uniform': [0.2, 1.0]},
    'noise.q': {'uniform': [0.0, 0.001]},
}


METRIC = """
import numpy as np

def reach(simulation):
    recorded = simulation.recorded
    speed = float(np.abs(recorded.dq).max())
    return {'way': np.ptp(recorded.q), 'speed': speed, 'odd': float('inf')}
"""


def speed(simulation: Simulation) -> dict[str, Any]:
    """How fast the joint was."""
    return {'speed': float(np.abs(simulation.recorded.dq).max())}


def dies(simulation: Simulation) -> dict[str, Any]:
    """No metric."""
    raise ValueError('no metric today')


def test_the_table_does_not_depend_on_the_workers(tmp_path):
    """The same bytes in this process, with one and with two workers."""
    (tmp_path / 'mine.py').write_text(METRIC)
    metric = NamedMetric(f'{tmp_path}/mine.py:reach')
    tables = [
        evaluate('pendulum', SECTION, 12, duration=0.3, workers=workers, metrics=metric).to_csv()
        for workers in (0, 1, 2)
    ]
    assert tables[0] == tables[1] == tables[2]
    rows = list(csv.DictReader(io.StringIO(tables[0])))
    assert [int(row['run']) for row in rows] == list(range(12))
    assert len({row['seed'] for row in rows}) == 12
    assert len({row['way'] for row in rows}) == 12
    assert {row['odd'] for row in rows} == {''}


def test_one_run_alone_is_the_same():
    """By its number; another seed gives other runs."""
    many = evaluate('pendulum', SECTION, 6, duration=0.2, workers=0)
    alone = evaluate('pendulum', SECTION, [4], duration=0.2, workers=0)
    assert alone.rows == [many.rows[4]]
    other = evaluate('pendulum', SECTION, 6, duration=0.2, workers=0, seed=1)
    assert not set(many['seed']) & set(other['seed'])
    assert many.replay(4).summary()['max_joint_error'] == many.rows[4]['max_joint_error']


def test_what_fails_is_found():
    """Weak actuators are slow, and the evaluation says so."""
    found = evaluate(
        'pendulum', SECTION, 60, duration=0.3, workers=0, passes='speed > 5.5', metrics=speed
    )
    assert 5 < found.failed < 55
    first = found.separations()[0]
    assert (first.name, first.side) == ('strength', 'low')
    weak = found['strength'] < np.median(found['strength'])
    passed = found['passed'].astype(float)
    assert passed[weak].mean() < passed[~weak].mean()
    low, high = found.interval()
    assert low < found.pass_rate < high
    assert not found.worst('speed')['passed']
    assert found.summary()['separations'][0]['parameter'] == 'strength'
    assert 'strength' in found._repr_html_()


def test_runs_that_fail_never_pass():
    """Whatever the rule says; the reason is in the table."""
    found = evaluate(
        'pendulum', {'pendulum.kp': {'choice': [1e12]}}, 2, duration=0.5, workers=0, passes='1 > 0'
    )
    assert found.passed == 0
    assert found.rows[0]['exit'] == 'failed'
    assert found.rows[0]['reason']


def test_a_metric_that_raises_is_a_lost_run():
    """It is counted as not passed, and says why."""
    found = evaluate('pendulum', SECTION, 2, duration=0.05, workers=0, metrics=dies)
    assert [row['exit'] for row in found.rows] == ['lost', 'lost']
    assert 'no metric today' in found.rows[0]['reason']
    assert found.summary()['lost'] == 2
    with pytest.raises(CnoidControlError, match='no run with a result'):
        found.worst()


def test_a_fall_ends_the_run():
    """Unless it is to go on."""
    push = {'push.a': {'link': 'WAIST', 'force': [3000.0, 0.0, 0.0], 'time': 0.05}}
    short = evaluate('sr1_pd', push, 1, duration=2.0, workers=0).rows[0]
    whole = evaluate('sr1_pd', push, 1, duration=2.0, workers=0, stop_on_fall=False).rows[0]
    assert short['fell'] and whole['fell']  # noqa: PT018
    assert short['duration'] < 1.9
    assert whole['duration'] == 2.0


HANGING = """
from cnoid_control import SimpleController

class Hanging(SimpleController):
    def initialize(self, io):
        self.hangs = io.body.q[0] > 1.0
        io.enable_output(io.body.joint(0))
        return True

    def control(self):
        while self.hangs:
            pass
        return True
"""


def test_a_controller_that_hangs_costs_its_own_runs(tmp_path):
    """The others are done, and it is said."""
    (tmp_path / 'hanging.py').write_text(HANGING)
    section = {'posture.*': {'choice': [-0.1, 0.1]}}
    found = evaluate(
        'pendulum',
        section,
        6,
        controller=f'{tmp_path}/hanging.py:Hanging',
        duration=0.05,
        workers=1,
        timeout=1.0,
    )
    (joint,) = found.parameters
    assert {row['passed'] for row in found.rows} == {False, True}
    for row in found.rows:
        assert row['passed'] == (row[joint] < 0.0)
        assert row['passed'] or 'longer than 1 s' in row['reason']


def test_ctrl_c_keeps_what_is_there():
    """The runs so far are returned, in order."""
    done = []

    def stop(evaluation: Any, row: dict[str, Any]) -> None:
        done.append(row['run'])
        if len(done) == 3:
            raise KeyboardInterrupt

    found = evaluate('pendulum', SECTION, 50, duration=0.05, workers=0, on_run=stop)
    assert found.interrupted
    assert [row['run'] for row in found.rows] == [0, 1, 2]


@pytest.mark.parametrize(
    ('arguments', 'text'),
    [
        ({'runs': 0}, 'at least 1'),
        ({'runs': [-1]}, 'at least 1'),
        ({'seed': -1}, 'at least 0'),
        ({'timeout': 0.0}, 'timeout is 0'),
        ({'randomize': 3}, 'randomize is 3'),
        ({'passes': 'tilt < 3'}, "no value 'tilt'; choose from: run"),
        ({'duration': 0.0}, 'duration'),
        ({'controller': PDController()}, 'give its class'),
        ({'changes': {'hardware.type': 'ros2_control'}}, 'only simulated robots'),
    ],
)
def test_wrong_arguments_are_refused(arguments, text):
    """By name."""
    given = {'randomize': SECTION, 'runs': 2, 'duration': 0.02, 'workers': 0, **arguments}
    with pytest.raises(CnoidControlError, match=text):
        evaluate('pendulum', **given)


def test_several_robots_are_refused(tmp_path):
    """One robot is evaluated at a time."""
    world = tmp_path / 'pair.yaml'
    world.write_text('/**:\n  ros__parameters:\n    robots: {a: {config: pendulum}}\n')
    with pytest.raises(CnoidControlError, match='several robots'):
        evaluate(world, runs=1)


def test_parquet_has_the_same_values(tmp_path):
    """Read back, it is the table."""
    parquet = pytest.importorskip('pyarrow.parquet', reason='needs pyarrow')
    found = evaluate('pendulum', SECTION, 3, duration=0.05, workers=0)
    found.to_parquet(tmp_path / 'runs.parquet')
    assert parquet.read_table(tmp_path / 'runs.parquet').to_pylist() == [
        {name: row.get(name) for name in found.columns} for row in found.rows
    ]
    assert list(found.to_pandas()['mass']) == [row['mass'] for row in found.rows]
