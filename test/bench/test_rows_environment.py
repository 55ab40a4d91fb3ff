"""The benchmark of environments compares like with like."""

from __future__ import annotations

from cnoid_control.bench.rows_environment import environment_step


def test_both_take_the_same_ticks() -> None:
    """Ten of them, on the same robot."""
    with environment_step() as (step, run):
        env = step.__closure__[1].cell_contents  # type: ignore[attr-defined]
        simulation = run.__closure__[1].cell_contents  # type: ignore[attr-defined]
        before = env.simulation.loop.tick, simulation.loop.tick
        for work in (step, run):
            work()
        assert env.simulation.loop.tick == before[0] + 10
        assert simulation.loop.tick == before[1] + 10
        assert env.robot.num_joints == simulation.robot.num_joints
