"""Launch descriptions."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit, OnProcessStart, OnShutdown
from launch.events import Shutdown
from launch.events.process import ProcessExited
from launch_ros.actions import Node

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.ros.launch_files import CLOCK_TIMEOUT, LaunchFiles
from cnoid_control.ros.node.parameters import NODE_KEYS
from cnoid_control.ros.robot.parameters import Ros2ControlParameters
from cnoid_control.ros.robot_config import load_robot_config
from cnoid_control.ros.transport import avoid_shared_memory
from cnoid_control.runtime.config import HeartbeatParameters, RunConfig, find_config, load_config
from cnoid_control.runtime.defaults import MODEL_SUFFIXES, load_run
from cnoid_control.share import shared_file
from cnoid_control.strict_yaml import ros_yaml

PACKAGE = 'cnoid_control'
HARDWARE = ('mujoco', 'mock', 'topic', 'gazebo', 'mujoco_ros2_control', 'real')
# Kinds of hardware whose time is simulated.
SIMULATED = ('mujoco', 'gazebo', 'mujoco_ros2_control')
# Kinds of hardware whose plug-in knows positions, velocities and efforts alone.
WITHOUT_GAINS = ('topic', 'gazebo', 'mujoco_ros2_control')
# A simulated robot may be slow, but it is never gone for long [s].
SIMULATED_TIMEOUT = 1.0
# A person may pause a simulator: then nothing moves, and nothing is lost [s].
PAUSE_TIMEOUT = 3600.0
# Time after which a Gazebo that was killed is started again [s], and how often that is done.
RESPAWN_DELAY, MOST_RESPAWNS = 1.0, 5
GZ_ARGS = '-r -v 1'
# World that stands for the Gazebo that runs already.
RUNNING = 'running'


class Bringup:
    """The arguments of one launch, and the processes that they ask for."""

    def __init__(self, context: LaunchContext, folder: Path) -> None:
        """Take the arguments over, and read the configuration.

        Args:
            context: has the arguments.
            folder: where files are written that other programs need.
        """
        given = context.launch_configurations
        self.hardware = given['hardware']
        self.namespace = given['namespace']
        self.pacing = given['pacing']
        self.viewer = given['viewer']
        self.viewer_acts = given['viewer_act'] == 'true'
        self.file = str(_config_file(given['config'], folder))
        # A robot that is up already may describe itself.
        self.config: RunConfig = (
            load_robot_config(self.file)
            if self.hardware == 'real'
            else load_config(self.file, ignore=NODE_KEYS)
        )
        use_sim_time = given['use_sim_time']
        if use_sim_time == 'auto':
            use_sim_time = str(self.hardware in SIMULATED).lower()
        self.sim_time = {'use_sim_time': use_sim_time == 'true'}
        self.changes: dict[str, Any] = {}
        if given['rate']:
            self.changes['rate'] = float(given['rate'])
        self.rate: float = self.changes.get('rate', self.config.parameters.rate)
        self.node_changes: dict[str, Any] = {'autostart': given['autostart'] == 'true'}
        if given['controller']:
            self.node_changes['controller'] = _from_here(given['controller'])
        if given['scale']:
            self.node_changes['scale'] = float(given['scale'])
        if given['enable']:
            self.node_changes['enable.topic'] = given['enable']
        if given['dry_run'] == 'true':
            self.node_changes['hardware.ros2_control.dry_run'] = True
        if given['joint_pid']:
            self.node_changes['hardware.ros2_control.joint_pid'] = given['joint_pid']
        self.node_changes['hardware.ros2_control.allow_scripts'] = (
            self.hardware != 'real' if given['scripts'] == 'auto' else given['scripts'] == 'true'
        )
        self.heartbeat = given['heartbeat'] == 'true'
        self.gz_args, self.gazebo_world = given['gz_args'], given['world']
        self.joins = self.hardware == 'gazebo' and self.gazebo_world == RUNNING
        self.respawn = given['respawn'] == 'true'
        self._deaths = 0
        self._check_gazebo(given)
        speed = self._speed(given['speed'])
        self.files = LaunchFiles(
            self.config,
            self.hardware,
            self.rate,
            folder,
            self.namespace,
            given['headless'] == 'true',
            _given_file(given['controllers_file']),
            _given_file(given['description_file']),
            self._wants_gains(given['joint_pid']),
            self._offset(given['place']),
            speed,
        )

    def _wants_gains(self, given: str) -> bool:
        """Whether joints are to have stiffness and damping interfaces.

        Raises:
            CnoidControlError: the hardware has none.
        """
        options = self.config.hardware.get('ros2_control', Ros2ControlParameters())
        wanted = given or options.joint_pid
        if wanted != 'interfaces' or self.hardware not in WITHOUT_GAINS:
            return wanted == 'interfaces'
        raise CnoidControlError(
            f'joint_pid: interfaces: {self.hardware} has no stiffness and damping interfaces; '
            'auto and effort have PD computed in the node'
        )

    def _speed(self, given: str) -> float:
        """Speed of mujoco_ros2_control relative to real time.

        Raises:
            CnoidControlError: it is no positive number, or for other hardware.
        """
        try:
            speed = float(given)
        except ValueError:
            speed = 0.0
        if not (np.isfinite(speed) and speed > 0.0):
            raise CnoidControlError(f'speed: {given!r} is not a positive number, such as 0.5')
        if speed != 1.0 and self.hardware != 'mujoco_ros2_control':
            raise CnoidControlError(
                f'speed: {given!r} is for hardware:=mujoco_ros2_control, not for {self.hardware}'
            )
        return speed

    def _check_gazebo(self, given: dict[str, str]) -> None:
        """Refuse what only Gazebo has elsewhere, and a world that is not there.

        Raises:
            CnoidControlError: the message names the argument, its value and what there is.
        """
        world, hardware = self.gazebo_world, self.hardware
        if hardware != 'gazebo':
            for name, default in (('world', ''), ('gz_args', GZ_ARGS), ('respawn', 'false')):
                if given[name] != default:
                    raise CnoidControlError(
                        f'{name}: {given[name]!r} is for hardware:=gazebo, not for {hardware}'
                    )
        if self.joins and (self.respawn or given['gz_args'] != GZ_ARGS):
            raise CnoidControlError(
                'world:=running: Gazebo was started by somebody else: it takes neither gz_args '
                'nor respawn'
            )
        try:
            shlex.split(self.gz_args)
        except ValueError as error:
            raise CnoidControlError(f'gz_args: {self.gz_args!r}: {error}') from error
        if world.endswith(('.sdf', '.world')) and '/' in world and not Path(world).is_file():
            raise CnoidControlError(
                f"world: {world!r} is not a file; give an SDF file, the name of one of Gazebo's "
                "own, such as 'empty.sdf', or 'running'"
            )

    def _offset(self, given: str) -> tuple[float, float]:
        """How far the robot is put from where the configuration has it, x and y [m].

        Raises:
            CnoidControlError: these are not two numbers, or the hardware has no place.
        """
        if not given:
            return (0.0, 0.0)
        if self.hardware != 'gazebo':
            raise CnoidControlError(
                f'place: {given!r}: only Gazebo has several robots in one world; '
                'robot.position of the configuration puts a robot elsewhere'
            )
        try:
            x, y = (float(word) for word in given.split())
            if not np.isfinite([x, y]).all():
                raise ValueError
        except ValueError:
            raise CnoidControlError(
                f"place: {given!r} is not two numbers x and y [m], such as '0 1.5'"
            ) from None
        return (x, y)

    def actions(self) -> list[Action]:
        """Everything that is to be started."""
        choices: dict[str, Callable[[], list[Action]]] = {
            'mujoco': self.mujoco,
            'mock': self.mock,
            'topic': self.topic,
            'gazebo': self.gazebo,
            'mujoco_ros2_control': self.mujoco_ros2_control,
            'real': list,
        }
        robot = choices[self.hardware]()
        viewers = [*self.rviz(), *self.browser()]
        return [*robot, *self.control_node(), *self.monitor(), *viewers]

    def control_node(self) -> list[Action]:
        """The node with the controller; when it ends, so does the launch, but on a real robot."""
        changes: dict[str, Any] = {}
        if self.hardware == 'mujoco':
            changes['watchdog.state_timeout'] = SIMULATED_TIMEOUT
            changes['hardware.ros2_control.lock_step'] = self.pacing == 'lockstep'
        else:
            # Simulators and managers are slow to start.
            changes['hardware.ros2_control.startup_timeout'] = 60.0
        if self.hardware in ('mujoco', 'topic'):
            changes['simulation_reset'] = f'{PACKAGE}_mujoco/reset'
        if self.hardware == 'mujoco_ros2_control':
            changes['simulation_reset'] = 'mujoco_ros2_control_node/reset_world'
        if self.hardware in ('gazebo', 'mujoco_ros2_control'):
            for watch in ('state_timeout', 'device_timeout'):
                changes[f'watchdog.{watch}'] = PAUSE_TIMEOUT
            # The manager has its rate from here. On a busy machine it leaves states out.
            changes['watchdog.rate_action'] = 'warn'
        if self.hardware == 'gazebo':
            changes['watchdog.clock_timeout'] = CLOCK_TIMEOUT
            if not self.joins:
                changes['hardware.ros2_control.release_timeout'] = 0.5
            # Its plug-in leaves the last effort in place, which Gazebo prefers to all else.
            changes['hardware.ros2_control.effort_is_final'] = True
        if self.hardware == 'topic':
            # The manager shows the last state again while the simulation waits or is late, and
            # the simulation waits while the manager is late, which goes by its own clock.
            changes['hardware.ros2_control.repetition_time'] = 0.2
            # Each fresh state is one step of the simulation, at whatever pace they come.
            changes['hardware.ros2_control.rate_check'] = 'ignore'
            changes['watchdog.state_timeout'] = 3.0
            changes['watchdog.time_jump'] = 3.0
        node = self._node(
            PACKAGE, PACKAGE, self.file, {**changes, **self.changes, **self.node_changes}
        )
        if self.hardware == 'real':
            # What watches over the robot, and who else uses it, goes on.
            return [node]
        ended = OnProcessExit(
            target_action=node, on_exit=[EmitEvent(event=Shutdown(reason='the node has ended'))]
        )
        return [node, RegisterEventHandler(ended)]

    def monitor(self) -> list[Action]:
        """The heartbeat monitor, which stops the robot when the node falls silent."""
        if not self.heartbeat:
            return []
        changes: dict[str, Any] = {}
        if 'timeout' not in self.config.values.get('heartbeat', {}):
            timeout = HeartbeatParameters().limit(1.0 / self.rate)
            if self.hardware not in ('real', 'mock'):
                # The node is silent while a simulation waits or is late.
                timeout = max(timeout, 3.0 if self.hardware == 'topic' else SIMULATED_TIMEOUT)
            changes['heartbeat.timeout'] = timeout
        return [self._node(PACKAGE, f'{PACKAGE}_heartbeat', self.file, changes)]

    def mujoco(self) -> list[Action]:
        """The MuJoCo node in place of ros2_control."""
        return [self._simulation({'pacing': self.pacing})]

    def topic(self) -> list[Action]:
        """The MuJoCo node behind a real ros2_control_node."""
        # The manager's cycles are those of its clock.
        simulation = self._simulation(
            {'interface': 'topic', 'pacing': self.pacing, 'clock_rate': self.rate}
        )
        return [simulation, self._state_publisher(), self._manager(), *self._spawners()]

    def mock(self) -> list[Action]:
        """ros2_control with mock hardware: positions are reached at once, efforts move nothing."""
        return [self._state_publisher(), self._manager(), *self._spawners()]

    def mujoco_ros2_control(self) -> list[Action]:
        """ros2_control with MuJoCo inside, by the package mujoco_ros2_control."""
        manager = self._manager('mujoco_ros2_control')
        ended = OnProcessExit(
            target_action=manager,
            on_exit=[EmitEvent(event=Shutdown(reason='mujoco_ros2_control has ended'))],
        )
        return [
            RegisterEventHandler(ended),
            self._state_publisher(),
            manager,
            *self._spawners(),
        ]

    def gazebo(self) -> list[Action]:
        """The robot in Gazebo with ros2_control inside; and Gazebo, unless it runs already."""
        robot = [self._state_publisher(), *self._put_into_gazebo()]
        return robot if self.joins else [*self._gazebo_server(), *robot]

    def _put_into_gazebo(self) -> list[Action]:
        spawn = self._node(
            'ros_gz_sim', 'create', arguments=['-topic', 'robot_description', *self._place()]
        )
        return [spawn, *self._spawners()]

    def _gazebo_server(self) -> list[Action]:
        """Gazebo and the bridge for its clock, which all robots in it share."""
        world = self.gazebo_world or str(self.files.world)
        server = ['-s'] if self.files.headless else []
        # Not by gz_sim.launch.py of ros_gz_sim: signals would end its shell, and not Gazebo.
        paths = [
            os.environ.get(name, '') for name in ('GZ_SIM_SYSTEM_PLUGIN_PATH', 'LD_LIBRARY_PATH')
        ]
        gazebo = ExecuteProcess(
            cmd=['gz', 'sim', *shlex.split(self.gz_args), *server, world],
            name='gazebo',
            output='screen',
            additional_env={'GZ_SIM_SYSTEM_PLUGIN_PATH': os.pathsep.join(filter(None, paths))},
            respawn=self.respawn,
            respawn_delay=RESPAWN_DELAY,
            on_exit=self._gazebo_ended,
        )
        clock = self._node(
            'ros_gz_bridge',
            'parameter_bridge',
            arguments=['/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock'],
        )
        if not self.respawn:
            return [gazebo, clock]
        starts = 0

        def started(*_: Any) -> list[Action]:
            nonlocal starts
            starts += 1
            return self._put_into_gazebo() if starts > 1 else []

        again = OnProcessStart(target_action=gazebo, on_start=started)
        return [RegisterEventHandler(again), gazebo, clock]

    def _gazebo_ended(self, event: ProcessExited, context: LaunchContext) -> list[Action]:
        """End the launch with Gazebo, unless that was killed and is started again."""
        if context.is_shutdown:
            return []
        self._deaths += 1
        if self.respawn and event.returncode != 0 and self._deaths <= MOST_RESPAWNS:
            reset = f'{self.namespace.rstrip("/")}/{PACKAGE}/reset'
            return [
                LogInfo(
                    msg=f'Gazebo has died with status {event.returncode}; it is started again '
                    f'with the robot, which is held there until /{reset.lstrip("/")} is called'
                )
            ]
        return [EmitEvent(event=Shutdown(reason='Gazebo has ended'))]

    def _place(self) -> list[str]:
        """Name and place of the robot in Gazebo; a fixed one has its place in its URDF."""
        body = self.files.body
        name = self.namespace.strip('/').replace('/', '_') or body.name
        words = ['-name', name]
        if not body.is_fixed_root:
            place = [*body.root_link.p, *pin.rpy.matrixToRpy(np.array(body.root_link.R))]
            for key, value in zip('xyzRPY', place, strict=True):
                words += [f'-{key}', f'{value:.6f}']
        return words

    def rviz(self) -> list[Action]:
        """RViz with a configuration for the robot, where it was asked for.

        The frames are those of the MuJoCo node, of robot_state_publisher, or of the real robot's.
        """
        if self.viewer != 'rviz':
            return []
        return [self._node('rviz2', 'rviz2', arguments=['-d', str(self.files.rviz)])]

    def browser(self) -> list[Action]:
        """The browser view, where it was asked for; it prints its address."""
        if self.viewer != 'true':
            return []
        words = [sys.executable, '-m', 'cnoid_control.cli.main', 'view']
        words += ['--namespace', self.namespace, '--frame-prefix', self.files.frame_prefix]
        # A robot that starts slowly is waited for.
        words += ['--timeout', '120', *(['--act'] if self.viewer_acts else [])]
        return [ExecuteProcess(cmd=words, name='view', output='screen')]

    # --- parts --------------------------------------------------------------------------------

    def _node(
        self, package: str, executable: str, *parameters: Any, arguments: list[str] | None = None
    ) -> Node:
        return Node(
            package=package,
            executable=executable,
            namespace=self.namespace,
            parameters=[*parameters, self.sim_time],
            arguments=arguments or [],
            remappings=self._remappings(),
            ros_arguments=self._enclave(executable),
            output='screen',
        )

    def _enclave(self, executable: str) -> list[str]:
        """Enclave of a program, by its name in the namespace, where SROS2 is in use."""
        if os.environ.get('ROS_SECURITY_ENABLE') != 'true':
            return []
        namespace = self.namespace.strip('/')
        return ['--enclave', '/'.join(['', *filter(None, [namespace]), executable])]

    def _remappings(self) -> list[tuple[str, str]]:
        """The clock of a simulation in a namespace is in that: another robot's would differ."""
        namespace = self.namespace.strip('/')
        if self.hardware != 'mujoco' or not namespace:
            return []
        return [('/clock', f'/{namespace}/clock')]

    def _simulation(self, parameters: dict[str, Any]) -> Node:
        if not self.sim_time['use_sim_time']:
            # Nobody asks for it, and a second robot would contradict it.
            parameters['clock_rate'] = 0.0
        return self._node(PACKAGE, f'{PACKAGE}_mujoco', self.file, {**parameters, **self.changes})

    def _state_publisher(self) -> Node:
        return self._node(
            'robot_state_publisher',
            'robot_state_publisher',
            {
                'robot_description': self.files.description,
                'frame_prefix': self.files.frame_prefix,
            },
        )

    def _manager(self, package: str = 'controller_manager') -> Node:
        rate = {'update_rate': round(self.rate)}
        files = [str(file) for file in self.files.parameter_files]
        return self._node(package, 'ros2_control_node', *files, rate)

    def _spawners(self) -> list[Action]:
        files = [
            word for file in self.files.parameter_files for word in ('--param-file', str(file))
        ]
        started = {False: self.files.broadcasters, True: self.files.commanders}
        return [
            self._node(
                'controller_manager',
                'spawner',
                arguments=[*names, *(['--inactive'] if inactive else []), *files],
            )
            for inactive, names in started.items()
            if names
        ]


def _config_file(name: str, folder: Path) -> Path:
    """Parameter file by its path or name; for a robot model one is written that holds it.

    Raises:
        CnoidControlError: it is neither.
    """
    if Path(name).suffix.lower() not in MODEL_SUFFIXES:
        with contextlib.suppress(CnoidControlError):
            return find_config(name).resolve()
    values = load_run(name).values
    model = values['robot']['model']
    values['robot']['model'] = model if '://' in model else str(Path(model).resolve())
    file = folder / 'config.yaml'
    file.write_text(ros_yaml({'/**': {'ros__parameters': values}}), encoding='utf-8')
    return file


def _given_file(name: str) -> Path | None:
    return shared_file('config', name, '.yaml').resolve() if name else None


def _from_here(controller: str) -> str:
    """Controller whose file is taken from the working folder where it is there."""
    file, colon, name = controller.rpartition(':')
    if file.endswith('.py') and Path(file).is_file():
        return f'{Path(file).resolve()}{colon}{name}'
    return controller


class Argument(NamedTuple):
    """A launch argument: its name, default and choices, and what it means."""

    name: str
    default: str
    choices: tuple[str, ...]
    description: str


ARGUMENTS = (
    Argument(
        'hardware',
        'mujoco',
        HARDWARE,
        'the robot: simulated by the MuJoCo node; mock hardware; the MuJoCo node behind a real '
        'ros2_control_node; Gazebo; mujoco_ros2_control; or a ros2_control that is up already',
    ),
    Argument(
        'controller',
        '',
        (),
        "controller to run: an entry point, 'package.module:Class' or 'file.py:Class'; that of "
        'the configuration where empty',
    ),
    Argument('rate', '', (), 'control rate [Hz]; that of the configuration where empty'),
    Argument(
        'dry_run',
        'false',
        ('true', 'false'),
        'whether nothing is sent to the robot: see ~/dry_run_commands',
    ),
    Argument(
        'scale',
        '',
        (),
        'share of speed and gain, from 0 to 1; that of the configuration where empty',
    ),
    Argument(
        'enable',
        '',
        (),
        'topic of the joystick whose button must be held; that of the configuration where empty',
    ),
    Argument(
        'controllers_file',
        '',
        (),
        "controller_manager's parameter file, or the name of one in config/; where empty, one is "
        "made of the robot's joints and devices",
    ),
    Argument(
        'description_file',
        '',
        (),
        'URDF with <ros2_control> tags for controller_manager; where empty, it is made of the '
        "robot's model",
    ),
    Argument(
        'joint_pid',
        '',
        ('', 'auto', 'interfaces', 'effort'),
        'joints commanded with gains: by stiffness and damping interfaces, which the description '
        'and the controllers that are made then have; by efforts, PD being computed in the node; '
        'or by what there is; as in the configuration where empty',
    ),
    Argument(
        'pacing',
        'paced',
        ('free', 'paced', 'lockstep'),
        'how the MuJoCo node goes with the controller: by the clock alone; by the clock, but '
        'waiting for late commands; or step by step',
    ),
    Argument(
        'scripts',
        'auto',
        ('auto', 'true', 'false'),
        'whether scripts of velocities and sticks count; auto: but on a real robot, which does '
        'not set off by itself',
    ),
    Argument(
        'heartbeat', 'true', ('true', 'false'), 'whether the heartbeat monitor watches the node'
    ),
    Argument(
        'viewer',
        'none',
        ('none', 'true', 'rviz'),
        'what shows the robot; true: the browser view, whose address is printed',
    ),
    Argument(
        'viewer_act', 'false', ('true', 'false'), 'whether the browser view may act, or only looks'
    ),
    Argument('namespace', '', (), 'namespace of all nodes'),
    Argument(
        'use_sim_time',
        'auto',
        ('auto', 'true', 'false'),
        'whether nodes take their time from /clock; auto: with mujoco, gazebo and '
        'mujoco_ros2_control',
    ),
    Argument(
        'autostart',
        'true',
        ('true', 'false'),
        'whether the node configures and activates itself',
    ),
    Argument(
        'world',
        '',
        (),
        "Gazebo's world; where empty, a floor with the systems that the robot's sensors need; "
        'running: the robot joins the Gazebo that runs already',
    ),
    Argument(
        'place',
        '',
        (),
        "how far the robot is put from its place in Gazebo, x and y [m], such as '0 1.5'",
    ),
    Argument('gz_args', GZ_ARGS, (), "Gazebo's arguments besides the world"),
    Argument(
        'respawn',
        'false',
        ('true', 'false'),
        'whether a Gazebo that was killed is started again, with the robot in it',
    ),
    Argument('speed', '1', (), 'speed of mujoco_ros2_control relative to real time'),
    Argument(
        'headless',
        'false',
        ('true', 'false'),
        'whether Gazebo and mujoco_ros2_control have no window',
    ),
)


def bringup(
    config: str | Path | None = None,
    controllers_file: str | Path = '',
    description_file: str | Path = '',
) -> LaunchDescription:
    """Launch description of a robot with its arguments.

    Args:
        config: the parameter file that is the default; where None, one has to be given.
        controllers_file: the controller_manager's parameter file that is the default.
        description_file: the URDF with `<ros2_control>` tags that is the default.
    """
    defaults = {
        'controllers_file': str(controllers_file),
        'description_file': str(description_file),
    }
    arguments = [
        DeclareLaunchArgument(
            'config',
            default_value=None if config is None else str(config),
            description='parameter file or robot model, or the name of one',
        )
    ]
    for name, default, choices, description in ARGUMENTS:
        options: dict[str, Any] = {'choices': list(choices)} if choices else {}
        arguments.append(
            DeclareLaunchArgument(
                name,
                default_value=defaults.get(name, default),
                description=description,
                **options,
            )
        )
    return LaunchDescription([*arguments, OpaqueFunction(function=_start)])


def _start(context: LaunchContext) -> list[Action]:
    avoid_shared_memory()  # for processes of other packages too
    folder = tempfile.mkdtemp(prefix='cnoid_control_launch_')

    def remove(*_: Any) -> None:
        shutil.rmtree(folder, ignore_errors=True)

    try:
        actions = Bringup(context, Path(folder)).actions()
    except BaseException:
        remove()
        raise
    # Programs read these files when they start, or later.
    return [*actions, RegisterEventHandler(OnShutdown(on_shutdown=remove))]
