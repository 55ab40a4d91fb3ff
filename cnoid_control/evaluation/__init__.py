"""Many runs: on all cores, or on a cluster."""

from cnoid_control.evaluation.executor import Executor, Failure, Outcome, make_executor

__all__ = ['Executor', 'Failure', 'Outcome', 'make_executor']
