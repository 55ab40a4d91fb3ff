"""The command line leaves the process that it runs in as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys

SCRIPT = """
import json, os, sys
before = dict(os.environ)
from cnoid_control.cli.main import main
status = main(['run', 'sr1_pd', '--duration', '0.01', '--json'])
changed = sorted(key for key in {*before, *os.environ} if before.get(key) != os.environ.get(key))
ros = sorted(name for name in sys.modules if name.split('.')[0] in ('rclpy', 'sensor_msgs'))
print(json.dumps({'status': status, 'changed': changed, 'ros': ros}))
"""


def test_a_run_in_mujoco_changes_no_variable_and_imports_no_rclpy() -> None:
    """Neither the import of the command line nor a run leaves a trace in the environment."""
    ros = ('RMW_', 'FASTDDS_', 'FASTRTPS_', 'ROS_')
    environment = {key: value for key, value in os.environ.items() if not key.startswith(ros)}
    result = subprocess.run(
        [sys.executable, '-c', SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    seen = json.loads(result.stdout.splitlines()[-1])
    assert seen == {'status': 0, 'changed': [], 'ros': []}
