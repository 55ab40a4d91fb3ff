"""How messages go from process to process."""

import os
import subprocess
import sys

import pytest

from cnoid_control.ros.transport import (
    LOCALHOST_ONLY,
    MIDDLEWARE,
    PROFILES,
    RANGE,
    TRANSPORTS,
    avoid_shared_memory,
    stay_on_this_machine,
)

LOOPBACK = 'loopback.xml'
# Tells whether it uses shared memory, and which addresses its sockets have, then publishes.
PROGRAM = """
import os, time
import rclpy
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node('plain')
print('/dev/shm/fastrtps' in open('/proc/self/maps').read())
sockets = set()
for one in os.listdir('/proc/self/fd'):
    try:
        sockets.add(os.readlink('/proc/self/fd/' + one))
    except OSError:
        pass
rows = [line.split() for line in open('/proc/self/net/udp')][1:]
mine = [row[1].split(':') for row in rows if 'socket:[' + row[9] + ']' in sockets]
print(*sorted({address for address, port in mine if int(port, 16) > 7400}), flush=True)
publisher = node.create_publisher(String, 'chatter', 1)
while True:
    publisher.publish(String(data='hello'))
    time.sleep(0.05)
"""
OF_PACKAGE = 'from cnoid_control.ros.transport import avoid_shared_memory as go\ngo()\n'
THIS_MACHINE = '0100007F'


@pytest.fixture
def variables(monkeypatch):
    """Let the test set the variables that count, and have them as before afterwards."""

    def set_all(given):
        for name in (TRANSPORTS, *PROFILES, RANGE, LOCALHOST_ONLY, MIDDLEWARE):
            monkeypatch.setenv(name, given.get(name, ''))
            if name not in given:
                del os.environ[name]

    return set_all


@pytest.mark.parametrize(
    ('given', 'expected'),
    [
        ({}, {TRANSPORTS: 'UDPv4'}),
        ({RANGE: 'SUBNET'}, {RANGE: 'SUBNET', TRANSPORTS: 'UDPv4'}),
        ({RANGE: 'LOCALHOST'}, {RANGE: 'SYSTEM_DEFAULT', PROFILES[0]: LOOPBACK}),
        ({LOCALHOST_ONLY: '1'}, {RANGE: 'SYSTEM_DEFAULT', PROFILES[0]: LOOPBACK}),
        ({MIDDLEWARE: 'rmw_fastrtps_cpp'}, {TRANSPORTS: 'UDPv4'}),
        ({MIDDLEWARE: 'rmw_cyclonedds_cpp', RANGE: 'LOCALHOST'}, {RANGE: 'LOCALHOST'}),
        ({TRANSPORTS: 'LARGE_DATA'}, {TRANSPORTS: 'LARGE_DATA'}),
        ({PROFILES[0]: 'my.xml'}, {PROFILES[0]: 'my.xml'}),
        ({PROFILES[1]: 'my.xml'}, {PROFILES[1]: 'my.xml'}),
    ],
)
def test_what_the_user_has_chosen_counts(variables, given, expected):
    """UDP is used where the user has not chosen, and on loopback where he wants this machine."""
    variables(given)
    avoid_shared_memory()
    for name in (TRANSPORTS, PROFILES[0], RANGE, LOCALHOST_ONLY):
        assert os.environ.get(name, '').endswith(expected.get(name, '')), name
        assert (name in os.environ) == (name in expected), name


@pytest.mark.parametrize('given', [{}, {TRANSPORTS: 'UDPv4'}, {RANGE: 'LOCALHOST'}])
def test_this_machine_can_be_asked_for_late(variables, given):
    """Whatever was said before, and said twice too, the profile of this machine is in force."""
    variables(given)
    avoid_shared_memory()
    stay_on_this_machine()
    stay_on_this_machine()
    assert os.environ[PROFILES[0]].endswith(LOOPBACK)
    assert os.environ[RANGE] == 'SYSTEM_DEFAULT'


def test_this_machine_is_not_left_with_a_profile_of_the_user(variables):
    """Where transports are the user's own, ROS itself is asked to stay on this machine."""
    variables({PROFILES[0]: 'my.xml', RANGE: 'SUBNET'})
    stay_on_this_machine()
    assert os.environ[RANGE] == 'LOCALHOST'
    assert os.environ[PROFILES[0]] == 'my.xml'


IMPORTS = """
import os
before = dict(os.environ)
import cnoid_control.cli.main
import cnoid_control.ros.heartbeat
import cnoid_control.ros.node.control_node
import cnoid_control.ros.robot.standalone
import cnoid_control.ros.sim.node
print([name for name in {*before, *os.environ} if before.get(name) != os.environ.get(name)])
"""
# The programs of the package that make a context, each stopped where it would.
STARTS = """
import importlib, os, sys
import rclpy
def init(**options):
    print(os.environ.get('FASTDDS_BUILTIN_TRANSPORTS'), flush=True)
    os._exit(0)
rclpy.init = init
module, call = sys.argv[1:]
eval(call, vars(importlib.import_module(module)))
"""


def run(text, *words):
    """Run a program without any of the variables set; what it prints."""
    names = (TRANSPORTS, *PROFILES, RANGE, LOCALHOST_ONLY, MIDDLEWARE)
    environment = {name: value for name, value in os.environ.items() if name not in names}
    command = [sys.executable, '-c', text, *words]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_an_import_changes_no_variable():
    """Importing the command line, the nodes and the hardware leaves the environment alone."""
    assert run('import rclpy\n' + IMPORTS) == '[]'


@pytest.mark.parametrize(
    ('module', 'call'),
    [
        ('cnoid_control.ros.node.control_node', 'main(["program"])'),
        ('cnoid_control.ros.sim.node', 'main(["program"])'),
        ('cnoid_control.ros.heartbeat', 'main(["program"])'),
        (
            'cnoid_control.ros.robot.standalone',
            'StandaloneHardware(None, Ros2ControlParameters(), 0.001)',
        ),
    ],
)
def test_every_program_sends_by_udp(module, call):
    """The variable is set before a context is made."""
    assert run(STARTS, module, call) == 'UDPv4'


@pytest.mark.parametrize('of_package', [True, False])
def test_processes_find_each_other(of_package, ros_domain, ros_node, spin_until, tmp_path):
    """A process of the package maps no shared memory, listens on loopback, and is heard.

    So is one that knows nothing of this and has asked ROS for this machine; it maps some, or else
    the check would show nothing.
    """
    from std_msgs.msg import String

    heard = []
    ros_node.create_subscription(String, 'chatter', heard.append, 1)
    names = (TRANSPORTS, *PROFILES)
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment[RANGE] = 'LOCALHOST'
    text = (OF_PACKAGE if of_package else '') + PROGRAM
    output = tmp_path / 'output'
    with output.open('w') as file:
        process = subprocess.Popen([sys.executable, '-c', text], env=environment, stdout=file)
    try:
        assert spin_until(lambda: bool(heard), 20.0)
    finally:
        process.kill()
        process.wait()
    shared, addresses = output.read_text().splitlines()
    assert shared == str(not of_package)
    if of_package:
        assert addresses == THIS_MACHINE
