"""`cnoid_control plot`: logs on one page."""

from __future__ import annotations

import argparse
from pathlib import Path

from cnoid_control.cli.run_command import seconds
from cnoid_control.exceptions import CnoidControlError

# How a layout of PlotJuggler begins.
LAYOUT = r'(<\?xml[^>]*>\s*)?<root>'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        'logs',
        metavar='LOG.mcap|CONFIG',
        nargs='+',
        help='log of a run; several are drawn over it. A configuration or model with -o FILE.xml: '
        'the layout of PlotJuggler for its node',
    )
    parser.add_argument(
        '-o', '--out', metavar='FILE', help='.png, .pdf, .svg, ...; LOG.png where not given'
    )
    parser.add_argument('--from', metavar='S', type=seconds, dest='begin', help='first time [s]')
    parser.add_argument('--to', metavar='S', type=seconds, dest='end', help='last time [s]')
    parser.add_argument(
        '--joints', metavar='A,B,...', default='', help='joints to show; those that say most'
    )
    parser.add_argument('--no-picture', action='store_true', help='leave the robot out')


def run(args: argparse.Namespace) -> int:
    """Draw the page and say where it is."""
    from cnoid_control.cli.output_file import check_output
    from cnoid_control.log import RunLog
    from cnoid_control.viewer.plot_data import read_run
    from cnoid_control.viewer.plot_page import plot_suffixes, save_page

    out = Path(args.out) if args.out else Path(args.logs[0]).with_suffix('.png')
    if out.suffix == '.xml':
        return _write_layout(args.logs, out)
    logs = [RunLog(name) for name in args.logs]
    check_output('-o', out, plot_suffixes(), args.logs)
    runs = [read_run(log, args.begin, args.end) for log in logs]
    joints = [name for name in args.joints.split(',') if name]
    panels = save_page(runs, out, joints, picture=not args.no_picture)
    for log in logs:
        if not log.is_complete:
            print(f'{log.path} was cut off: it is drawn up to {log.times[-1]:g} s')
    print(f'{out}: {"; ".join(panels)}')
    return 0


def _write_layout(sources: list[str], out: Path) -> int:
    """Write the layout of PlotJuggler for the node of one robot."""
    from cnoid_control.cli.output_file import check_output
    from cnoid_control.log import RunLog
    from cnoid_control.runtime.defaults import load_run, make_robot
    from cnoid_control.viewer.plotjuggler import layout

    if len(sources) > 1:
        raise CnoidControlError(f'{out}: a layout is of one robot, and {len(sources)} are given')
    check_output('-o', out, ['.xml'], sources, LAYOUT)
    if Path(sources[0]).suffix == '.mcap':
        joints = RunLog(sources[0]).joint_names
    else:
        config = load_run(sources[0])
        joints = make_robot(config.parameters.robot, config.folder).joint_names
    out.write_text(layout(joints), encoding='utf-8')
    print(f'{out}: layout of PlotJuggler for {len(joints)} joints')
    return 0
