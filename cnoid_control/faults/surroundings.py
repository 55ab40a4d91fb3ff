"""Faults of the surroundings: other nodes, other processes, little memory."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import rclpy
from rclpy.context import Context
from rclpy.node import Node

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.faults.dds_testbed import DdsRig

# Foreign nodes: processes' worth of them, and nodes in each.
PARTICIPANTS, NODES = 10, 20
# Share of the free memory that is taken, and the most that is [bytes]: others need some too.
MEMORY_SHARE, MOST_MEMORY = 0.25, 1 << 30
# Time for which memory or all cores are taken [s].
LOAD_TIME = 3.0
# How long a second node is looked at [s].
SECOND_TIMEOUT = 30.0

SPIN = 'while True: pass'
# Every page is written again and again: none can be lent to others.
HOLD = """
import sys
block = bytearray(int(sys.argv[1]))
print('taken', flush=True)
while True:
    for place in range(0, len(block), 4096):
        block[place] = (block[place] + 1) % 256
"""


def foreign_nodes(rig: DdsRig) -> float:
    """Have nodes of others join the graph and leave it, with their topics and services."""
    now = time.time()
    domain = rig.node.context.get_domain_id()
    for group in range(PARTICIPANTS):
        context = Context()
        rclpy.init(context=context, domain_id=domain)
        nodes = [
            Node(f'foreign_{group}_{index}', context=context, enable_rosout=False)
            for index in range(NODES)
        ]
        for node in nodes:
            node.destroy_node()
        rclpy.try_shutdown(context=context)
    rig.notes.append(f'{PARTICIPANTS * NODES} nodes')
    return now


def second_node(rig: DdsRig) -> float:
    """Start another control node for the same robot."""
    now = time.time()
    rig.start_node('second')
    rig.wait_for(lambda: 'cannot activate' in rig.log('second'), SECOND_TIMEOUT)
    reason = rig.when('second', 'cannot activate')[1]
    if 'one node commands a robot' not in reason:
        raise CnoidControlError(f'the second node says: {reason}')
    rig.notes.append('the second node was refused')
    return now


def busy_cores(rig: DdsRig) -> float:
    """Have other processes take every core for a while, without real-time priority."""
    now = time.time()
    count = os.cpu_count() or 1
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(other_process(SPIN))
        time.sleep(LOAD_TIME)
    rig.notes.append(f'{count} cores for {LOAD_TIME:g} s')
    return now


def memory_pressure(rig: DdsRig) -> float:
    """Have another process take much memory for a while, and write to it without a pause."""
    now = time.time()
    free = os.sysconf('SC_AVPHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')
    size = min(MOST_MEMORY, int(MEMORY_SHARE * free))
    with other_process(HOLD, str(size)) as process:
        assert process.stdout is not None
        if process.stdout.readline().strip() != b'taken':
            raise CnoidControlError('the memory could not be taken')
        time.sleep(LOAD_TIME)
    rig.notes.append(f'{size / 2**20:.0f} MB for {LOAD_TIME:g} s')
    return now


@contextlib.contextmanager
def other_process(code: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of somebody else, by its Python code; ended at the end."""
    process = subprocess.Popen([sys.executable, '-c', code, *words], stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
