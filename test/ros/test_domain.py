import subprocess
import sys

from cnoid_control.ros.transport import DOMAINS, reserved_domain

RESERVE = (
    'import sys\n'
    'from cnoid_control.ros.transport import reserved_domain\n'
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
    from cnoid_control.ros import transport as domain

    assert not domain.is_quiet(ros_domain)


def test_the_second_participant_of_a_process_is_noticed_too(ros_domain, ros_context, ros_node):
    """A node is found although its process has another one, in another domain, before it."""
    import rclpy
    from rclpy.context import Context

    from cnoid_control.ros import transport as domain

    with reserved_domain() as other:
        context = Context()
        rclpy.init(context=context, domain_id=other)
        node = rclpy.create_node('second', context=context)
        try:
            assert not domain.is_quiet(other)
        finally:
            node.destroy_node()
            rclpy.try_shutdown(context=context)
