import subprocess
import sys
from pathlib import Path

from ros_domain import DOMAINS, reserved_domain

RESERVE = (
    'import sys; sys.path.insert(0, sys.argv[1])\n'
    'from ros_domain import reserved_domain\n'
    'with reserved_domain() as domain:\n'
    '    print(domain, flush=True); sys.stdin.read()\n'
)


def test_overlapping_reservations_differ():
    """Reservations held at the same time, in this and in other processes, are all different."""
    command = [sys.executable, '-c', RESERVE, str(Path(__file__).parent)]
    others = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    try:
        with reserved_domain() as first, reserved_domain() as second:
            domains = [first, second, *(int(other.stdout.readline()) for other in others)]
    finally:
        for other in others:
            other.communicate()
    assert len(set(domains)) == 5
    assert all(domain in DOMAINS for domain in domains)
