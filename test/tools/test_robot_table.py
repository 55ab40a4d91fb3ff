"""The table of robots: what loads, what holds, and the page that it is put into."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path


def test_table_of_a_folder(root: Path, tmp_path: Path) -> None:
    """A robot that holds, and a file that is none; the rest of the page stays."""
    folder = tmp_path / 'models'
    folder.mkdir()
    shutil.copy(root / 'urdf' / 'pendulum.urdf', folder)
    (folder / 'broken.urdf').write_text('<robot name="nobody"/>')
    page, figures = tmp_path / 'page.md', tmp_path / 'figures.json'
    page.write_text(
        'before\n<!-- table: tools/robot_table.py -->old\n<!-- end of the table -->\nafter'
    )
    command = [sys.executable, str(root / 'tools' / 'robot_table.py'), '--no-catalog', str(folder)]
    command += ['--output', str(page), '--json', str(figures)]
    subprocess.run(command, check=True, timeout=120, capture_output=True)
    found = json.loads(figures.read_text())['models']
    assert not found['broken.urdf']['loads']
    assert 'root link' in found['broken.urdf']['reason']
    pendulum = found['pendulum.urdf']
    assert (pendulum['loads'], pendulum['holds'], pendulum['base']) == (True, True, 'fixed')
    assert pendulum['error'] < 1e-3
    text = page.read_text()
    assert text.startswith('before')
    assert text.endswith('after')
    assert 'stale' not in text
    assert '1 of 2 load, 1 of these hold their posture.' in text
    assert '| broken.urdf | no |' in text
