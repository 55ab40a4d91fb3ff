"""The process that listens to the terminal: writes which key went down and which came up.

A process of its own: it opens the terminal anew, so that reading it without waiting changes
nothing for those who write to it, and it costs the control loop nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import sys

# Time between two looks whether the terminal and who has started this are still there [s].
LOOK_PERIOD = 0.05


async def listen(latched: bool) -> None:
    """Write keys to the standard output until the terminal or the parent is gone."""
    from sshkeyboard import listen_keyboard_manual, stop_listening

    def tell(what: str, key: str) -> None:
        os.write(1, f'{what} {key}\n'.encode())

    async def press(key: str) -> None:
        tell('press', key)

    async def release(key: str) -> None:
        tell('release', key)

    async def watch() -> None:
        # sshkeyboard takes a terminal that was hung up for one where no key is pressed.
        poll = select.poll()
        poll.register(sys.stdin.fileno(), 0)
        parent = os.getppid()
        while not poll.poll(0) and os.getppid() == parent:
            await asyncio.sleep(LOOK_PERIOD)
        stop_listening()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop_listening)
    watcher = asyncio.create_task(watch())
    # A terminal does not say when a key comes up: it repeats one that is held, first after a
    # while, then often. Latched keys count when they go down, as often as they do.
    second, others = (0.02, 0.02) if latched else (0.75, 0.12)
    keys = listen_keyboard_manual(
        press, release, None, True, second, others, lower=True, sleep=0.005
    )
    listener = asyncio.create_task(keys)
    # Its terminal is set when it has run for the first time.
    await asyncio.sleep(0)
    tell('ready', '')
    await listener
    watcher.cancel()


def main() -> int:
    """Listen; the first argument is the terminal, the second 'latched' or 'held'."""
    # Closed never: sshkeyboard gives the terminal back through it.
    sys.stdin = open(sys.argv[1], encoding='utf-8', errors='replace')  # noqa: SIM115
    with contextlib.suppress(BrokenPipeError):
        asyncio.run(listen(sys.argv[2] == 'latched'))
    return 0


if __name__ == '__main__':
    sys.exit(main())
