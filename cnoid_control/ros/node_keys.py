"""Keys of a parameter file that are for one of the nodes alone.

One file serves the nodes, the launch files and the command line: each passes over what is for
another one.
"""

from __future__ import annotations

from dataclasses import fields

from cnoid_control.ros.node_parameters import NodeParameters
from cnoid_control.ros.sim_parameters import SimulationParameters

CONTROL_KEYS = tuple(item.name for item in fields(NodeParameters))
SIMULATION_KEYS = tuple(item.name for item in fields(SimulationParameters))
NODE_KEYS = frozenset((*CONTROL_KEYS, *SIMULATION_KEYS))
