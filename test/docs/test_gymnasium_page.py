"""The code on docs/gymnasium.md runs as it stands, and its lists are those of the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from cnoid_control.environment.rewards import METRICS

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'gymnasium.md'


def test_the_page_is_a_script_that_runs(tmp_path: Path) -> None:
    """All blocks in their order, each in a process that may be started anew."""
    blocks = re.findall(r'```python\n(.*?)```', PAGE.read_text(encoding='utf-8'), re.DOTALL)
    assert len(blocks) >= 5
    (tmp_path / 'page.py').write_text('\n'.join(blocks))
    done = subprocess.run(
        [sys.executable, 'page.py'], cwd=tmp_path, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert "'observations'" in done.stdout


def test_every_metric_is_on_the_page() -> None:
    """By its name."""
    text = PAGE.read_text(encoding='utf-8')
    for name in METRICS:
        assert f'`{name}`' in text
