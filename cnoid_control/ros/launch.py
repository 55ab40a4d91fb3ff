"""Launch descriptions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from cnoid_control.body.formats.ros2_control_tag import select_hardware
from cnoid_control.ros.node.parameters import NODE_KEYS
from cnoid_control.ros.transport import avoid_shared_memory
from cnoid_control.runtime.config import RunConfig, load_config
from cnoid_control.runtime.defaults import make_robot
from cnoid_control.share import shared_file

PACKAGE = 'cnoid_control'
BROADCASTERS = (
    'joint_state_broadcaster',
    'imu_sensor_broadcaster',
    'LeftAnkleForceSensor_broadcaster',
    'RightAnkleForceSensor_broadcaster',
)
COMMANDERS = ('effort_controller', 'position_controller', 'velocity_controller')
# Kinds of hardware whose time is simulated.
SIMULATED = ('mujoco', 'gazebo')


class Bringup:
    """The arguments of one launch, and the processes that they ask for."""

    def __init__(self, context: LaunchContext) -> None:
        """Take the arguments over, and read the configuration."""
        given = context.launch_configurations
        self.hardware = given['hardware']
        self.namespace = given['namespace']
        self.pacing = given['pacing']
        self.file = str(shared_file('config', given['config'], '.yaml'))
        self.controllers_file = str(shared_file('config', given['controllers_file'], '.yaml'))
        self.config: RunConfig = load_config(self.file, ignore=NODE_KEYS)
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
            self.node_changes['controller'] = given['controller']
        self.viewer = given['viewer']

    def actions(self) -> list[Action]:
        """Everything that is to be started."""
        choices: dict[str, Callable[[], list[Action]]] = {
            'mujoco': self.mujoco,
            'gazebo': self.gazebo,
            'mock': self.mock,
            'topic': self.topic,
            'real': list,
        }
        return [*choices[self.hardware](), *self.control_node(), *self.rviz()]

    def control_node(self) -> list[Action]:
        """The node with the controller; when it ends, so does the launch."""
        ros2_control: dict[str, Any] = {}
        if self.hardware == 'mujoco':
            # A simulated robot may be slow, but it is never gone for long.
            ros2_control['watchdog.state_timeout'] = 1.0
            ros2_control['hardware.ros2_control.lock_step'] = self.pacing == 'lockstep'
        else:
            # Simulators and managers are slow to start.
            ros2_control['hardware.ros2_control.startup_timeout'] = 60.0
        if self.hardware == 'topic':
            # The manager shows the last state again while the simulation waits or is late, and
            # the simulation waits while the manager is late, which goes by its own clock.
            ros2_control['hardware.ros2_control.repetition_time'] = 0.2
            ros2_control['watchdog.state_timeout'] = 3.0
            ros2_control['watchdog.time_jump'] = 3.0
        node = self._node(
            PACKAGE, PACKAGE, self.file, {**ros2_control, **self.changes, **self.node_changes}
        )
        ended = OnProcessExit(
            target_action=node, on_exit=[EmitEvent(event=Shutdown(reason='the node has ended'))]
        )
        return [node, RegisterEventHandler(ended)]

    def mujoco(self) -> list[Action]:
        """The MuJoCo node in place of ros2_control."""
        return [self._simulation({'pacing': self.pacing})]

    def topic(self) -> list[Action]:
        """The MuJoCo node behind a real ros2_control_node."""
        # The manager's cycles are those of its clock.
        simulation = self._simulation(
            {'interface': 'topic', 'pacing': self.pacing, 'clock_rate': self.rate}
        )
        return [simulation, self._state_publisher('topic'), self._manager(), *self._spawners()]

    def mock(self) -> list[Action]:
        """ros2_control with mock hardware: positions are reached at once, efforts move nothing."""
        return [self._state_publisher('mock'), self._manager(), *self._spawners(BROADCASTERS)]

    def gazebo(self) -> list[Action]:
        """Gazebo with ros2_control inside."""
        gazebo = IncludeLaunchDescription(
            PythonLaunchDescriptionSource(
                PathJoinSubstitution(
                    [FindPackageShare('ros_gz_sim'), 'launch', 'gz_sim.launch.py']
                )
            ),
            launch_arguments={'gz_args': '-r -v 1 empty.sdf'}.items(),
        )
        height = make_robot(self.config.parameters.robot, self.config.folder).root_link.p[2]
        spawn = self._node(
            'ros_gz_sim',
            'create',
            arguments=['-topic', 'robot_description', '-z', f'{height:.4f}'],
        )
        clock = self._node(
            'ros_gz_bridge',
            'parameter_bridge',
            arguments=['/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock'],
        )
        return [
            gazebo,
            self._state_publisher('gazebo'),
            spawn,
            clock,
            *self._spawners(BROADCASTERS),
        ]

    def rviz(self) -> list[Action]:
        """RViz, where it was asked for."""
        if self.viewer != 'rviz':
            return []
        return [self._node('rviz2', 'rviz2')]

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
            output='screen',
        )

    def _simulation(self, parameters: dict[str, Any]) -> Node:
        if not self.sim_time['use_sim_time']:
            # Nobody asks for it, and a second robot would contradict it.
            parameters['clock_rate'] = 0.0
        return self._node(
            PACKAGE, 'cnoid_control_mujoco', self.file, {**parameters, **self.changes}
        )

    def _state_publisher(self, hardware: str) -> Node:
        body = make_robot(self.config.parameters.robot, self.config.folder)
        posture = {joint.joint_name: joint.q for joint in body.joints if joint.name}
        text = Path(body.description.source).read_text(encoding='utf-8')
        description = select_hardware(
            text, hardware, controllers_file=self.controllers_file, posture=posture
        )
        return self._node(
            'robot_state_publisher', 'robot_state_publisher', {'robot_description': description}
        )

    def _manager(self) -> Node:
        rate = {'update_rate': round(self.rate)}
        return self._node('controller_manager', 'ros2_control_node', self.controllers_file, rate)

    def _spawners(self, broadcasters: tuple[str, ...] = BROADCASTERS[:1]) -> list[Action]:
        file = ['--param-file', self.controllers_file]
        return [
            self._node('controller_manager', 'spawner', arguments=[*broadcasters, *file]),
            self._node(
                'controller_manager', 'spawner', arguments=[*COMMANDERS, '--inactive', *file]
            ),
        ]


def bringup(config: str, controllers_file: str) -> LaunchDescription:
    """Launch description with its arguments.

    Args:
        config: the parameter file that is the default.
        controllers_file: the controller_manager's parameter file that is the default.
    """
    arguments = [
        DeclareLaunchArgument(
            'hardware',
            default_value='mujoco',
            choices=['mujoco', 'gazebo', 'mock', 'topic', 'real'],
            description='the robot: simulated by the MuJoCo node; by Gazebo; mock hardware; the '
            'MuJoCo node behind a real ros2_control_node; or a ros2_control that is up already',
        ),
        DeclareLaunchArgument(
            'controller',
            default_value='',
            description="controller to run: an entry point, 'package.module:Class' or "
            "'file.py:Class'; that of the configuration where empty",
        ),
        DeclareLaunchArgument(
            'config',
            default_value=config,
            description="parameter file, or the name of one in the package's config/",
        ),
        DeclareLaunchArgument(
            'controllers_file',
            default_value=controllers_file,
            description="controller_manager's parameter file, or the name of one in config/",
        ),
        DeclareLaunchArgument(
            'rate',
            default_value='',
            description='control rate [Hz]; that of the configuration where empty',
        ),
        DeclareLaunchArgument(
            'pacing',
            default_value='paced',
            choices=['free', 'paced', 'lockstep'],
            description='how the MuJoCo node goes with the controller: by the clock alone; by the '
            'clock, but waiting for late commands; or step by step',
        ),
        DeclareLaunchArgument(
            'viewer',
            default_value='none',
            choices=['none', 'rviz'],
            description='program that shows the robot',
        ),
        DeclareLaunchArgument('namespace', default_value='', description='namespace of all nodes'),
        DeclareLaunchArgument(
            'use_sim_time',
            default_value='auto',
            choices=['auto', 'true', 'false'],
            description='whether nodes take their time from /clock; auto: with mujoco and gazebo',
        ),
        DeclareLaunchArgument(
            'autostart',
            default_value='true',
            choices=['true', 'false'],
            description='whether the node configures and activates itself',
        ),
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=_start)])


def _start(context: LaunchContext) -> list[Action]:
    avoid_shared_memory()  # for processes of other packages too
    return Bringup(context).actions()
