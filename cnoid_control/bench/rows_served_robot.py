"""The messages of a simulated robot, against the same ones built with rclpy as it comes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cnoid_control.bench.row import BenchRow, Work
from cnoid_control.body import Body
from cnoid_control.body.devices import ForceSensor, Imu
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.defaults import make_robot


def from_templates(node: Any, body: Body) -> Work:
    """Joint states, IMU and forces of a tick by the publishers of the MuJoCo node."""
    from cnoid_control.ros.sim.assembly import state_qos
    from cnoid_control.ros.sim.devices import make_publisher
    from cnoid_control.ros.sim.state import JointStatePublisher, StatePublishers

    qos = state_qos()
    sensors = [*body.devices_of(Imu), *body.devices_of(ForceSensor)]
    devices = [make_publisher(node, one, f'raw/{one.name}', qos) for one in sensors]
    joints = JointStatePublisher(node, body, 'raw/joint_states', qos)
    publishers = StatePublishers(
        body, [(joints, lambda: True)], [(one, lambda: True) for one in devices], []
    )
    tick = 0

    def publish() -> None:
        nonlocal tick
        tick += 1
        publishers.publish(tick, tick * 1_000_000)

    return publish


def as_messages(node: Any, body: Body) -> Work:
    """The same messages, filled field by field and published as they are."""
    import pinocchio as pin
    from geometry_msgs.msg import WrenchStamped
    from sensor_msgs.msg import Imu as ImuMessage
    from sensor_msgs.msg import JointState

    from cnoid_control.ros.sim.assembly import state_qos

    qos = state_qos()
    joints: Any = node.create_publisher(JointState, 'typed/joint_states', qos)
    imus = [
        (one, node.create_publisher(ImuMessage, f'typed/{one.name}', qos))
        for one in body.devices_of(Imu)
    ]
    forces = [
        (one, node.create_publisher(WrenchStamped, f'typed/{one.name}', qos))
        for one in body.devices_of(ForceSensor)
    ]

    def fill(field: Any, values: Any) -> None:
        for axis, value in zip('xyzw', values, strict=False):
            setattr(field, axis, float(value))

    def publish() -> None:
        body.calc_forward_kinematics()
        for imu, publisher in imus:
            assert imu.link is not None
            message: Any = ImuMessage()
            fill(message.orientation, pin.Quaternion(imu.link.R @ imu.R_local).coeffs())
            fill(message.angular_velocity, imu.w)
            fill(message.linear_acceleration, imu.dv)
            publisher.publish(message)
        for sensor, publisher in forces:
            wrench: Any = WrenchStamped()
            fill(wrench.wrench.force, sensor.F[:3])
            fill(wrench.wrench.torque, sensor.F[3:])
            publisher.publish(wrench)
        joints.publish(
            JointState(
                name=body.joint_names,
                position=body.q.tolist(),
                velocity=body.dq.tolist(),
                effort=body.u.tolist(),
            )
        )

    return publish


@contextmanager
def served() -> Iterator[tuple[Work, Work]]:
    """Both ways for SR1, on a node of its own."""
    import rclpy
    from rclpy.context import Context
    from rclpy.node import Node

    from cnoid_control.ros.transport import reserved_domain

    config = load_config('sr1_pd')
    body = make_robot(config.parameters.robot, config.folder)
    with reserved_domain() as domain:
        context = Context()
        rclpy.init(context=context, domain_id=domain)
        node = Node('bench', context=context)
        try:
            yield from_templates(node, body), as_messages(node, body)
        finally:
            node.destroy_node()
            rclpy.try_shutdown(context=context)


ROWS = (
    BenchRow(
        'served_robot',
        'messages of a tick of the MuJoCo node: joints, IMU, two forces',
        'the same messages built and published with rclpy',
        served,
        goal=3.0,
        calls=500,
        needs='rclpy',
    ),
)
