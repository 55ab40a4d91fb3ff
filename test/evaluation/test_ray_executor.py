"""Tasks on a Ray cluster: the same outcomes, and none is lost with a node."""

from __future__ import annotations

from pathlib import Path

import pytest
from executor_tasks import Squares, Threads, Troubles, Unmakable

from cnoid_control import CnoidControlError
from cnoid_control.evaluation import make_executor

ray = pytest.importorskip('ray', reason='Ray has no wheel for this Python')


# A cluster takes its time to start on a busy computer.
pytestmark = pytest.mark.timeout(400)


def start_cluster(attempts=3):
    """Start two nodes; Ray gives each of them 30 s, which a busy computer may not have."""
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        cluster.add_node(num_cpus=1)
        cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes(60)
    except Exception:
        cluster.shutdown()
        if attempts == 1:
            raise
        return start_cluster(attempts - 1)
    return cluster


@pytest.fixture(scope='module')
def cluster():
    """Two nodes of one core each."""
    cluster = start_cluster()
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def test_tasks_fail_as_they_do_on_this_computer(cluster, tmp_path, monkeypatch):
    """By name where they raise or kill their workers; repeated where a worker dies once."""
    tasks = [('raise', 1), ('kill', 2), ('kill_once', 3), ('fine', 4)]
    by_task = {}
    for where in ({'workers': 1}, {'ray': cluster.address}):
        folder = tmp_path / str(len(by_task))
        folder.mkdir()
        with make_executor(Troubles(str(folder)), **where) as executor:
            outcomes = {outcome.task: outcome for outcome in executor.run(tasks)}
        by_task[str(where)] = {
            task: (outcome.result, outcome.failure and outcome.failure.reason[:31])
            for task, outcome in outcomes.items()
        }
        assert len(list(folder.glob('kill2_*'))) == 3
        assert len(list(folder.glob('kill_once3_*'))) == 2
    here, there = by_task.values()
    assert here == there
    monkeypatch.setenv('CNOID_CONTROL_TEST', 'seen')
    with make_executor(Threads(), ray=cluster.address) as executor:
        [outcome] = executor.run([0])
    assert set(outcome.result['threads']) == {1}
    assert outcome.result['variable'] == 'seen'
    with (
        make_executor(Unmakable(), ray=cluster.address) as executor,
        pytest.raises(CnoidControlError, match='no such model'),
    ):
        list(executor.run(range(5)))


def test_a_node_that_is_killed_loses_no_task(cluster, tmp_path):
    """What was under way on it is done again on the other one, once each."""
    node = next(iter(cluster.worker_nodes))
    with make_executor(Squares(str(tmp_path), 0.1), ray=cluster.address) as executor:
        outcomes = []
        for outcome in executor.run(range(40)):
            outcomes.append(outcome)
            if len(outcomes) == 10:
                assert len(list(Path(tmp_path).glob('made_*'))) >= 2
                cluster.remove_node(node, allow_graceful=False)
    assert sorted(outcome.task for outcome in outcomes) == list(range(40))
    assert all(outcome.result == outcome.task**2 for outcome in outcomes)


def test_a_cluster_that_is_not_there_is_named():
    """With what to do about it."""
    ray.shutdown()
    with pytest.raises(CnoidControlError, match=r'127\.0\.0\.1:1.*ray start'):
        make_executor(Threads(), ray='127.0.0.1:1')


def test_an_evaluation_is_the_same_table(cluster):
    """Byte for byte what this computer makes of it."""
    from cnoid_control import evaluate

    section = {'mass': {'uniform': [0.8, 1.2]}, 'noise.q': {'uniform': [0.0, 0.001]}}
    here = evaluate('pendulum', section, 8, duration=0.1, workers=0)
    there = evaluate('pendulum', section, 8, duration=0.1, ray=cluster.address)
    assert there.to_csv() == here.to_csv()
