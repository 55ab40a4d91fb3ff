"""`cnoid_control check --ros`: a running ros2_control system, before anything moves."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cnoid_control.cli.json_output import print_object
from cnoid_control.cli.output_file import check_output
from cnoid_control.exceptions import CnoidControlError

if TYPE_CHECKING:
    from rich.console import Console

    from cnoid_control.ros.check.check import Report
    from cnoid_control.ros.check.survey import Topic

STYLES = {'error': 'bold red', 'warning': 'yellow'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        'config',
        metavar='CONFIG',
        nargs='?',
        help='configuration or model to compare with; without one, what would suit the robot',
    )
    parser.add_argument(
        '--ros', action='store_true', required=True, help='look at the running ROS 2 system'
    )
    parser.add_argument(
        '--duration', metavar='S', type=float, default=3.0, help='time to measure topics for [s]'
    )
    parser.add_argument('--namespace', default='', help='namespace of the robot')
    parser.add_argument(
        '--write', metavar='FILE.yaml', help='write the `hardware:` section of a configuration'
    )
    parser.add_argument('--json', action='store_true', help='as one JSON object')


def run(args: argparse.Namespace) -> int:
    """Look, and print what was found; returns 1 where the robot must not be commanded yet."""
    if not args.duration > 0.0:
        raise CnoidControlError(f'--duration {args.duration:g}: it must be above 0 s')
    if args.write:
        check_output('--write', args.write, ['.yaml', '.yml'])
        if Path(args.write).exists():
            raise CnoidControlError(f'{args.write} exists already; give another --write')
    try:
        from cnoid_control.ros.check.check import check_system
        from cnoid_control.ros.check.section import section_text
        from cnoid_control.ros.robot_config import load_robot_config
    except ImportError as error:
        raise CnoidControlError(f'check --ros needs ROS 2: {error}') from error

    config = load_robot_config(args.config) if args.config else None
    report = check_system(config, args.duration, args.namespace)
    if args.write:
        Path(args.write).write_text(section_text(report.plan), encoding='utf-8')
    if args.json:
        print_object(report_object(report))
    else:
        from rich.console import Console

        print_report(report, Console(), args.write)
    return 0 if report.is_usable else 1


def report_object(report: Report) -> dict[str, Any]:
    """The report as plain values."""
    from dataclasses import asdict, replace

    from cnoid_control.ros.check.section import hardware_section

    survey = report.survey
    description = survey.description
    if description is not None:
        survey = replace(survey, description=replace(description, body=None))
    seen = asdict(survey)
    if description is not None:
        body = description.body
        del seen['description']['body']
        seen['description']['joints'] = [] if body is None else list(body.joint_names)
    return {
        'usable': report.is_usable,
        'findings': [finding._asdict() for finding in report.findings],
        'configuration': hardware_section(report.plan),
        'seen': seen,
    }


def print_report(report: Report, console: Console, written: str | None = None) -> None:
    """Print what there is, what would be used, and what is wrong."""
    from rich.table import Table

    from cnoid_control.ros.check.section import section_text

    def section(title: str, rows: list[tuple[str, str]]) -> None:
        console.print(title, style='italic')
        table = Table(show_header=False, box=None, pad_edge=False)
        table.add_column(style='bold', no_wrap=True)
        table.add_column(overflow='fold')
        for row in rows:
            table.add_row(*row)
        console.print(table, markup=False, highlight=False)

    survey, plan = report.survey, report.plan
    section('seen', _seen_rows(report))
    section('would be used', _used_rows(report) or [('nothing', '')])
    for number, finding in enumerate(report.findings, start=1):
        console.print(
            f'{number}. {finding.level}: {finding.subject}: {finding.message}',
            style=STYLES[finding.level],
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        console.print(f'   {finding.remedy}', markup=False, highlight=False, soft_wrap=True)
    if not report.findings:
        console.print('nothing is wrong', style='green')
    if plan.namespace:
        console.print(f'start the node with namespace:={plan.namespace.strip("/")}')
    if written:
        console.print(f'written: {written}', markup=False, highlight=False)
    elif survey.nodes and report.wanted is None:
        console.print(section_text(plan), markup=False, highlight=False)


def _seen_rows(report: Report) -> list[tuple[str, str]]:
    survey, computer = report.survey, report.survey.computer
    network = f'domain {computer.domain}, discovery {computer.discovery}'
    priority = f'real-time priority up to {computer.realtime_priority}'
    rows = [
        ('middleware', f'{computer.middleware}, {network}, transport {computer.transport}'),
        ('machine', f'{computer.cores} cores, {computer.kernel}, {priority}'),
        ('nodes', ', '.join(survey.nodes) or 'none'),
    ]
    for manager in survey.managers:
        rate = f'{manager.update_rate:g} Hz' if manager.update_rate else 'rate unknown'
        clock = ', by /clock' if manager.use_sim_time else ''
        rows.append((manager.name, manager.problem or f'{rate}{clock}'))
        for part in manager.components:
            often = f', {part.rate} Hz' if part.rate else ''
            rows.append((f'  {part.name}', f'{part.state}, {part.plugin}{often}'))
        for one in manager.controllers:
            joints = f', {one.interface} of {len(one.joints)} joints' if one.kind else ''
            rows.append((f'  {one.name}', f'{one.state}, {one.type}{joints}'))
    for topic in (*survey.joint_states, *survey.sensors, survey.clock):
        if topic is not None:
            rows.append((topic.name, _timing_text(topic)))
    description = survey.description
    if description is not None:
        body = description.body
        text = description.problem
        if body is not None:
            text = f'{body.name}, {body.num_joints} joints, {len(body.devices)} devices'
        rows.append((description.topic, text))
    return rows


def _timing_text(topic: Topic) -> str:
    timing = topic.timing
    if timing is None or not timing.count:
        return f'{topic.type}: nothing came'
    text = (
        f'{timing.rate:.4g} Hz, jitter {1e3 * timing.jitter:.2g} ms, '
        f'longest {1e3 * timing.longest:.3g} ms'
    )
    if topic.fields:
        text += f'; {", ".join(topic.fields)} of {len(topic.joints)} joints'
    return text


def _used_rows(report: Report) -> list[tuple[str, str]]:
    plan = report.plan
    rows: list[tuple[str, str]] = []
    if plan.joint_states is not None:
        rows.append(('joint states', f'{plan.joint_states.name} at {plan.rate:g} Hz'))
    if plan.manager is not None:
        rows.append(('controller_manager', plan.manager.name))
    for interface, group in plan.commands.items():
        for one in group:
            rows.append((interface, f'{one.topic} ({one.state}): {", ".join(one.joints)}'))
    rows += [(f'device {name}', topic) for name, topic in plan.devices.items()]
    return rows
