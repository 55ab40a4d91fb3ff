"""Security: the SROS2 policy fits the nodes, and files are not loaded unasked."""

from __future__ import annotations

import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from lifecycle_msgs.msg import Transition
from node_rig import CONTROLLERS, NodeRig, write_config

from cnoid_control.faults.dds_testbed import DdsRig

TELEOP = 'cnoid_control_teleop'
# What the nodes use in other modes or with other controllers than the ones of this test.
ON_OCCASION = {
    ('cnoid_control', 'topics subscribe', '/clock'),
    ('cnoid_control_heartbeat', 'topics subscribe', '/clock'),
    # It is told to go by simulated time, which is its own.
    ('cnoid_control_mujoco', 'topics subscribe', '/clock'),
    ('cnoid_control', 'topics publish', '/position_controller/commands'),
    ('cnoid_control', 'topics publish', '/velocity_controller/commands'),
    ('cnoid_control', 'topics publish', '/cnoid_control/controller_state'),
    ('cnoid_control', 'topics subscribe', '/cnoid_control/joint_trajectory'),
    ('cnoid_control', 'topics subscribe', '/robot_description'),
    ('cnoid_control', 'topics subscribe', '/joy'),
    ('_cnoid_control_supervision', 'services request', '/cnoid_control_mujoco/reset'),
    (
        '_cnoid_control_supervision',
        'services request',
        '/controller_manager/list_hardware_interfaces',
    ),
    ('_cnoid_control_supervision', 'services request', '/position_controller/get_parameters'),
    ('_cnoid_control_supervision', 'services request', '/velocity_controller/get_parameters'),
    ('_cnoid_control_shutdown', 'topics publish', '/position_controller/commands'),
    ('_cnoid_control_shutdown', 'topics publish', '/velocity_controller/commands'),
    ('_cnoid_control_shutdown', 'topics publish', '/damping_controller/commands'),
    ('_cnoid_control_supervision', 'services request', '/damping_controller/get_parameters'),
    ('cnoid_control', 'topics publish', '/damping_controller/commands'),
    ('_cnoid_control_shutdown', 'topics publish', '/stiffness_controller/commands'),
    ('_cnoid_control_supervision', 'services request', '/stiffness_controller/get_parameters'),
    ('cnoid_control', 'topics publish', '/stiffness_controller/commands'),
}
# What the fault injector's robot has besides.
OF_THE_RIG = {
    ('cnoid_control_mujoco', 'topics subscribe', '/fault'),
    ('_controller_manager_host', 'topics publish', '/parameter_events'),
    (
        '_controller_manager_host',
        'services reply',
        '/_controller_manager_host/get_type_description',
    ),
}


def policy_entries(path: Path) -> set[tuple[str, str, str]]:
    """Node, kind and full name of everything that the policy allows; actions left out."""
    entries = set()
    for profile in ElementTree.parse(path).getroot().iter('profile'):
        node = profile.get('node', '')
        for kind in profile:
            if kind.tag == 'actions':
                continue
            for name in kind:
                text = (name.text or '').replace('~', f'/{node}')
                full = text if text.startswith('/') else f'/{text}'
                entries.add((node, f'{kind.tag} {next(iter(kind.attrib))}', full))
    return entries


def graph_entries(node) -> set[tuple[str, str, str]]:
    """Node, kind and full name of everything that the nodes of the domain use."""
    entries = set()
    for name, namespace in node.get_node_names_and_namespaces():
        if 'fault_injector' in name:
            continue
        for kind, find in (
            ('topics publish', node.get_publisher_names_and_types_by_node),
            ('topics subscribe', node.get_subscriber_names_and_types_by_node),
            ('services reply', node.get_service_names_and_types_by_node),
            ('services request', node.get_client_names_and_types_by_node),
        ):
            entries |= {(name, kind, topic) for topic, _ in find(name, namespace)}
    return entries


def test_the_policy_names_exactly_what_the_nodes_use(root: Path) -> None:
    """Nothing that SR1's nodes use is missing, and nothing is allowed that none ever uses."""
    allowed = policy_entries(root / 'security' / 'policy.xml')
    # It is started by who moves the robot by hand.
    allowed = {entry for entry in allowed if entry[0] != TELEOP}
    rig = DdsRig(heartbeat=True)
    used: set[tuple[str, str, str]] = set()
    deadline = time.monotonic() + 60.0
    try:
        # Nodes come to know each other one by one.
        while allowed - used != ON_OCCASION and time.monotonic() < deadline:
            used |= graph_entries(rig.node) - OF_THE_RIG
            time.sleep(0.1)
    finally:
        rig.close()
    assert used - allowed == set()
    assert allowed - used == ON_OCCASION, (allowed - used) ^ ON_OCCASION


def test_the_policy_names_exactly_what_teleop_uses(root: Path, ros_node, spin_until) -> None:
    """With twists, sticks and the stop; the emergency stop is another choice of the latter."""
    from cnoid_control.plugin.mailbox import Joy
    from cnoid_control.ros.teleop_node import TeleopNode, TeleopOptions
    from cnoid_control.teleop.device import TeleopDevice

    class Untouched(TeleopDevice):
        def read(self) -> Joy:
            return Joy()

        def close(self) -> None:
            """There is nothing to give back."""

    allowed = {e for e in policy_entries(root / 'security' / 'policy.xml') if e[0] == TELEOP}
    options = TeleopOptions(joy='joy')
    node = TeleopNode(Untouched(), options, lambda line: None, ros_node.context)
    on_occasion = {(TELEOP, 'services request', '/cnoid_control/estop')}

    def used() -> set[tuple[str, str, str]]:
        return {entry for entry in graph_entries(ros_node) if entry[0] == TELEOP}

    try:
        assert spin_until(lambda: used() == allowed - on_occasion), used() ^ allowed
    finally:
        node.destroy_node()


def test_the_policy_allows_the_trajectory_action(root: Path) -> None:
    """The node may serve the one action that it has."""
    actions = ElementTree.parse(root / 'security' / 'policy.xml').getroot().iter('action')
    assert [action.text for action in actions] == ['~/follow_joint_trajectory']


def test_files_are_not_loaded_while_running(
    ros_node, spin_until, start_process, tmp_path: Path
) -> None:
    """A swap to a controller of a file is refused unless the node was started to allow it."""
    config = write_config(tmp_path)
    text = config.read_text().replace('allow_file_plugins: true', '')
    waiting = (
        '    tasks: {joint_group: all, solver: qp}\n'
        '    policy: {file: x.onnx, observations: [height]}\n    hardware:'
    )
    config.write_text(text.replace('    hardware:', waiting))
    rig = NodeRig(ros_node, spin_until, start_process, config)
    rig.start_robot()
    rig.start_node()
    rig.wait_for_state('active')
    success, reason = rig.set(controller=f'{CONTROLLERS}:Other')
    assert not success
    assert 'allow_file_plugins' in reason
    # Nor by an option of a controller that could be swapped in afterwards.
    success, reason = rig.set(tasks__solver=f'{CONTROLLERS}:Other')
    assert not success
    assert 'tasks.solver' in reason
    assert 'allow_file_plugins' in reason
    success, reason = rig.set(policy__observations=['height', f'{CONTROLLERS}:Other'])
    assert not success
    assert 'policy.observations' in reason
    assert 'allow_file_plugins' in reason
    success, reason = rig.set(allow_file_plugins=True)
    assert not success
    assert 'read-only' in reason
    assert rig.state() == 'active'
    # Nor by whoever takes the node down and configures it again.
    assert rig.change_state(Transition.TRANSITION_DEACTIVATE)
    assert rig.change_state(Transition.TRANSITION_CLEANUP)
    success, reason = rig.set(controller=f'{CONTROLLERS}:Other')
    assert not success
    assert 'allow_file_plugins' in reason
