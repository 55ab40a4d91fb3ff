"""`cnoid_control init POLICY.onnx`: a configuration of what files say; the rest is asked for."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cnoid_control.cli.policy_draft import MUJOCO, Draft, draft_text, path_from
from cnoid_control.cli.policy_drive import choose_drive, fill_gains
from cnoid_control.cli.starter import module_name, write_files
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.parameters import unknown_option

if TYPE_CHECKING:
    from cnoid_control.body import Body
    from cnoid_control.controllers.policy.known_tasks import KnownTask
    from cnoid_control.controllers.policy.metadata import Metadata
    from cnoid_control.controllers.policy.network import Network

# Speed forward of the script that is written, where the policy's range allows it [m/s].
SPEED = 0.5

# Cycle of the gait in holosoma's own walking tasks [s].
HOLOSOMA_CYCLE = 1.0

# More inferences than any clip has.
LONGEST_CLIP = 1_000_000

# What is tried where the simulation diverges [s], and the time in which it must not [s].
DIVERGED = 'the simulation diverged'
STEPS = (0.001, 0.0005, 0.00025)
SETTLED = 0.5

NONE = 'none'
TRAINING_FILES = ('deploy.yaml', 'env.yaml')

# Names that exporters give to inputs and outputs.
OBSERVATION_NAMES = ('obs', 'actor_obs', 'observation', 'observations', 'policy')
ACTION_NAMES = ('actions', 'action', 'continuous_actions')
STATES = {'h_in': 'h_out', 'c_in': 'c_out'}

# Observations that are common; sizes: 3, and one value per joint.
LAYOUTS = {
    'legged_gym, Isaac Lab and mjlab': (
        'base_linear_velocity, base_angular_velocity, projected_gravity, velocity_command, '
        'joint_position, joint_velocity, last_action'
    ),
    'Isaac Lab and mjlab, another order': (
        'base_linear_velocity, base_angular_velocity, projected_gravity, joint_position, '
        'joint_velocity, last_action, velocity_command'
    ),
    'MuJoCo Playground': (
        'base_linear_velocity, base_angular_velocity, projected_gravity, joint_position, '
        'joint_velocity, last_action, velocity_command'
    ),
    'unitree_rl_lab, without the linear velocity': (
        'base_angular_velocity, projected_gravity, velocity_command, joint_position, '
        'joint_velocity, last_action'
    ),
    'MuJoCo Playground, humanoids': (
        'base_linear_velocity, base_angular_velocity, projected_gravity, velocity_command, '
        'joint_position, joint_velocity, last_action, cos_phase, sin_phase'
    ),
    'unitree_rl_gym': (
        'base_angular_velocity, projected_gravity, velocity_command, joint_position, '
        'joint_velocity, last_action, gait_phase'
    ),
}


def create_policy_folder(
    policy: str,
    robot: str,
    folder: Path | None = None,
    beside: Path | None = None,
    options: Mapping[str, Any] | None = None,
    arguments: Mapping[str, str] | None = None,
    base: str = 'auto',
    rate: float | None = None,
) -> Path:
    """Write the configuration of a policy.

    Args:
        policy: the ONNX file, or the name of a policy in the cache.
        robot: path of a model file, or the name of a model.
        folder: where to write; a folder with the policy's name where None.
        beside: deploy.yaml or env.yaml; looked for beside the policy where None; the path `none`
            for none of them.
        options: options of the policy that are known, by key ('action.scale').
        arguments: arguments of a .xacro file by name.
        base: fixed, floating or auto.
        rate: control rate [Hz]; a multiple of the policy's own where None.

    Returns:
        The file.

    Raises:
        CnoidControlError: the policy or the model cannot be used, or the file is there already.
    """
    # These take their time to import; other commands start without them.
    from cnoid_control.catalog import find_model, find_policy
    from cnoid_control.controllers.policy.controller import PolicyParameters
    from cnoid_control.controllers.policy.known_tasks import find_task
    from cnoid_control.controllers.policy.metadata_reader import read_metadata
    from cnoid_control.controllers.policy.network import Network
    from cnoid_control.parameters import FileName
    from cnoid_control.runtime.config import RobotParameters
    from cnoid_control.runtime.defaults import make_robot

    keys = [one.name for one in fields(PolicyParameters)]
    for key in options or {}:
        if key.partition('.')[0] not in keys:
            raise unknown_option(f'--option {key}', keys)
    file = find_policy(policy)
    network = Network(file)
    folder = folder or Path(module_name(Path(policy).name.partition('.')[0]))
    name = module_name(folder.absolute().name)
    path = find_model(robot)
    given = dict(arguments or {})
    body = make_robot(RobotParameters(model=FileName(path), arguments=given, base=base))
    draft = Draft()
    for key, value in (options or {}).items():
        draft.put(key, value)
    if beside == Path(NONE):
        beside = None
    elif beside is None:
        beside = find_training_file(file)
    joints = _named_joints(draft, body)
    known = read_metadata(network.metadata, beside, body.joint_names, joints)
    draft.put('file', policy if str(file) != policy else path_from(folder, file))
    if beside is not None:
        draft.put('metadata', path_from(folder, beside))
    _fill(draft, network, known, body, find_task(known, _observation_size(draft, network)))
    period = draft.values.get('period') or known.period
    own_rate = choose_drive(
        draft, known, body, rate, period if isinstance(period, (int, float)) else 0.0
    )
    text = draft_text(draft, name, body, known, (robot, path, folder), own_rate)
    return write_files(folder, {f'{name}.yaml': text})[0]


def find_training_file(policy: Path) -> Path | None:
    """deploy.yaml or env.yaml of a policy: beside it, or in `params` there or one folder up."""
    here = policy.resolve().parent
    for folder in (here, here / 'params', here.parent / 'params'):
        for name in TRAINING_FILES:
            if (folder / name).is_file():
                return folder / name
    return None


# --- what is said, and what is asked for ---------------------------------------------------------


def _fill(
    draft: Draft, network: Network, known: Metadata, body: Body, task: KnownTask | None
) -> None:
    from cnoid_control.plugin.joint_values import joint_ids

    _fill_outputs(draft, network)
    output = draft.values.get('action', {}).get('output') or next(iter(network.outputs))
    size = network.outputs.get(output, 0)
    joints = draft.values.get('joints') or known.joints
    if joints:
        joint_ids(body, 'joints', joints)
    else:
        draft.ask(
            'joints',
            f'{size} joints in the order of the network; {choices(body.joint_names)}',
            f'Not said by {_origin(known, network)}. Two orders to check first, which '
            '--option joints=model and joints=breadth_first write:',
            f'as in the model: [{", ".join(body.joint_names)}]',
            f'breadth first, as in Isaac Lab: [{", ".join(_breadth_first(body))}]',
        )
    if task is not None:
        _fill_task(draft, task, known)
    _fill_observations(draft, network, known, len(joints) or size)
    if not known.action_scale:
        draft.ask(
            'action.scale',
            'factor of the actions (target = posture + scale * action): one number, or one per '
            'joint',
        )
    if not known.default:
        names = ', '.join(body.description.postures)
        has = f'; the model has the postures {names}' if names else ''
        draft.ask(
            'posture',
            f'default posture, which actions and positions are relative to: by joint name, or a '
            f'list in the order of `joints`{has}',
        )
    if not known.period:
        draft.ask('period', 'time between two inferences [s], such as 0.02')
    fill_gains(draft, known, body, joints)
    sources = [str(term.source) for term in known.terms.values()]
    if not body.is_fixed_root:
        draft.put(
            'base',
            'hardware',
            'The base as simulated; `estimator`: from IMU and legs, as on a robot.',
        )
    observed = draft.values.get('observations', [])
    sources += [observed] if isinstance(observed, str) else observed
    if not known.gait and any(source in ('sin_phase', 'cos_phase') for source in sources):
        _fill_gait(draft, known)
    # Of an observation that is asked for, the question names it, too.
    if any('velocity_command' in source for source in sources):
        _fill_velocity(draft, known)


def _fill_gait(draft: Draft, known: Metadata) -> None:
    """How long a cycle of the gait is that phases are of."""
    if draft.has('gait.steps'):
        return
    if known.origin.startswith('holosoma') and known.period:
        draft.put('gait.steps', round(HOLOSOMA_CYCLE / known.period, 6))
        draft.said.append(
            f"gait.steps is for a cycle of {HOLOSOMA_CYCLE:g} s, as in holosoma's own tasks; the "
            'file does not say it'
        )
        return
    draft.ask(
        'gait.steps',
        'inferences in one cycle of the gait of sin_phase and cos_phase: its time / period, such '
        'as 50 for 1 s at 0.02 s',
        'Beside it, of each phase: gait.offsets, at the start [rad], and gait.standing, while the '
        'command is zero; as without them: [0.0, 3.1416] and [3.1416, 3.1416].',
    )


def _fill_task(draft: Draft, task: KnownTask, known: Metadata) -> None:
    """Put in what a trainer has in its code."""
    draft.said.append(
        f'{task.name}: observations, scales, gait, posture and period are not in the file, but in '
        "the trainer's own settings of this task; check them where you have changed the task"
    )
    draft.put('observations', list(task.observations))
    for name, scale in task.scales.items():
        draft.put(f'terms.{name}.scale', scale)
    draft.put('gait.steps', task.gait_steps)
    draft.put('action.scale', task.action_scale)
    draft.put('posture', {name: task.default.get(name, 0.0) for name in known.joints})
    draft.put('period', task.period)


def _fill_outputs(draft: Draft, network: Network) -> None:
    outputs = list(network.outputs)
    if len(outputs) == 1:
        return
    named = next((name for name in ACTION_NAMES if name in outputs), '')
    if named and named != outputs[0]:
        draft.put('action.output', named)
    elif not named:
        sizes = ', '.join(f'{name} {size}' for name, size in network.outputs.items())
        draft.ask('action.output', f'output with the action; outputs and sizes: {sizes}')


def _observation_input(draft: Draft, network: Network) -> str:
    """Input that the observation goes to: by its name, else the first that is nothing else."""
    others = draft.values.get('inputs', {})
    left = [name for name in network.inputs if name not in others and name != 'time_step']
    named = [name for name in OBSERVATION_NAMES if name in left]
    return (named or left or list(network.inputs))[0]


def _observation_size(draft: Draft, network: Network) -> int:
    return network.inputs[_observation_input(draft, network)]


def _fill_observations(draft: Draft, network: Network, known: Metadata, joints: int) -> None:
    from cnoid_control.controllers.policy.terms import TERMS

    observed = _observation_input(draft, network)
    for name, size in network.inputs.items():
        if name == observed:
            continue
        if name == 'time_step':
            draft.put('inputs.time_step', 'time_step')
            _fill_clip(draft, network)
        elif STATES.get(name) in network.outputs:
            draft.put(f'inputs.{name}', f'state:{STATES[name]}')
        else:
            draft.ask(
                f'inputs.{name}',
                f"{size} values: a term, or 'state:OUTPUT' of {', '.join(network.outputs)}",
            )
    if not draft.has('observations') and not known.observations:
        _ask_observations(draft, network, network.inputs[observed], joints)
        return
    for name in draft.values.get('observations') or known.observations:
        source = str(known.terms[name].source if name in known.terms else name)
        if source not in TERMS and ':' not in source:
            draft.ask(
                f'terms.{name}.source',
                f'the trainer observes {source!r} here; {choices(_sources())}',
            )


def _fill_clip(draft: Draft, network: Network) -> None:
    """Put in after how many steps the reference that a network puts out stands still."""
    import numpy as np

    if 'joint_pos' not in network.outputs:
        draft.ask('steps', 'number of inferences of its clip; 0 for one without an end')
        return

    def reference(step: int) -> np.ndarray:
        others = {name: 0.0 for name in network.inputs if name != 'time_step'}
        return network(**others, time_step=float(step))['joint_pos']

    last = reference(LONGEST_CLIP)
    below, ended = -1, LONGEST_CLIP
    while ended - below > 1:
        middle = (below + ended) // 2
        if (reference(middle) == last).all():
            ended = middle
        else:
            below = middle
    if ended < LONGEST_CLIP:
        draft.put('steps', ended + 1, 'Length of the clip: from there on the reference is still.')


def _sources() -> list[str]:
    from cnoid_control.controllers.policy.terms import SOURCES

    return SOURCES


def _ask_observations(draft: Draft, network: Network, size: int, joints: int) -> None:
    known = [f'{name} {_term_size(name, joints)}' for name in _sources()[:13]]
    # What else the network puts out, such as the reference of a clip, it may want to be told.
    action = draft.values.get('action', {}).get('output') or next(iter(network.outputs))
    known += [
        f"'output:{name}' {values}"
        for name, values in network.outputs.items()
        if name != action and name not in STATES.values()
    ]
    sizes = ', '.join(known)
    fitting: list[str] = []
    for names in dict.fromkeys(LAYOUTS.values()):
        one = sum(_term_size(name, joints) for name in names.split(', '))
        if size % one == 0:
            trainers = ' / '.join(key for key, value in LAYOUTS.items() if value == names)
            history = f', with history: {size // one}' if size > one else ''
            fitting.append(f'{trainers}{history}: [{names}]')
    comments = [f'Not said by the file. Layouts of {size} values to check first:', *fitting]
    draft.ask(
        'observations',
        f'terms of {size} values in all, in order; sizes: {sizes}, ...',
        *(comments if fitting else ['Not said by the file; no common layout has this size.']),
    )


def _term_size(name: str, joints: int) -> int:
    from cnoid_control.controllers.policy.terms import ELEMENTS, JOINT_TERMS

    if name in JOINT_TERMS or name == 'last_action':
        return joints
    return len(ELEMENTS.get(name, '12'))


def _fill_velocity(draft: Draft, known: Metadata) -> None:
    if draft.has('velocity'):
        return
    speed = SPEED
    if known.upper:
        speed = min(SPEED, known.upper[0])
    else:
        draft.said.append(
            'the ranges of the velocity command are not said: velocity.lower and velocity.upper '
            'clamp it'
        )
    draft.put('velocity', {'script': {'walk': {'time': 1.0, 'velocity': [speed, 0.0, 0.0]}}})
    said = 'Until somebody commands. It counts in a simulation: no real robot sets off by itself.'
    draft.comments['velocity.script'] = [said]


def _named_joints(draft: Draft, body: Body) -> list[str]:
    """Joints that an option names, one by one or as an order of the robot's."""
    given = draft.values.get('joints') or []
    orders = {'model': body.joint_names, 'breadth_first': _breadth_first(body)}
    if isinstance(given, str):
        if given not in orders:
            raise CnoidControlError(f'--option joints={given}: a list, or {choices(orders)}')
        draft.values['joints'] = given = list(orders[given])
    return given


def _origin(known: Metadata, network: Network) -> str:
    return known.origin or network.file.name


def _breadth_first(body: Body) -> list[str]:
    """Joints level by level from the root."""
    depth: dict[str, int] = {}
    for link in body.description.links:
        moves = bool(link.joint_name) and link.joint_id >= 0
        depth[link.name] = depth.get(link.parent or '', 0) + int(moves)
    joints = [link for link in body.description.links if link.joint_name in body.joint_names]
    joints.sort(key=lambda link: (depth[link.name], link.joint_id))
    return [link.joint_name for link in joints]


def check(config: Path, changes: Mapping[str, Any] | None = None, duration: float = 0.1) -> str:
    """Why the controller refuses a configuration as it is; empty where it does not.

    Args:
        config: the configuration.
        changes: values in the place of the configuration's.
        duration: time that is simulated [s]: long enough for gains that are not stable to show.
    """
    import io

    from cnoid_control.simulation import Simulation

    told = logging.root.manager.disable
    # What the model leaves open was said when the configuration was written.
    logging.disable(logging.WARNING)
    try:
        with Simulation(
            str(config), record=False, os=io.StringIO(), changes=dict(changes or {})
        ) as simulation:
            simulation.run(duration)
            return str(simulation.summary().get('reason', ''))
    except CnoidControlError as error:
        return str(error)
    finally:
        logging.disable(told)


def settle_steps(config: Path, reason: str) -> float:
    """Find physics steps that are stable where those of the model are not, and write them.

    Args:
        config: the configuration.
        reason: why it could not be run.

    Returns:
        The step [s]; 0 where the reason is another one, or no step is stable.
    """
    if DIVERGED not in reason:
        return 0.0
    for step in STEPS:
        if check(config, {'hardware.mujoco.time_step': step}, SETTLED):
            continue
        text = config.read_text(encoding='utf-8')
        entry = (
            '      mujoco:\n'
            "        # Smaller than the model's: with those the gains are not stable.\n"
            f'        time_step: {step}\n'
        )
        config.write_text(text.replace(MUJOCO, MUJOCO + entry, 1), encoding='utf-8')
        return step
    return 0.0
