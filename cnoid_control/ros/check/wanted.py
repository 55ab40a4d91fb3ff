"""What a configuration and its controllers ask of a robot, found without a robot."""

from __future__ import annotations

import io

from cnoid_control.body import Body, StateFlag
from cnoid_control.body.channels import CHANNELS, STIFFNESS
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.messages.devices import device_streams
from cnoid_control.ros.check.plan import Wanted
from cnoid_control.runtime.build import make_controllers
from cnoid_control.runtime.config import RunConfig
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.defaults import make_robot, place_robot


def wanted_by(config: RunConfig, described: Body | None) -> Wanted:
    """What the controllers of a configuration read and command.

    They are configured and initialized on a robot of their own: nothing is sent.

    Args:
        config: the configuration.
        described: the robot of robot_description, for a configuration without a model.

    Raises:
        CnoidControlError: there is no robot.
    """
    robot = config.parameters.robot
    if robot.model or robot.models:
        body = make_robot(robot, config.folder, config.time_step)
    elif described is not None:
        body = described
        place_robot(body, robot, config.time_step)
    else:
        raise CnoidControlError(
            f'{config.name} has no robot.model, and nobody publishes a robot description'
        )
    host = ControllerHost(make_controllers(config), body, config.time_step, io.StringIO())
    host.configure()
    problem, request = '', IORequest()
    try:
        request = host.initialize()
    except CnoidControlError as error:
        problem = str(error)
    commands: dict[str, list[str]] = {}
    with_gains: list[str] = []
    for name, mode in request.outputs.items():
        link = body.link(name)
        if STIFFNESS.serves(mode) and link.joint_id >= 0:
            with_gains.append(link.joint_name)
            continue
        # What of it a robot follows is found when the node is configured.
        shared = mode & ~StateFlag.HIGH_GAIN_ACTUATION
        for channel in CHANNELS if link.joint_id >= 0 else ():
            if not channel.serves(shared):
                continue
            commands.setdefault(channel.interface, []).append(link.joint_name)
    given = config.parameters
    devices = {
        device.name: device_streams(device, given.devices)[0][0]
        for device in body.devices
        if device.name in request.devices and device_streams(device, given.devices)
    }
    host.unconfigure()
    options = config.hardware['ros2_control']
    return Wanted(
        config.name,
        [joint.joint_name for joint in body.joints if joint.name],
        commands,
        devices,
        given.rate * options.decimation,
        options,
        given.use_sim_time,
        problem,
        with_gains,
    )
