"""The code on docs/python_api.md runs as it stands, and the world on it is one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run_script(path: Path, folder: Path) -> str:
    """Run a script in a folder; what it prints."""
    done = subprocess.run(
        [sys.executable, str(path)], cwd=folder, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_is_a_script_that_runs(tmp_path: Path) -> None:
    """All blocks in their order."""
    text = (ROOT / 'docs' / 'python_api.md').read_text(encoding='utf-8')
    blocks = re.findall(r'```python\n(.*?)```', text, re.DOTALL)
    assert len(blocks) >= 7
    (tmp_path / 'page.py').write_text('\n'.join(blocks))
    run_script(tmp_path / 'page.py', tmp_path)
    assert (tmp_path / 'run.png').stat().st_size > 10000


def test_the_world_on_the_page_is_one(tmp_path: Path) -> None:
    """As `cnoid_control run` takes it."""
    from cnoid_control.runtime.world_config import is_world, load_world

    text = (ROOT / 'docs' / 'python_api.md').read_text(encoding='utf-8')
    world = tmp_path / 'pair.yaml'
    world.write_text(re.findall(r'```yaml\n(.*?)```', text, re.DOTALL)[0])
    assert is_world(world)
    robots, values = load_world(world, {})
    assert list(robots) == ['left', 'right']
    assert robots['right']['controller'] == f'{tmp_path}/mine.py:Hold'
    assert set(values) == {'rate', 'duration', 'hardware'}
