"""Picture of a search: its trials, its front, and what matters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cnoid_control.evaluation.distributions import CHOICE
from cnoid_control.tuning.tuning import Tuning

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GOOD, BAD, BEST = '#1f77b4', '#bbbbbb', '#d62728'
# Values that are drawn against the first objective, at most.
SLICES = 6
LABEL_WIDTH = 28
# Ratio of the largest to the smallest value from which an axis is logarithmic.
WIDE = 20.0


def plot_tuning(tuning: Tuning) -> Figure:
    """Trials in order or as a front, importance of values, and each value against the objective.

    Args:
        tuning: a search with at least one trial.
    """
    # The canvas is used directly so that no display and no global state is involved.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = _order(tuning)[:SLICES]
    rows = 1 + -(-len(names) // 3)
    figure = Figure(figsize=(11.0, 3.4 * rows), layout='constrained')
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(rows, 6)
    first = figure.add_subplot(grid[0, :3])
    if len(tuning.scorer.objectives) > 1:
        _draw_front(first, tuning)
    else:
        _draw_history(first, tuning)
    _draw_importance(figure.add_subplot(grid[0, 3:]), tuning)
    for index, name in enumerate(names):
        column = 2 * (index % 3)
        panel = figure.add_subplot(grid[1 + index // 3, column : column + 2])
        _draw_slice(panel, tuning, name)
    return figure


def _order(tuning: Tuning) -> list[str]:
    """Names of the values, the important ones first."""
    shares = next(iter(tuning.importance.values()), {})
    names = [variable.name for variable in tuning.variables]
    return sorted(names, key=lambda name: -shares.get(name, 0.0))


def _points(tuning: Tuning, index: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, values of an objective, and whether it obeys, of every trial."""
    scores = [(trial.number, trial.score) for trial in tuning.trials if trial.score is not None]
    return (
        np.array([number for number, _ in scores]),
        np.array([score.values[index] for _, score in scores]),
        np.array([score.is_feasible for _, score in scores], dtype=bool),
    )


def _draw_history(axes: Any, tuning: Tuning) -> None:
    numbers, values, good = _points(tuning)
    objective = tuning.scorer.objectives[0]
    axes.plot(numbers[good], values[good], 'o', color=GOOD, markersize=4, label='obeys')
    if good.any():
        so_far = np.minimum if objective.is_smaller_better else np.maximum
        best = so_far.accumulate(values[good])
        axes.step(numbers[good], best, where='post', color=BEST, label='best so far')
        for number in numbers[~good]:
            axes.axvline(number, color=BAD, linewidth=0.5, zorder=0)
    else:
        axes.plot(numbers, values, 'x', color=BAD, label='violates a constraint')
    if tuning.baseline is not None and tuning.baseline.is_feasible:
        axes.axhline(tuning.baseline.values[0], color='black', linestyle=':', label='as it was')
    axes.set_xlabel('trial; grey lines violate a constraint' if good.any() else 'trial')
    axes.set_yscale(_spread(values[good]))
    axes.set_ylabel(str(objective))
    axes.set_title('trials')
    axes.legend(fontsize=8)
    axes.grid(True, alpha=0.3)


def _draw_front(axes: Any, tuning: Tuning) -> None:
    (_, first, good), (_, second, _) = _points(tuning, 0), _points(tuning, 1)
    axes.plot(first[good], second[good], 'o', color=GOOD, markersize=4, label='obeys')
    front = [trial.score.values for trial in tuning.front if trial.score is not None]
    if front:
        shown = np.array(front)
        style = '-o' if shown.shape[1] == 2 else 'o'
        axes.plot(shown[:, 0], shown[:, 1], style, color=BEST, markersize=5, label='front')
    best = tuning.best
    if best is not None and best.score is not None:
        axes.plot(*best.score.values[:2], '*', color=BEST, markersize=14, label='chosen')
    if tuning.baseline is not None and tuning.baseline.is_feasible:
        axes.plot(*tuning.baseline.values[:2], 'ks', label='as it was')
    if not good.any():
        axes.plot(first, second, 'x', color=BAD, label='violates a constraint')
    axes.set_xscale(_spread(first[good]))
    axes.set_yscale(_spread(second[good]))
    axes.set_xlabel(str(tuning.scorer.objectives[0]))
    axes.set_ylabel(str(tuning.scorer.objectives[1]))
    axes.set_title('front')
    axes.legend(fontsize=8)
    axes.grid(True, alpha=0.3)


def _spread(values: np.ndarray) -> str:
    """Scale of an axis on which one bad trial does not press all others together."""
    finite = values[np.isfinite(values)]
    is_wide = len(finite) and finite.min() > 0.0 and finite.max() > WIDE * finite.min()
    return 'log' if is_wide else 'linear'


def _draw_importance(axes: Any, tuning: Tuning) -> None:
    axes.set_title('what matters, among trials that obey')
    if not tuning.importance:
        axes.text(0.5, 0.5, 'too few trials obey to tell', ha='center', va='center')
        axes.set_axis_off()
        return
    names = _order(tuning)[::-1]
    height = 0.8 / len(tuning.importance)
    for index, (objective, shares) in enumerate(tuning.importance.items()):
        places = np.arange(len(names)) + index * height
        axes.barh(places, [shares.get(name, 0.0) for name in names], height, label=objective)
    axes.set_yticks(np.arange(len(names)), [_short(name) for name in names], fontsize=8)
    axes.legend(fontsize=8)
    axes.set_xlim(0.0, 1.0)


def _draw_slice(axes: Any, tuning: Tuning, name: str) -> None:
    _, values, good = _points(tuning)
    variable = next(one for one in tuning.variables if one.name == name)
    tried = [trial.values[name] for trial in tuning.trials]
    kind = variable.distribution.kind
    places = [variable.ends.index(one) for one in tried] if kind == CHOICE else tried
    where = np.array(places, dtype=float)
    shown = values[good] if good.any() else values
    axes.plot(where[good], values[good], 'o', color=GOOD, markersize=4)
    if len(shown):
        axes.plot(where[~good], np.full((~good).sum(), shown.max()), 'x', color=BAD, markersize=4)
    if kind == 'log_uniform':
        from matplotlib.ticker import NullFormatter

        axes.set_xscale('log')
        axes.xaxis.set_minor_formatter(NullFormatter())
    if kind == CHOICE:
        axes.set_xticks(range(len(variable.ends)), [str(one) for one in variable.ends])
    if tuning.best is not None:
        best = tuning.best.values[name]
        axes.axvline(
            variable.ends.index(best) if kind == CHOICE else best, color=BEST, linewidth=1.0
        )
    axes.set_yscale(_spread(shown))
    axes.set_xlabel(_short(name), fontsize=8)
    axes.set_ylabel(str(tuning.scorer.objectives[0]), fontsize=8)
    axes.grid(True, alpha=0.3)


def _short(name: str) -> str:
    """Name of a value for an axis: the first of several keys, its end where it is long."""
    keys = name.split(',')
    text = keys[0] if len(keys[0]) <= LABEL_WIDTH else f'…{keys[0][-LABEL_WIDTH:]}'
    return text + (f' +{len(keys) - 1}' if len(keys) > 1 else '')
