"""The process of a run's page: `python -m cnoid_control.viewer.page_process RING LINK`."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from cnoid_control.body import Body
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.runtime.config import RunConfig, parse_config
from cnoid_control.runtime.defaults import make_robot
from cnoid_control.viewer.frame import Frame
from cnoid_control.viewer.link import Link
from cnoid_control.viewer.ring import Ring
from cnoid_control.viewer.source import Description

# The run's loop comes first.
NICE = 5


class FeedSource:
    """The run of another process: frames from shared memory, everything else by the link."""

    def __init__(self, ring: Ring, link: Link, body: Body, config: RunConfig) -> None:
        """Take both ends, and the robot that is shown."""
        self.body = body
        self.config: RunConfig | None = config
        self._ring = ring
        self._link = link
        self._count = 0
        self._frame: Frame | None = None

    def frame(self) -> Frame | None:
        """The newest frame; the same object again where nothing has happened since."""
        count = self._ring.count
        if count != self._count:
            data = self._ring.read()
            if data is not None:
                self._count = count
                self._frame = Frame.from_bytes(data)
        return self._frame

    def describe(self) -> Description:
        """What can be done; asked of the run."""
        return Description.from_json(self._link.ask({'kind': 'describe'}))

    def act(self, action: str, **arguments: Any) -> str:
        """Have the run do something; returns what came of it."""
        return str(self._link.ask({'kind': 'act', 'action': action, 'arguments': arguments}))

    @property
    def is_over(self) -> bool:
        """Whether the process of the run has gone."""
        return self._link.closed.is_set()

    def close(self) -> None:
        """End the link."""
        self._link.close()


def main(ring_fd: int, link_fd: int) -> int:
    """Show the page until the run's process ends."""
    from cnoid_control.viewer.page import Page

    # Ctrl-C is for the run, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICE)
    ring = Ring(ring_fd)
    link = Link(socket.socket(fileno=link_fd), lambda message: None)
    link.start()
    try:
        hello = link.ask({'kind': 'hello'})
        folder = Path(hello['folder']) if hello['folder'] else None
        config = parse_config(hello['config'], hello['name'], folder)
        body = make_robot(config.parameters.robot, config.folder, config.time_step)
        source = FeedSource(ring, link, body, config)
        page = Page(source, **hello['parameters'])
    except CnoidControlError as error:
        link.tell({'kind': 'failed', 'reason': str(error)})
        return 1
    link.tell({'kind': 'ready', 'url': page.url})
    page.run(lambda: source.is_over)
    return 0


if __name__ == '__main__':
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
