import subprocess
import sys

from cnoid_control.ros.domain import DOMAINS, reserved_domain

RESERVE = (
    'import sys\n'
    'from cnoid_control.ros.domain import reserved_domain\n'
    'with reserved_domain() as domain:\n'
    '    print(domain, flush=True); sys.stdin.read()\n'
)


def test_overlapping_reservations_differ():
    """Reservations held at the same time, in this and in other processes, are all different."""
    others = [
        subprocess.Popen(
            [sys.executable, '-c', RESERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
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


def test_a_domain_that_another_program_uses_is_not_taken(ros_domain, ros_node):
    """Where a ROS node that knows nothing of reservations is at work, the domain is refused."""
    from cnoid_control.ros import domain

    assert not domain.is_quiet(ros_domain)
