"""Motion queue: times, bounds, interruption and what it refuses."""

import numpy as np
import pytest

from cnoid_control.controllers.motion_queue import MotionQueue, MotionRefused, make_limits

NAMES = ('A', 'B', 'C')


def make_queue(n: int = 1, **options: object) -> MotionQueue:
    """Queue of n joints with acceleration limit 6.98 and velocity limit 4."""
    kinds = ('velocity', 'acceleration', 'jerk', 'lower', 'upper')
    bounds = {'velocity': 4.0, 'acceleration': 6.98}
    bounds.update({key: options.pop(key) for key in kinds if key in options})
    start = options.pop('start', np.zeros(n))
    return MotionQueue(make_limits(NAMES[:n], **bounds), np.asarray(start, float), **options)


def run(queue: MotionQueue, duration: float, dt: float = 0.001) -> np.ndarray:
    """Positions commanded over a time, one row a step."""
    return np.array([queue.advance(dt).position for _ in range(round(duration / dt))])


class TestMilestones:
    """Time-optimal motion."""

    def test_rest_to_rest_takes_the_time_of_a_triangle(self):
        """0.5 rad at 6.98 rad/s^2 take 2 sqrt(d / A) = 0.5353 s."""
        queue = make_queue()
        queue.set_milestone([0.5])
        assert queue.remaining_time == pytest.approx(0.53524, abs=1e-3)
        assert queue.remaining_time == pytest.approx(2 * np.sqrt(0.5 / 6.98), abs=1e-9)

    def test_long_moves_cruise_at_the_velocity_limit(self):
        """A move beyond V^2 / A takes d / V + V / A."""
        queue = make_queue(velocity=1.0)
        queue.set_milestone([2.0])
        assert queue.remaining_time == pytest.approx(2.0 + 1.0 / 6.98, abs=1e-9)

    def test_joints_arrive_together(self):
        """The slowest joint sets the time and no other arrives earlier."""
        queue = make_queue(3)
        queue.set_milestone([0.5, -0.1, 0.02])
        run(queue, queue.remaining_time - 0.02)
        assert (np.abs(queue.state.velocity) > 1e-3).all()
        run(queue, 0.1)
        np.testing.assert_allclose(queue.state.position, [0.5, -0.1, 0.02], atol=1e-12)

    def test_a_jerk_limit_makes_the_acceleration_continuous(self):
        """Steps of the acceleration stay below jerk times dt, and the move takes longer."""
        queue = make_queue(jerk=100.0)
        queue.set_milestone([0.5])
        assert queue.remaining_time > 0.5353
        previous = 0.0
        while queue.is_moving:
            acceleration = queue.advance(0.001).acceleration[0]
            assert abs(acceleration - previous) <= 100.0 * 0.001 + 1e-9
            previous = acceleration

    def test_a_goal_behind_is_reached_by_full_braking(self):
        """Interrupted at speed, the joint brakes with A, overshoots by v^2 / 2A and returns."""
        queue = make_queue()
        queue.set_milestone([2.0])
        run(queue, 0.3)
        x, v = queue.state.position[0], queue.state.velocity[0]
        queue.set_milestone([0.0])
        assert queue.advance(0.001).acceleration[0] == pytest.approx(-6.98)
        turned = run(queue, 2.0).max()
        assert turned == pytest.approx(x + v**2 / (2 * 6.98), abs=1e-5)
        assert queue.state.position[0] == pytest.approx(0.0, abs=1e-12)

    def test_a_goal_velocity_is_reached_at_the_goal(self):
        """The joint passes the goal with the velocity asked for, then settles at the goal."""
        queue = make_queue()
        queue.set_milestone([0.5], [0.8])
        queue.advance(queue.remaining_time - 1e-9)
        assert queue.state.velocity[0] == pytest.approx(0.8, abs=1e-6)
        run(queue, 2.0)
        np.testing.assert_allclose(queue.state.position, [0.5], atol=1e-9)
        assert queue.remaining_time == 0.0

    def test_added_milestones_start_where_the_queue_ends(self):
        """add_milestone goes on from the end state, its velocity included."""
        queue = make_queue()
        queue.set_milestone([0.5], [0.8])
        first = queue.remaining_time
        queue.add_milestone([1.0])
        assert queue.remaining_time > first
        run(queue, first, dt=first / 100)
        assert queue.state.velocity[0] == pytest.approx(0.8, abs=1e-6)
        run(queue, queue.remaining_time + 0.01)
        assert queue.goal[0] == pytest.approx(1.0)
        assert queue.state.position[0] == pytest.approx(1.0)

    def test_adding_after_the_end_starts_now(self):
        """A milestone added long after the queue ran out starts at once."""
        queue = make_queue()
        queue.set_milestone([0.1])
        run(queue, 3.0)
        queue.add_milestone([0.2])
        assert queue.advance(0.01).velocity[0] > 0.0

    def test_remaining_time_is_never_negative(self):
        """Long after the end it is exactly zero."""
        queue = make_queue()
        queue.set_milestone([0.1])
        for _ in range(100):
            queue.advance(0.013)
            assert queue.remaining_time >= 0.0
        assert queue.remaining_time == 0.0

    def test_joints_that_are_not_named_keep_their_goal(self):
        """A milestone for one joint leaves the other one on its way."""
        queue = make_queue(2)
        queue.set_milestone([0.5, 0.4])
        run(queue, 0.1)
        queue.set_milestone([-0.2], joints=['A'])
        run(queue, 3.0)
        np.testing.assert_allclose(queue.state.position, [-0.2, 0.4], atol=1e-9)

    def test_position_limits_hold_while_waiting_for_others(self):
        """A joint that moves towards its limit turns in time even if another takes longer."""
        queue = make_queue(2, upper=[0.3, np.inf], velocity=[4.0, 0.5])
        queue.set_milestone([0.29, 0.0])
        run(queue, 0.12)
        queue.set_milestone([0.0, 1.0])
        assert run(queue, 4.0)[:, 0].max() <= 0.3 + 1e-6
        np.testing.assert_allclose(queue.state.position, [0.0, 1.0], atol=1e-9)


class TestStraightLines:
    """Linear milestones and timed motion."""

    def test_linear_milestones_stay_on_the_line(self):
        """Even where one joint saturates its velocity, the path is straight."""
        queue = make_queue(2, velocity=[0.5, 4.0])
        queue.add_milestone_linear([1.0, 0.3])
        path = run(queue, queue.remaining_time)
        np.testing.assert_allclose(path[:, 1], 0.3 * path[:, 0], atol=1e-12)

    def test_linear_milestones_start_from_a_moving_state(self):
        """The velocity across the line is braked within the bounds, then the line is straight."""
        queue = make_queue(2)
        queue.set_milestone([1.0, 0.0])
        run(queue, 0.2)
        velocity = queue.state.velocity.copy()
        queue.set_milestone_linear([0.5, 1.0])
        previous = velocity
        while queue.is_moving:
            state = queue.advance(0.001)
            assert np.abs(state.velocity - previous).max() <= 6.98 * 0.001 + 1e-9
            previous = state.velocity
        np.testing.assert_allclose(queue.state.position, [0.5, 1.0], atol=1e-9)

    def test_set_linear_interpolates(self):
        """Constant velocity; at the end the position holds with velocity zero."""
        queue = make_queue()
        queue.set_linear([0.4], 2.0)
        queue.advance(0.5)
        assert queue.state.position[0] == pytest.approx(0.1)
        assert queue.state.velocity[0] == pytest.approx(0.2)
        queue.append_linear([0.0], 1.0)
        queue.advance(2.0)
        assert queue.state.position[0] == pytest.approx(0.2)
        assert queue.state.velocity[0] == pytest.approx(-0.4)
        queue.advance(1.0)
        assert queue.state.position[0] == pytest.approx(0.0)
        assert queue.state.velocity[0] == 0.0

    def test_set_cubic_is_the_hermite_cubic(self):
        """Position and velocity agree with scipy's cubic Hermite spline."""
        from scipy.interpolate import CubicHermiteSpline

        queue = make_queue()
        queue.set_milestone([1.0])
        run(queue, 0.2)
        start = queue.state
        queue.set_cubic([0.7], [0.3], 1.5)
        spline = CubicHermiteSpline([0, 1.5], [start.position[0], 0.7], [start.velocity[0], 0.3])
        for i in range(1, 150):
            state = queue.advance(0.01)
            assert state.position[0] == pytest.approx(float(spline(i * 0.01)), abs=1e-12)
            assert state.velocity[0] == pytest.approx(float(spline(i * 0.01, 1)), abs=1e-12)

    def test_set_velocity_runs_for_its_time(self):
        """Slope dq for dt, then hold."""
        queue = make_queue()
        queue.set_velocity([0.5], 0.4)
        run(queue, 1.0)
        assert queue.state.position[0] == pytest.approx(0.2)
        assert queue.state.velocity[0] == 0.0

    def test_too_fast_linear_motion_takes_longer_and_says_so(self):
        """The velocity limit holds for timed motion; the report names both times."""
        lines = []
        queue = make_queue(velocity=1.0, report=lines.append)
        queue.set_linear([2.0], 0.5)
        assert queue.remaining_time == pytest.approx(2.0)
        assert '2 s instead of 0.5 s' in lines[0]

    def test_velocity_motion_stops_at_the_position_limit(self):
        """set_velocity does not lead beyond a limit."""
        lines = []
        queue = make_queue(upper=0.3, report=lines.append)
        queue.set_velocity([1.0], 2.0)
        assert run(queue, 3.0).max() <= 0.3 + 1e-9
        assert 'instead of 2 s' in lines[0]


class TestFlow:
    """Brake, pause, feed rate, limits, joints that come and go."""

    def test_brake_stops_with_the_full_acceleration(self):
        """It takes v / A, and the queue is empty afterwards."""
        queue = make_queue()
        queue.set_milestone([2.0])
        queue.add_milestone([0.0])
        run(queue, 0.3)
        v = queue.state.velocity[0]
        queue.brake()
        assert queue.remaining_time == 0.0
        run(queue, v / 6.98 + 0.002)
        stopped = queue.state.position[0]
        assert queue.state.velocity[0] == 0.0
        run(queue, 1.0)
        assert queue.state.position[0] == stopped

    def test_pause_and_resume_keep_the_queue(self):
        """Paused in the middle, the joint stands still, then goes to all milestones."""
        queue = make_queue()
        queue.set_milestone([1.0])
        queue.add_milestone([0.2])
        run(queue, 0.2)
        queue.pause()
        run(queue, 1.0)
        assert queue.state.velocity[0] == 0.0
        paused = queue.state.position[0]
        run(queue, 1.0)
        assert queue.state.position[0] == paused
        queue.resume()
        path = run(queue, 3.0)
        assert path.max() == pytest.approx(1.0, abs=1e-4)
        assert queue.state.position[0] == pytest.approx(0.2)

    def test_milestones_set_during_a_pause_wait(self):
        """Nothing moves before resume, then the new goal is reached."""
        queue = make_queue()
        queue.pause()
        queue.set_milestone([0.3])
        run(queue, 1.0)
        assert queue.state.position[0] == 0.0
        queue.resume()
        run(queue, 1.0)
        assert queue.state.position[0] == pytest.approx(0.3)

    def test_feed_rate_scales_the_speed(self):
        """At half the feed rate the cruise velocity halves; timed motion takes twice the time."""
        queue = make_queue(velocity=1.0)
        queue.set_milestone([5.0])
        run(queue, 1.0)
        queue.set_feed_rate(0.5)
        run(queue, 1.0)
        assert queue.state.velocity[0] == pytest.approx(0.5)
        queue.set_linear(queue.state.position + 0.1, 1.0)
        assert queue.remaining_time == pytest.approx(2.0)

    def test_a_feed_rate_of_zero_pauses_until_it_rises(self):
        """Turned down to 0 and up again, the motion goes on; a pause of its own lasts longer."""
        queue = make_queue()
        queue.set_milestone([5.0])
        run(queue, 1.0)
        queue.set_feed_rate(0.0)
        run(queue, 2.0)
        assert queue.state.velocity[0] == 0.0
        queue.set_feed_rate(0.5)
        run(queue, 20.0)
        assert queue.goal == pytest.approx([5.0])
        assert queue.state.position[0] == pytest.approx(5.0)
        queue.set_milestone([0.0])
        queue.pause()
        queue.set_feed_rate(0.0)
        queue.set_feed_rate(1.0)
        assert queue.paused

    def test_limits_can_change_while_moving(self):
        """A lower velocity limit acts from now on, without a jump."""
        queue = make_queue()
        queue.set_milestone([5.0])
        run(queue, 0.5)
        queue.set_limits(make_limits(['A'], velocity=0.5, acceleration=6.98))
        before = queue.state.velocity[0]
        after = queue.advance(0.001).velocity[0]
        assert abs(after - before) <= 6.98e-3 + 1e-9
        run(queue, 1.0)
        assert queue.state.velocity[0] == pytest.approx(0.5)

    def test_placed_joints_leave_the_others_alone(self):
        """A joint put elsewhere stays there while the other one goes on as it was."""
        queue, twin = make_queue(2), make_queue(2)
        for one in (queue, twin):
            one.set_milestone([1.0, 0.4])
            run(one, 0.2)
        queue.place_joints(['B'], [0.7])
        for _ in range(300):
            moved, expected = queue.advance(0.002), twin.advance(0.002)
            assert moved.position[0] == pytest.approx(expected.position[0], abs=1e-9)
            assert moved.position[1] == 0.7

    @pytest.mark.parametrize('after', [0.02, 1.0])
    def test_placing_in_a_pause_does_not_end_the_pause(self, after):
        """The others stop, or stay, where the pause has led them, and go on after it."""
        queue = make_queue(2)
        queue.set_milestone([1.0, 0.4])
        run(queue, 0.2)
        queue.pause()
        run(queue, after)
        queue.place_joints(['B'], [0.7])
        run(queue, 1.0)
        stopped = queue.advance(0.001).position
        np.testing.assert_array_equal(run(queue, 1.0)[-1], stopped)
        assert 0.1 < stopped[0] < 0.6
        queue.resume()
        np.testing.assert_allclose(run(queue, 2.0)[-1], [1.0, 0.7], atol=1e-9)


class TestRefusals:
    """Bad input is refused and the motion goes on as it was."""

    @pytest.mark.parametrize(
        ('call', 'words'),
        [
            (lambda q: q.set_milestone([1.0]), '1 elements for 2 joints'),
            (lambda q: q.set_milestone([np.nan, 0.0]), "'A' is nan"),
            (lambda q: q.set_milestone([0.0, 0.0], [0.0, np.inf]), "'B' is inf"),
            (lambda q: q.set_linear([0.0, 0.0], -1.0), '-1.0 s'),
            (lambda q: q.set_linear([0.0, 0.0], 0.0), '0.0 s'),
            (lambda q: q.set_velocity([0.0, 0.0], -0.1), '-0.1 s'),
            (lambda q: q.set_cubic([0, 0], [0, 0], np.nan), 'nan s'),
            (lambda q: q.set_feed_rate(1.5), '1.5'),
            (lambda q: q.set_milestone([0.0], joints=['X']), "'X'; choose"),
            (lambda q: q.set_milestone([0.0, 9.0]), "'B' is 9"),
        ],
    )
    def test_refused_with_the_name_and_the_value(self, call, words):
        """The error says what is wrong and the next state is as if nothing had been asked."""
        options = {'upper': 2.0, 'lower': -2.0, 'refuse_beyond_limits': True}
        queue, twin = make_queue(2, **options), make_queue(2, **options)
        for one in (queue, twin):
            one.set_milestone([1.0, 0.5])
            run(one, 0.2)
        with pytest.raises(MotionRefused, match=words):
            call(queue)
        for _ in range(50):
            np.testing.assert_array_equal(queue.advance(0.01), twin.advance(0.01))

    def test_a_joint_without_acceleration_must_not_move(self):
        """A zero acceleration limit is refused only for a joint that has to move."""
        queue = make_queue(2, acceleration=[1.0, 0.0])
        queue.set_milestone([0.5, 0.0])
        run(queue, 0.1)
        for call in (queue.set_milestone, queue.add_milestone, queue.add_milestone_linear):
            with pytest.raises(MotionRefused, match=r"'B' must move by 0\.1"):
                call([0.5, 0.1])
        run(queue, 3.0)
        np.testing.assert_allclose(queue.state.position, [0.5, 0.0], atol=1e-9)

    def test_goals_beyond_the_limits_are_clamped_with_a_report(self):
        """The joint stops a hair before the limit; the report names joint, value and limits."""
        lines = []
        queue = make_queue(lower=-1.0, upper=1.0, report=lines.append)
        queue.set_milestone([3.0])
        run(queue, 3.0)
        assert queue.state.position[0] == pytest.approx(1.0 - 2e-7, abs=1e-9)
        assert "'A' clamped from 3" in lines[0]

    def test_goal_velocities_that_lead_beyond_a_limit_are_clamped(self):
        """Arriving near a limit, the joint is only as fast as it can stop before it."""
        lines = []
        queue = make_queue(lower=-1.0, upper=1.0, report=lines.append)
        queue.set_milestone([0.9], [3.0])
        assert "'A' clamped from 3" in lines[0]
        assert run(queue, 3.0).max() <= 1.0 + 1e-6

    def test_a_cubic_that_swings_beyond_a_limit_is_refused(self):
        """A cubic cannot be bent; it is refused with the joint's name."""
        queue = make_queue(lower=-1.0, upper=1.0)
        queue.set_milestone([0.9])
        run(queue, 0.3)
        with pytest.raises(MotionRefused, match='A: no cubic'):
            queue.set_cubic([0.9], [0.0], 8.0)

    def test_negative_limits_are_refused(self):
        """The limit, the joint and the value are named."""
        with pytest.raises(MotionRefused, match="acceleration limit of joint 'A' is -1"):
            make_limits(['A'], velocity=1.0, acceleration=-1.0)
