"""Makes the table of docs/robots.md: every robot that can be had, held in its posture for 5 s.

    tools/robot_table.py [--output docs/robots.md] [--only NAME]... [FOLDER]...

Robots of `cnoid_control get` that are in the cache are run, then all models in the folders given.
Each is run as `cnoid_control run MODEL` does, in a process of its own. A robot holds its posture
where it did not fall (tilt below 60 degrees, height above half of the initial one), no joint is
further than 0.1 rad or 0.02 m from where it is to be at the end, and nothing moves faster than
0.2 rad/s or m/s there.
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

DURATION = 5.0
TIMEOUT = 300.0
# The most that a robot that holds its posture has at the end.
MAX_ERROR = {'revolute': 0.1, 'prismatic': 0.02}
MAX_SPEED = 0.2
SUFFIXES = ('.urdf', '.xml', '.body')

HEADER = (
    '| robot | loads | base | joints | mass [kg] | holds | joint error [rad, m] '
    '| root moved [m] | speed at the end [rad/s, m/s] |'
)
BEGIN, END = '<!-- table: tools/robot_table.py -->', '<!-- end of the table -->'


def measure(model: str) -> dict[str, Any]:
    """Figures of one robot."""
    from cnoid_control.exceptions import CnoidControlError
    from cnoid_control.runtime.build import make_loop
    from cnoid_control.runtime.defaults import config_from_model
    from cnoid_control.runtime.summary import RunMonitor

    figures: dict[str, Any] = {'loads': False, 'holds': False}
    logging.disable(logging.CRITICAL)
    try:
        config = config_from_model(model)
        loop = make_loop(config, os=sys.stderr)
        monitor = RunMonitor(loop)
        body = loop.hardware.body
    except CnoidControlError as error:
        return figures | {'reason': str(error)}
    joints = [joint for joint in body.joints if joint.joint_type.has_displacement]
    ids = [joint.joint_id for joint in joints]
    posture, place = body.q.copy(), body.root_link.p.copy()
    figures |= {
        'loads': True,
        'base': 'fixed' if body.is_fixed_root else 'floating',
        'why': body.description.base_reason,
        'joints': len(joints),
        'mass': body.mass,
    }
    outcome = loop.run(DURATION)
    errors = np.abs(body.q - posture)[ids]
    allowed = np.array([MAX_ERROR[joint.joint_type.value] for joint in joints])
    worst = int(np.argmax(errors / allowed)) if ids else -1
    figures |= {
        'error': float(errors[worst]) if ids else 0.0,
        'worst': joints[worst].joint_name if ids else '',
        'moved': float(np.linalg.norm(body.root_link.p - place)),
        'speed': float(np.abs(np.append(body.dq[ids], body.root_motion.ravel())).max()),
        'fell': monitor.fell,
        'reason': outcome.reason,
    }
    figures['holds'] = bool(
        outcome.exit != 'failed'
        and not monitor.fell
        and (not ids or errors[worst] <= allowed[worst])
        and figures['speed'] <= MAX_SPEED
    )
    return figures


def models(folders: list[str], only: list[str], catalog: bool) -> Iterator[tuple[str, str, str]]:
    """Group, name and path of every model to run."""
    from cnoid_control.catalog import ITEMS, cached_model

    for name, item in ITEMS.items() if catalog else ():
        path = cached_model(name)
        if item.kind == 'robot' and path is not None and (not only or name in only):
            yield item.wheel.project, name, str(path)
    for folder in folders:
        for path in sorted(Path(folder).rglob('*')):
            if path.suffix in SUFFIXES and (not only or path.stem in only):
                yield Path(folder).name, str(path.relative_to(folder)), str(path)


def in_process(path: str) -> dict[str, Any]:
    """Measure a robot in a process of its own: what one does must not reach the next."""
    command = [sys.executable, __file__, '--measure', path]
    failed = {'loads': False, 'holds': False}
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return failed | {'reason': f'it took more than {TIMEOUT:g} s'}
    lines = result.stdout.strip().splitlines()
    if result.returncode or not lines:
        said = result.stderr.strip().splitlines()
        return failed | {'reason': said[-1] if said else f'exit status {result.returncode}'}
    figures: dict[str, Any] = json.loads(lines[-1])
    return figures


def row(name: str, found: dict[str, Any]) -> str:
    """One line of the table."""
    if not found['loads']:
        return f'| {name} | no | | | | | | | |'
    holds = 'yes' if found['holds'] else 'fell' if found['fell'] else 'no'
    cells = [name, 'yes', found['base'], found['joints'], f'{found["mass"]:.3g}', holds]
    cells += [f'{found["error"]:.4f}', f'{found["moved"]:.4f}', f'{found["speed"]:.4f}']
    return f'| {" | ".join(str(cell) for cell in cells)} |'


def table(groups: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Markdown of all groups."""
    lines = []
    for group, robots in groups.items():
        loaded = [found for found in robots.values() if found['loads']]
        held = sum(found['holds'] for found in loaded)
        lines += [
            f'### {group}',
            '',
            f'{len(loaded)} of {len(robots)} load, {held} of these hold their posture.',
            '',
            HEADER,
            '|---|---|---|---|---|---|---|---|---|',
            *(row(name, found) for name, found in robots.items()),
            '',
        ]
    return '\n'.join(lines)


def main() -> None:
    """Run the robots and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folders', nargs='*', metavar='FOLDER')
    parser.add_argument('--only', action='append', default=[], metavar='NAME')
    parser.add_argument('--output', metavar='FILE.md', help='page whose table is replaced')
    parser.add_argument('--no-catalog', action='store_true', help='the folders only')
    parser.add_argument('--json', metavar='FILE.json', help='write the figures')
    parser.add_argument('--measure', metavar='MODEL', help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure)))
        return
    groups: dict[str, dict[str, dict[str, Any]]] = {}
    for group, name, path in models(args.folders, args.only, not args.no_catalog):
        found = in_process(path)
        groups.setdefault(group, {})[name] = found
        note = found.get('reason') or found.get('why', '')
        print(row(name, found), f'{found.get("worst", "")} {note[:160]}', file=sys.stderr)
    if args.json:
        Path(args.json).write_text(json.dumps(groups, indent=1), encoding='utf-8')
    text = table(groups)
    if not args.output:
        print(text)
        return
    page = Path(args.output)
    before, _, rest = page.read_text(encoding='utf-8').partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f'{before}{BEGIN}\n\n{text}\n{END}{after}', encoding='utf-8')


if __name__ == '__main__':
    main()
