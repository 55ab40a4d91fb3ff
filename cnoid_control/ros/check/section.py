"""The part of a configuration that follows from a running system."""

from __future__ import annotations

from typing import Any

import yaml

from cnoid_control.ros.check.plan import Plan


def hardware_section(plan: Plan) -> dict[str, Any]:
    """`rate`, `devices` and `hardware` as a parameter file has them, nested.

    Names are relative to the manager's namespace: the node is started in it.
    """
    values: dict[str, Any] = {}
    namespace = plan.namespace
    if plan.rate:
        values['rate'] = float(plan.rate)
    if plan.devices:
        values['devices'] = {
            name: _relative(topic, namespace) for name, topic in plan.devices.items()
        }
    options: dict[str, Any] = {}
    if plan.joint_states is not None:
        options['joint_states'] = _relative(plan.joint_states.name, namespace)
    manager = plan.manager
    options['controller_manager'] = _relative(manager.name, namespace) if manager else ''
    commands = {
        controller.name: {'interface': interface, 'type': controller.kind}
        for interface, group in plan.commands.items()
        for controller in group
    }
    if commands:
        options['commands'] = commands
    values['hardware'] = {'type': 'ros2_control', 'ros2_control': options}
    return values


def _relative(name: str, namespace: str) -> str:
    return name.removeprefix(f'{namespace}/')


def section_text(plan: Plan) -> str:
    """The section as the text of a parameter file."""
    content = {'/**': {'ros__parameters': hardware_section(plan)}}
    return yaml.safe_dump(content, sort_keys=False, width=99)
