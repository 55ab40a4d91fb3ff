"""What a launch gives to other programs, made from the robot of a configuration.

The robot's URDF for the hardware of one's choice, controller_manager's parameter file, Gazebo's
world: all in one folder, which is there as long as the launch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.formats.gazebo_urdf import fit_for_gazebo, gazebo_world
from cnoid_control.body.formats.robot_description import robot_description, to_text
from cnoid_control.body.formats.ros2_control_tag import (
    command_interfaces,
    complete_sensors,
    offer_gains,
    set_hardware,
)
from cnoid_control.body.formats.urdf import parse_urdf
from cnoid_control.ros.controllers_file import (
    LoadedControllers,
    controllers_text,
    mujoco_text,
    rate_text,
    read_controllers,
)
from cnoid_control.ros.robot.parameters import Ros2ControlParameters
from cnoid_control.ros.rviz_config import rviz_text
from cnoid_control.ros.sim.assembly import make_controllers, served_devices
from cnoid_control.runtime.config import RunConfig
from cnoid_control.runtime.defaults import make_robot

# Kinds of hardware whose robot has its place in the frame `world`.
IN_WORLD = ('mujoco', 'topic')
# Gazebo tells its clock also while it is paused: silence for so long is its end [s].
CLOCK_TIMEOUT = 3.0


@dataclass
class LaunchFiles:
    """The files of one launch.

    Attributes:
        config: the configuration.
        hardware: kind of hardware, as in the launch argument.
        rate: rate of the control [Hz].
        folder: where files are written.
        namespace: namespace of the robot.
        headless: whether a simulator has no window.
        given_controllers: controller_manager's parameter file of the user; None to make one.
        given_description: URDF with `<ros2_control>` tags of the user; None to make one.
        with_gains: whether joints of a URDF that is made have stiffness and damping interfaces.
        offset: how far the robot is from where the configuration has it, x and y [m].
        speed: speed of mujoco_ros2_control relative to real time.
    """

    config: RunConfig
    hardware: str
    rate: float
    folder: Path
    namespace: str = ''
    headless: bool = False
    given_controllers: Path | None = None
    given_description: Path | None = None
    with_gains: bool = False
    offset: tuple[float, float] = (0.0, 0.0)
    speed: float = 1.0

    @cached_property
    def body(self) -> Body:
        """The robot where it starts."""
        robot = self.config.parameters.robot
        body = make_robot(robot, self.config.folder, 1.0 / self.rate)
        body.root_link.p[:2] += self.offset
        return body

    @cached_property
    def _robot(self) -> ElementTree.Element:
        """URDF with tags for all that can be commanded and read, on the kind of hardware."""
        description = self.body.description
        if self.given_description is not None:
            file = self.given_description
            text = file.read_text(encoding='utf-8')
            description = parse_urdf(text, str(file), folder=file.parent)
        robot = robot_description(description, self.folder)
        complete_sensors(robot, self.body.description)
        if self.with_gains and self.given_description is None:
            offer_gains(robot)
        posture = {joint.joint_name: float(joint.q) for joint in self.body.joints if joint.name}
        set_hardware(robot, self.hardware, self._hardware_parameters(), posture)
        if self.hardware == 'mujoco_ros2_control':
            for sensor in robot.iterfind('ros2_control/sensor'):
                states = {state.get('name', '') for state in sensor.findall('state_interface')}
                kind = 'fts' if any(name.startswith('force') for name in states) else 'imu'
                for key, value in (('mujoco_type', kind), ('mujoco_sensor_name', None)):
                    parameter = ElementTree.SubElement(sensor, 'param', name=key)
                    parameter.text = value or sensor.get('name', '')
        return robot

    def _hardware_parameters(self) -> dict[str, str]:
        if self.hardware != 'mujoco_ros2_control':
            return {}
        # MuJoCo is imported only where it is used.
        from cnoid_control.hardware.mujoco.export import KEYFRAME, write_mjcf
        from cnoid_control.hardware.mujoco.parameters import MujocoParameters

        physics = self.config.hardware.get('mujoco', MujocoParameters())
        file = self.folder / 'robot.xml'
        root_joint = write_mjcf(self.body, physics, 1.0 / self.rate, file)
        parameters = self._write('mujoco.yaml', mujoco_text(self.body, 1.0 / self.rate))
        given = {'mujoco_model': str(file), 'initial_keyframe': KEYFRAME}
        given['pids_config_file'] = str(parameters)
        # Nobody has asked for images; those of a controller come by the MuJoCo node alone.
        given['auto_register_cameras'] = 'false'
        given['headless'] = str(self.headless).lower()
        if self.speed != 1.0:
            # Without it the window has a say.
            given['sim_speed_factor'] = repr(self.speed)
        if root_joint:
            given |= {'odom_free_joint_name': root_joint, 'odom_topic': 'root'}
        return given

    @cached_property
    def description(self) -> str:
        """URDF text for robot_state_publisher and controller_manager."""
        if self.hardware == 'gazebo':
            return to_text(self._for_gazebo[0])
        return to_text(self._robot)

    @cached_property
    def _for_gazebo(self) -> tuple[ElementTree.Element, dict[str, str]]:
        robot = ElementTree.fromstring(ElementTree.tostring(self._robot))
        files = [str(file) for file in self.parameter_files]
        names = fit_for_gazebo(
            robot,
            self.body.description,
            self.rate,
            files,
            namespace=self.namespace,
            place=np.array(self.body.root_link.T),
        )
        return robot, names

    @cached_property
    def controllers_file(self) -> Path:
        """controller_manager's parameter file: the user's, or one for the robot's devices."""
        if self.given_controllers is not None:
            return self.given_controllers
        return self._write('controllers.yaml', self.controllers_text())

    @cached_property
    def parameter_files(self) -> list[Path]:
        """controller_manager's parameter files: that of the controllers, and what must be so."""
        files = [self.controllers_file]
        if self.hardware == 'gazebo':
            # Gazebo's manager takes its rate from files alone.
            files.append(self._write('rate.yaml', rate_text(self.rate)))
        return files

    def controllers_text(self) -> str:
        """Text of a parameter file with the controllers that the robot can have."""
        commands = self.config.hardware.get('ros2_control', Ros2ControlParameters())
        interfaces = command_interfaces(self._robot)
        controllers = make_controllers(
            self.body,
            commands,
            served_devices(self.body, self.config.parameters.devices),
            interfaces=interfaces,
        )
        frames = {}
        if self.hardware == 'gazebo':
            # The names that Gazebo will have, found on a copy.
            copy = ElementTree.fromstring(ElementTree.tostring(self._robot))
            frames = fit_for_gazebo(copy, self.body.description, self.rate)
        return controllers_text(controllers, self.rate, frames)

    @cached_property
    def _controllers(self) -> LoadedControllers:
        return read_controllers(self.controllers_file)

    @property
    def broadcasters(self) -> list[str]:
        """Broadcasters to start: all; behind `topic` hardware, which has joints alone, those."""
        loaded = self._controllers
        return loaded.joint_states if self.hardware == 'topic' else loaded.broadcasters

    @property
    def commanders(self) -> list[str]:
        """Command controllers to load."""
        return self._controllers.commanders

    @property
    def frame_prefix(self) -> str:
        """What the names of the robot's frames begin with: robots share /tf."""
        namespace = self.namespace.strip('/')
        return f'{namespace}/' if namespace and self.hardware != 'real' else ''

    @cached_property
    def rviz(self) -> Path:
        """RViz's configuration for this robot."""
        text = rviz_text(
            self.namespace, self.frame_prefix, self.body.root_link.name, self.hardware in IN_WORLD
        )
        return self._write('robot.rviz', text)

    @cached_property
    def world(self) -> Path:
        """Gazebo's world for this robot."""
        return self._write('world.sdf', gazebo_world(self.rate, self.body.description))

    def _write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding='utf-8')
        return path
