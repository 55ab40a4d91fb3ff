"""The controller of an environment whose actions command joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from cnoid_control.body.gains import joint_gains
from cnoid_control.controllers.policy.controller import PolicyController, PolicyParameters
from cnoid_control.controllers.policy.metadata import Metadata
from cnoid_control.controllers.policy.network import Network
from cnoid_control.controllers.policy.observation import Observation
from cnoid_control.controllers.policy.terms import TermParameters
from cnoid_control.parameters import FileName, parameter

# Asked with an observation, says the action.
Ask = Callable[[np.ndarray], np.ndarray]

# What is observed where nobody says it.
JOINT_TERMS = ('joint_position', 'joint_velocity')
BASE_TERMS = ('base_linear_velocity', 'base_angular_velocity', 'projected_gravity', 'height')

# Largest way of a position for an action of 1 [rad] or [m], and largest effort that its gain
# makes of it, in effort limits.
USUAL_SCALE = 0.25
SATURATION = 4.0

INPUT, OUTPUT = 'observation', 'action'


def usual_terms(is_fixed: bool) -> list[str]:
    """Terms of the observation where nobody says them.

    Args:
        is_fixed: whether the base of the robot is fixed.
    """
    return [*(() if is_fixed else BASE_TERMS), *JOINT_TERMS]


@dataclass
class AgentParameters(PolicyParameters):
    """Options of AgentController: those of `controller: policy`; a file is not needed."""

    file: FileName = parameter(
        '', 'an ONNX file whose network is not used: what it says of itself is', read_only=True
    )


class AgentNetwork(Network):
    """Somebody who acts in the place of a network: its output is what `ask` returns."""

    def __init__(self, size: int, ask: Ask, metadata: dict[str, str]) -> None:
        """Have as many outputs as there are joints.

        Args:
            size: number of joints.
            ask: called with each observation.
            metadata: what the file says whose network it stands for.
        """
        self.file = Path('agent')
        self.inputs = {INPUT: 0}
        self.outputs = {OUTPUT: size}
        self.metadata = metadata
        self.state = {}
        self.feed = {INPUT: np.zeros(0)}
        self.results = {OUTPUT: np.zeros(size)}
        self._ask = ask

    def fit(self, name: str, observation: Observation) -> None:
        """Take an observation of any size."""
        self.inputs[name] = observation.size
        self.feed[name] = np.zeros(observation.size)

    def infer(self) -> None:
        """Ask for the action."""
        self.results[OUTPUT][:] = self._ask(self.feed[INPUT])


class AgentController(PolicyController):
    """`controller: policy` with somebody outside in the place of the network.

    Observation, action, gains and period are the policy's own, by the same options: what has
    learnt here runs there.

    Attributes:
        start_posture: where the robot starts, by joint id [rad] or [m]; where it starts in the
            first episode where None.
    """

    Parameters = AgentParameters

    def __init__(self, ask: Ask, period: float) -> None:
        """Prepare.

        Args:
            ask: called with each observation, within a tick.
            period: time between two actions where neither the options nor a file say it [s].
        """
        self._ask = ask
        self._usual_period = period
        self.start_posture: np.ndarray | None = None
        self._loaded: tuple[Network, Metadata] | None = None

    def load(self, given: PolicyParameters) -> tuple[Network, Metadata]:
        """Put the agent in the place of the network; fill in what is said nowhere.

        Once: an episode begins quickly.
        """
        if self._loaded is not None:
            return self._loaded
        written: dict[str, str] = {}
        if given.file:
            written = super().load(given)[0].metadata
        known = self.read_metadata(written, given)
        body = self.body
        known.joints = given.joints or known.joints or body.joint_names
        known.observations = known.observations or usual_terms(body.is_fixed_root)
        known.period = known.period or self._usual_period
        start = body.start_posture if self.start_posture is None else self.start_posture
        for name, q in zip(body.joint_names, start.tolist(), strict=True):
            known.default.setdefault(name, q)
        clone = body.clone()
        clone.calc_forward_kinematics()
        usual = joint_gains(clone, self.io.time_step)
        for joint, kp, kd in zip(body.joints, usual.kp, usual.kd, strict=True):
            if not joint.description.kp > 0.0:
                known.kp.setdefault(joint.joint_name, float(kp))
                known.kd.setdefault(joint.joint_name, float(kd))
        if not (known.action_scale or given.action.scale or given.action.scale_of):
            known.action_scale = self._usual_scales(given, known)
        network = AgentNetwork(len(known.joints), self._ask, written)
        self._loaded = network, known
        return self._loaded

    def _usual_scales(self, given: PolicyParameters, known: Metadata) -> dict[str, float]:
        """Scales with which an action of 1 is much, and not yet nonsense to the limits."""
        body = self.body
        kind = given.action.kind or known.kind or 'position'
        scales: dict[str, float] = {}
        for name in known.joints:
            joint = body.joint(name)
            i = joint.joint_id
            effort = min(-body.u_lower[i], body.u_upper[i])
            speed = min(-body.dq_lower[i], body.dq_upper[i])
            if kind == 'effort':
                scale = effort
            elif kind == 'velocity':
                scale = speed
            else:
                kp = given.kp if isinstance(given.kp, float) else 0.0
                kp = given.kp_of.get(name, kp) or known.kp.get(name, joint.description.kp)
                scale = min(USUAL_SCALE, SATURATION * effort / kp if kp > 0.0 else np.inf)
            scales[name] = float(scale) if np.isfinite(scale) else 1.0
        return scales

    def policy_options(self) -> dict[str, Any]:
        """All options of `controller: policy` that are in force, but for the file.

        What another network's file has said is among them: the one that has learnt here says
        nothing of itself.
        """
        given, known = self.io.parameters, self.known
        own = dict(self.io.structured_options or {})
        own.pop('metadata', None)
        values = {name: array.tolist() for name, array in self.joint_values.items()}
        names = [term.name for term in self.observation.terms]
        terms = self._merged_terms(given.terms)
        action = {
            **own.get('action', {}),
            'kind': self.kind,
            'scale': values['scale'],
            'offset': {**known.action_offset, **given.action.offset},
            'lowest': {**known.lowest, **given.action.lowest},
            'highest': {**known.highest, **given.action.highest},
        }
        action.pop('scale_of', None)
        options = {
            **own,
            'joints': [self.body.joint(int(i)).joint_name for i in self.joints],
            'observations': names,
            'terms': {name: _changed(terms[name]) for name in names if name in terms},
            'period': self.period,
            'kp': values['kp'],
            'kd': values['kd'],
            'posture': dict(zip(self.body.joint_names, self.default.tolist(), strict=True)),
            'action': {key: value for key, value in action.items() if value not in ({}, '')},
        }
        if known.gait and not given.gait.steps:
            options['gait'] = {**known.gait, **own.get('gait', {})}
        if known.lower and not given.velocity.lower:
            ranges = {'lower': list(known.lower), 'upper': list(known.upper)}
            options['velocity'] = {**ranges, **own.get('velocity', {})}
        return {key: value for key, value in options.items() if value != {}}


def _changed(term: TermParameters) -> dict[str, Any]:
    """Options of a term that are not the usual ones."""
    usual = TermParameters()
    return {
        field.name: str(value) if field.name == 'source' else value
        for field in fields(term)
        if (value := getattr(term, field.name)) != getattr(usual, field.name)
    }
