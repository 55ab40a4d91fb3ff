"""What docs/from_choreonoid.md shows is tried as it stands there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'from_choreonoid.md'
CODE = re.findall(r'```python\n(.*?)```', PAGE.read_text(encoding='utf-8'), re.DOTALL)
IN_ARRAYS = CODE[0][: CODE[0].index('    def control')] + CODE[1]


@pytest.mark.parametrize('code', [CODE[0], IN_ARRAYS], ids=['line by line', 'in arrays'])
def test_the_example_stands(code, tmp_path):
    """Both versions of SR1MinimumController hold SR1 upright."""
    pytest.importorskip('mujoco', reason='needs MuJoCo')
    (tmp_path / 'sr1_minimum.py').write_text(code)
    command = [sys.executable, '-m', 'cnoid_control.cli.main', 'run', 'sr1_pd']
    command += ['--controller', 'sr1_minimum.py:SR1MinimumController']
    result = subprocess.run(
        [*command, '--duration', '0.5', '--json'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert not json.loads(result.stdout)['fell']
