"""What goes into a policy and comes out of it, term by term, as plain data."""

from __future__ import annotations

from typing import Any

from cnoid_control.controllers.policy.controller import PolicyController


def describe(policy: PolicyController) -> dict[str, Any]:
    """Network, observation with its present values, and joints of an initialized policy.

    Everything is of kinds that JSON knows.
    """
    network = policy.network
    return {
        'file': str(network.file),
        'metadata': policy.known.origin,
        'period': policy.period,
        'inputs': dict(network.inputs),
        'outputs': dict(network.outputs),
        'observation_input': policy.input_name,
        'action_output': policy.output_name,
        'action': policy.kind,
        'state': dict(network.state),
        'imu': policy.io.parameters.imu,
        'command': [float(value) for value in policy.situation.command],
        'observation': _terms(policy),
        'joints': _joints(policy),
    }


def _terms(policy: PolicyController) -> list[dict[str, Any]]:
    observation = policy.observation
    rows = []
    for term, place in zip(observation.terms, observation.places(), strict=True):
        indices = place.reshape(-1)
        # Of a whole history the values of one term do not follow each other.
        is_whole = len(place) > 1 and indices.max() - indices.min() + 1 > indices.size
        rows.append(
            {
                'term': term.name,
                'source': term.source,
                'first': int(place[-1].min() if is_whole else indices.min()),
                'last': int(place[-1].max() if is_whole else indices.max()),
                'size': term.size,
                'history': len(place),
                'delay': term.delay,
                'scale': [float(value) for value in term.scale],
                'clip': list(term.clip) if term.clip else None,
                'elements': list(term.elements),
                # The newest ones, and all of them, the oldest period first.
                'values': [float(value) for value in observation.vector[place[-1]]],
                'all_values': [
                    [float(value) for value in observation.vector[row]] for row in place
                ],
            }
        )
    return rows


def _joints(policy: PolicyController) -> list[dict[str, Any]]:
    values = policy.joint_values
    return [
        {
            'joint': policy.body.joint(int(joint)).joint_name,
            'joint_id': int(joint),
            **{name: float(numbers[i]) for name, numbers in values.items()},
            'action': float(policy.action[i]),
        }
        for i, joint in enumerate(policy.joints)
    ]
