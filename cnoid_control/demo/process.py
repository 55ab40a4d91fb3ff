"""The processes of the demonstrations."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.faults.child_process import bound_command
from cnoid_control.share import shared_file

CONFIG = 'sr1_pd'
# Modules of the nodes.
SIMULATOR = 'cnoid_control.ros.sim.node'
NODE = 'cnoid_control.ros.node.control_node'
MONITOR = 'cnoid_control.ros.heartbeat'


class DemoFailed(CnoidControlError):
    """The demonstration did not go as it should."""


def end_as_by_hand() -> None:
    """Have a termination signal end this process as Ctrl-C does: with the processes it started."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


def exit_status(name: str, run: Callable[[], None]) -> int:
    """Run a demonstration; 1 where it failed, with the reason, and 130 where it was ended."""
    end_as_by_hand()
    try:
        run()
    except KeyboardInterrupt:
        return 130
    except CnoidControlError as error:
        print(f'{name}: {error}', file=sys.stderr)
        return 1
    return 0


class Process:
    """One of the processes, its output in a file; it ends with this one at the latest."""

    def __init__(
        self,
        module: str,
        domain: int,
        log: Path,
        *parameters: str,
        config: str | Path = CONFIG,
        namespace: str = '',
    ) -> None:
        """Start it.

        Args:
            module: SIMULATOR, NODE or MONITOR.
            domain: its ROS domain.
            log: file for its output.
            parameters: further parameters, `name:=value`.
            config: its configuration: a file, or the name of one.
            namespace: its namespace.
        """
        self.module = module
        self.log = log
        command = [*bound_command(module), '--ros-args']
        command += ['--params-file', str(shared_file('config', config, '.yaml'))]
        for parameter in parameters:
            command += ['-p', parameter]
        if namespace:
            command += ['-r', f'__ns:=/{namespace}']
        variables = {'ROS_DOMAIN_ID': str(domain), 'PYTHONUNBUFFERED': '1'}
        with log.open('w') as output:
            self._process = subprocess.Popen(
                command, env={**os.environ, **variables}, stdout=output, stderr=subprocess.STDOUT
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def check(self) -> None:
        """Raise DemoFailed if it has ended."""
        status = self._process.poll()
        if status is not None:
            raise DemoFailed(f'{self.module} has ended with status {status}:\n{self.tail()}')

    def tail(self) -> str:
        """Return the last lines of its output."""
        lines = self.log.read_text(errors='replace').splitlines()[-8:]
        return '\n'.join(f'  {line}' for line in lines)

    def kill(self) -> None:
        """End it at once; it can say and send nothing any more."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Ask it to end, and make it end if it does not."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
