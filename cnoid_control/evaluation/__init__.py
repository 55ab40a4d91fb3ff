"""Many runs: randomised, on all cores, or on a cluster."""

from typing import TYPE_CHECKING

from cnoid_control.evaluation.executor import Executor, Failure, Outcome, make_executor
from cnoid_control.lazy import lazy_names

if TYPE_CHECKING:
    from cnoid_control.evaluation.evaluator import Evaluation, evaluate

__all__ = ['Evaluation', 'Executor', 'Failure', 'Outcome', 'evaluate', 'make_executor']

__getattr__ = lazy_names(__name__, dict.fromkeys(('Evaluation', 'evaluate'), 'evaluator'))
