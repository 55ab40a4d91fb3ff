"""`cnoid_control convert`: a Choreonoid model as URDF."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('model', metavar='MODEL', help='a model file or the name of one')
    parser.add_argument('out', metavar='OUT.urdf', help='the file to write')


def run(args: argparse.Namespace) -> int:
    """Read the model and write it as URDF."""
    from cnoid_control.body.formats.urdf_writer import convert
    from cnoid_control.catalog import find_model
    from cnoid_control.cli.output_file import check_output

    model = find_model(args.model)
    check_output('OUT', args.out, ['.urdf'], [model])
    description = convert(model, args.out)
    joints = sum(link.joint_id >= 0 for link in description.links)
    print(
        f'{args.out}: {description.name}, {len(description.links)} links, {joints} joints, '
        f'{len(description.devices)} devices'
    )
    return 0
