"""Switching of the simulated controllers, by controller_manager's rules."""

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from cnoid_control.ros.sim.controllers import (
    BEST_EFFORT,
    STRICT,
    SimulatedController,
    SimulatedControllers,
    forward_controller,
)


@pytest.fixture
def controllers():
    """Return a broadcaster and a forward controller for each interface."""
    joints = ['hip', 'knee']
    return SimulatedControllers(
        [
            SimulatedController('states', 'joint_state_broadcaster/X', active=True),
            forward_controller('effort', 'effort', joints),
            forward_controller('position', 'position', joints),
            forward_controller('knee_velocity', 'velocity', ['knee']),
        ]
    )


def active(controllers):
    """Return the names of the active forward controllers."""
    return [controller.name for controller in controllers.active_forward]


def test_a_switch_is_one_step(controllers):
    """One call deactivates one controller and activates another on the same joints."""
    assert controllers.switch(['effort'], [], STRICT).ok
    assert controllers.switch(['position'], ['effort'], STRICT).ok
    assert active(controllers) == ['position']
    assert controllers['position'].command_interfaces == ['hip/position', 'knee/position']


def test_a_joint_has_one_commander(controllers):
    """A second controller on a joint is refused whatever the strictness, naming the first."""
    controllers.switch(['effort'], [], STRICT)
    for strictness in (STRICT, BEST_EFFORT):
        result = controllers.switch(['knee_velocity'], [], strictness)
        assert not result.ok
        assert "'knee'" in result.message
        assert "'effort'" in result.message
    assert not controllers.switch(['position'], [], STRICT).ok
    assert active(controllers) == ['effort']


def test_position_and_velocity_go_together(controllers):
    """A drive takes a position with a velocity, and an effort besides, but not twice the same."""
    assert controllers.switch(['position', 'knee_velocity'], [], STRICT).ok
    assert active(controllers) == ['position', 'knee_velocity']
    # The hip would have position and effort without a velocity.
    result = controllers.switch(['effort'], [], STRICT)
    assert not result.ok
    assert "'hip'" in result.message
    assert controllers.switch([], ['position'], STRICT).ok
    assert active(controllers) == ['knee_velocity']


@pytest.mark.parametrize(
    ('activate', 'deactivate', 'words'),
    [
        (['elbow'], [], "'elbow' is not loaded; choose from: states, effort"),
        ([], ['elbow'], "'elbow' is not loaded"),
        (['effort'], [], "'effort' is active already"),
        ([], ['position'], "'position' is not active"),
    ],
)
def test_strict_does_all_or_nothing(controllers, activate, deactivate, words):
    """What STRICT refuses with the reason, BEST_EFFORT leaves out."""
    controllers.switch(['effort'], [], STRICT)
    result = controllers.switch(activate, [*deactivate, 'states'], STRICT)
    assert not result.ok
    assert words in result.message
    assert controllers['states'].active
    # A list of unknown names alone is refused by real managers, whatever the strictness.
    known = activate if 'elbow' not in activate else [*activate, 'effort']
    assert controllers.switch(known, [*deactivate, 'states'], BEST_EFFORT).ok
    assert not controllers['states'].active
    assert active(controllers) == ['effort']


@pytest.mark.parametrize('strictness', [STRICT, BEST_EFFORT, 0])
def test_a_list_without_a_known_name_is_refused(controllers, strictness):
    """Nothing is switched then, not even what is known in the other list."""
    assert controllers.switch(['effort'], [], STRICT).ok
    for activate, deactivate in ((['elbow'], ['effort']), (['position'], ['elbow'])):
        result = controllers.switch(activate, deactivate, strictness)
        assert not result.ok
        assert "'elbow' is not loaded" in result.message
        assert active(controllers) == ['effort']


def test_a_controller_can_be_restarted(controllers):
    """A controller in both lists is restarted."""
    controllers.switch(['effort'], [], STRICT)
    assert controllers.switch(['effort'], ['effort'], STRICT).ok
    assert active(controllers) == ['effort']


def test_gains_go_with_position_velocity_and_effort_alone():
    """All five at once make a drive with gains; a part of them is refused, with the choices."""
    names = ('position', 'velocity', 'effort', 'stiffness', 'damping')
    controllers = SimulatedControllers([forward_controller(name, name, ['hip']) for name in names])
    for part in (['stiffness'], ['position', 'stiffness', 'damping']):
        result = controllers.switch(part, [], STRICT)
        assert not result.ok
        assert f'cannot be commanded through {", ".join(part)} alone' in result.message
        assert 'position + velocity + effort + damping + stiffness' in result.message
    assert controllers.switch(names, [], STRICT).ok
    assert active(controllers) == list(names)
    result = controllers.switch(['effort'], names[:2], STRICT)
    assert not result.ok
    assert controllers.switch([], [name for name in names if name != 'effort'], STRICT).ok
    assert active(controllers) == ['effort']


def test_a_switch_without_strictness_is_that_of_the_distribution():
    """Best effort in Jazzy and Kilted; from Lyrical on all or nothing."""
    joints = ['hip']
    for default, made in ((BEST_EFFORT, True), (STRICT, False)):
        controllers = SimulatedControllers(
            [forward_controller('effort', 'effort', joints)], default
        )
        assert controllers.switch(['effort', 'nobody'], [], 0).ok is made
        assert active(controllers) == (['effort'] if made else [])
        # AUTO and FORCE_AUTO are best effort in all of them.
        assert controllers.switch(['nobody', 'effort'], ['effort'], 3).ok


def test_an_error_deactivates_the_whole_chain(controllers):
    """What precedes and what follows a controller that fails stops with it; others go on."""
    chain = SimulatedControllers(
        [
            SimulatedController('head', 'x', active=True, followers=('middle',)),
            SimulatedController('middle', 'x', active=True, followers=('tail',)),
            SimulatedController('tail', 'x', active=True),
            SimulatedController('other', 'x', active=True),
        ]
    )
    assert chain.is_chained('tail')
    assert not chain.is_chained('head')
    assert sorted(chain.fail('middle')) == ['head', 'middle', 'tail']
    assert [one.name for one in chain if one.active] == ['other']
    assert not chain.is_chained('tail')


def test_a_controller_that_was_cleaned_up_cannot_be_activated(controllers):
    """It is unconfigured; an active one is not cleaned up."""
    assert controllers.switch(['effort'], [], STRICT).ok
    assert not controllers.clean_up('effort').ok
    assert controllers.switch([], ['effort'], STRICT).ok
    assert controllers.clean_up('effort').ok
    assert controllers['effort'].state == 'unconfigured'
    result = controllers.switch(['effort'], [], STRICT)
    assert not result.ok
    assert 'unconfigured' in result.message
    assert controllers.switch(['effort'], [], BEST_EFFORT).ok
    assert active(controllers) == []
    assert controllers.configure('effort').ok
    assert controllers.switch(['effort'], [], STRICT).ok
    result = controllers.configure('effort')
    assert not result.ok
    assert 'active' in result.message


def test_only_what_is_loaded_is_configured(controllers):
    """A name that is not loaded is refused, with the choices."""
    for change in (controllers.clean_up, controllers.configure):
        result = change('elbow')
        assert not result.ok
        assert "'elbow' is not loaded; choose from: states, effort" in result.message
