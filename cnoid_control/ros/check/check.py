"""The whole check: look, plan, findings."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import rclpy
from rclpy.context import Context
from rclpy.executors import (
    ExternalShutdownException,
    ShutdownException,
    SingleThreadedExecutor,
)
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from cnoid_control.ros.check.findings import ERROR, Finding, find_problems
from cnoid_control.ros.check.look import Look
from cnoid_control.ros.check.plan import Plan, Wanted, make_plan
from cnoid_control.ros.check.survey import Survey
from cnoid_control.ros.check.wanted import wanted_by
from cnoid_control.ros.robot.supervision_node import SupervisionNode
from cnoid_control.ros.transport import avoid_shared_memory
from cnoid_control.runtime.config import RunConfig

NODE_NAME = '_cnoid_control_check'
# Longest wait for the executor to end [s].
SPIN_TIMEOUT = 2.0


@dataclass
class Report:
    """What a check has found.

    Attributes:
        survey: what there is.
        plan: what of it would be used.
        findings: what is wrong, in the order in which to mend it.
        wanted: what a configuration asks for; None without one.
    """

    survey: Survey
    plan: Plan
    findings: list[Finding]
    wanted: Wanted | None = None

    @property
    def is_usable(self) -> bool:
        """Whether the robot may be commanded."""
        return not any(one.level == ERROR for one in self.findings)


def check_system(
    config: RunConfig | None = None,
    duration: float = 3.0,
    namespace: str = '',
    domain_id: int | None = None,
) -> Report:
    """Look at the running system; nothing is published, nothing is switched.

    Args:
        config: a configuration to compare with; None for none.
        duration: time for which topics are measured [s].
        namespace: namespace that the control node would be in.
        domain_id: ROS domain; that of the environment where None.

    Raises:
        CnoidControlError: the configuration has no robot, and nobody describes one.
    """
    with _observer(namespace, domain_id) as (node, supervision):
        survey = Look(node, supervision, duration).survey(namespace)
    described = survey.description.body if survey.description is not None else None
    wanted = wanted_by(config, described) if config is not None else None
    plan = make_plan(survey, wanted, namespace)
    return Report(survey, plan, find_problems(survey, plan, wanted), wanted)


@contextlib.contextmanager
def _observer(namespace: str, domain_id: int | None) -> Iterator[tuple[Node, SupervisionNode]]:
    """A hidden node without publishers of its own, served in a thread."""
    avoid_shared_memory()
    context = Context()
    rclpy.init(
        context=context, signal_handler_options=SignalHandlerOptions.NO, domain_id=domain_id
    )
    node = Node(
        NODE_NAME,
        context=context,
        namespace=namespace,
        start_parameter_services=False,
        enable_rosout=False,
        use_global_arguments=False,
    )
    supervision = SupervisionNode(node)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)

    def spin() -> None:
        with contextlib.suppress(ExternalShutdownException, ShutdownException):
            executor.spin()

    thread = threading.Thread(target=spin, name='executor', daemon=True)
    thread.start()
    try:
        yield node, supervision
    finally:
        executor.shutdown(timeout_sec=SPIN_TIMEOUT)
        thread.join(SPIN_TIMEOUT)
        supervision.close()
        node.destroy_node()
        rclpy.try_shutdown(context=context)
