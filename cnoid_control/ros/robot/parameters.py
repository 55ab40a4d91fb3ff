"""Options of a robot behind ros2_control."""

from __future__ import annotations

from dataclasses import dataclass

from cnoid_control.body.channels import BY_INTERFACE, CHANNELS
from cnoid_control.parameters import not_allowed, parameter

MEASURED = tuple(sorted(channel.interface for channel in CHANNELS))
INTERFACES = (*MEASURED, *sorted(set(BY_INTERFACE) - set(MEASURED)))


@dataclass
class CommandParameters:
    """A command controller: a forward or trajectory controller of ros2_control, or a topic."""

    interface: str = parameter('effort', 'command interface of its joints', choices=INTERFACES)
    type: str = parameter(
        'forward',
        'forward: Float64MultiArray; trajectory: JointTrajectory with one point; '
        'joint_state: JointState; joint_command: control_msgs/JointCommand, by joint name',
        choices=('forward', 'trajectory', 'joint_state', 'joint_command'),
    )
    topic: str = parameter(
        '',
        'topic of the commands; by default <name>/commands, <name>/joint_trajectory or, of '
        'joint_state, <name>',
    )
    joints: list[str] = parameter(
        [], "joints in the controller's order; where empty, its own parameter `joints` is asked"
    )


def default_commands() -> dict[str, CommandParameters]:
    """One forward controller for each interface."""
    return {f'{name}_controller': CommandParameters(interface=name) for name in INTERFACES}


def command_options(given: Ros2ControlParameters) -> dict[str, CommandParameters]:
    """Command controllers by name: those of the configuration, else the usual ones.

    Raises:
        ParameterError: one of them is to be told what its messages cannot carry.
    """
    for name, one in given.commands.items():
        if one.interface not in MEASURED and one.type in ('trajectory', 'joint_state'):
            raise not_allowed(
                f'hardware.ros2_control.commands.{name}.type',
                one.type,
                f'its messages have no {one.interface}; choose forward or joint_command',
            )
    return given.commands or default_commands()


@dataclass
class Ros2ControlParameters:
    """How the robot's topics are used."""

    joint_states: str = parameter('joint_states', 'topic of the joint states')
    odometry: str = parameter(
        '', "topic of the root's pose and twist (nav_msgs/Odometry); empty for none"
    )
    commands: dict[str, CommandParameters] = parameter(
        {},
        'command controllers by name; by default the forward controllers effort_controller, '
        'position_controller and velocity_controller, and stiffness_controller and '
        'damping_controller where the robot has those interfaces',
    )
    joint_pid: str = parameter(
        'auto',
        'joints commanded with gains (JOINT_PID): interfaces: by position, velocity, effort, '
        'stiffness and damping; effort: PD is computed here in every tick; auto: by interfaces '
        'where the robot has them, else by effort',
        choices=('auto', 'interfaces', 'effort'),
    )
    controller_manager: str = parameter(
        'controller_manager',
        'controller_manager that switches controllers; empty where the command topics have none: '
        'joints are then in the order of the configuration, else of the robot',
    )
    trigger: str = parameter(
        'state',
        'state: one tick per fresh joint state; timer: one tick per period of a steady clock',
        choices=('state', 'timer'),
    )
    decimation: int = parameter(
        1, 'fresh joint states per tick; the others are skipped', minimum=1
    )
    rate_check: str = parameter(
        'refuse',
        'where joint states do not come at the agreed rate (rate times decimation): refuse to '
        'start and stop a running robot; follow: the node starts at the rate that it measures; '
        'ignore; with the timer as trigger it does not matter',
        choices=('refuse', 'follow', 'ignore'),
    )
    repetition_time: float = parameter(
        0.0,
        'time for which states that differ from the last one by their stamps alone are '
        'skipped: a manager that is faster than its hardware repeats them; 0 for none',
        unit='s',
        minimum=0.0,
        maximum=1.0,
    )
    velocity: str = parameter(
        'auto',
        'message: from the joint states; difference: from positions and stamps; '
        'auto: from the joint states where they have velocities',
        choices=('auto', 'message', 'difference'),
    )
    acceleration_cutoff: float = parameter(
        30.0,
        'cut-off frequency of the low-pass filter behind accelerations, which are differences of '
        'velocities',
        unit='Hz',
        minimum=0.1,
        maximum=1e5,
    )
    dry_run: bool = parameter(
        False,
        'do everything but the last step: no command is sent, no controller is switched; what '
        'would have been sent is on ~/dry_run_commands and in the diagnostics',
        read_only=True,
    )
    allow_scripts: bool = parameter(
        False,
        'whether scripts in the configuration (velocity.script, joystick.script) move the robot '
        'without anybody who commands it; the launch files set it for simulated robots, and take '
        'it back for real ones',
        read_only=True,
    )
    lock_step: bool = parameter(
        False, "whether the robot waits for each command: devices are read for the state's stamp"
    )
    startup_timeout: float = parameter(
        30.0, 'longest wait for what is needed to start', unit='s', minimum=0.0
    )
    release_timeout: float = parameter(
        5.0,
        'time that controller_manager has to deactivate controllers at the end; Gazebo, which is '
        'told to end at the same time, does not do it any more',
        unit='s',
        minimum=0.0,
        read_only=True,
    )
    effort_is_final: bool = parameter(
        False,
        'whether a joint that was commanded by effort once takes no other command until the robot '
        'is started again, as in Gazebo: controllers that would need it are refused',
        read_only=True,
    )
    state_timeout: float = parameter(
        0.0,
        'longest wait for a joint state before the watchdog is asked; 0 for 0.05 s, or 3.5 '
        'periods where that is longer',
        unit='s',
        minimum=0.0,
    )
    max_jump: float = parameter(
        0.0,
        'stamps that differ by more are a jump of the clock; 0 for 0.5 s, or 3.5 periods where '
        'that is longer',
        unit='s',
        minimum=0.0,
    )
    public_calls: bool = parameter(
        False, 'use only public calls of rclpy in the loop thread; slower'
    )
