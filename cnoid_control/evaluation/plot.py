"""One page on randomised runs: what was measured, and what separates the failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cnoid_control.evaluation.statistics import wilson_interval
from cnoid_control.evaluation.table import EvaluationTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PASSED, FAILED = '#3b7dd8', '#d1495b'
# Parameters that are drawn, and groups of runs that a pass rate is found of.
PANELS, BINS = 6, 8


def plot_evaluation(table: EvaluationTable) -> Figure:
    """Pass rate over the parameters that separate most, and how the first metrics are spread."""
    # The canvas is used directly so that no display and no global state is involved.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    parameters = _parameters(table)
    metrics = [
        name for name in table.metrics if name != 'duration' and np.ptp(_finite(table[name])) > 0.0
    ][:3]
    columns = 3
    rows = -(-len(parameters) // columns) + (1 if metrics else 0)
    figure = Figure(figsize=(11.0, 0.6 + 2.7 * max(rows, 1)), layout='constrained')
    FigureCanvasAgg(figure)
    low, high = table.interval()
    figure.suptitle(
        f'{table.passed} of {len(table)} runs passed: {table.pass_rate:.1%} '
        f'(95 %: {low:.1%} to {high:.1%}), rule: {table.rule.text}',
        fontsize=10,
    )
    panels = figure.subplots(max(rows, 1), columns, squeeze=False).reshape(-1)
    passed = np.array([row['passed'] for row in table.rows], dtype=bool)
    for axes, name in zip(panels, metrics, strict=False):
        _histogram(axes, name, table[name], passed)
    start = columns if metrics else 0
    for axes, (name, text) in zip(panels[start:], parameters, strict=False):
        _rates(axes, name, text, table[name], passed)
    for axes in (*panels[len(metrics) : start], *panels[start + len(parameters) :]):
        axes.set_axis_off()
    return figure


def _parameters(table: EvaluationTable) -> list[tuple[str, str]]:
    """Parameters with numbers, those that separate most first, and what is known of each."""
    numbers = [name for name in table.parameters if np.issubdtype(table[name].dtype, np.number)]
    known = {
        one.name: f'{one.side} values fail: AUC {one.auc:.2f}, p {one.p:.1g}'
        if one.is_significant
        else f'nothing found (p {one.p:.1g})'
        for one in table.separations()
    }
    ranked = [name for name in known if name in numbers]
    ranked += [name for name in numbers if name not in known]
    return [(name, known.get(name, '')) for name in ranked[:PANELS]]


def _finite(values: np.ndarray) -> np.ndarray:
    kept = values[np.isfinite(values)]
    return kept if kept.size else np.zeros(1)


def _histogram(axes: Axes, name: str, values: np.ndarray, passed: np.ndarray) -> None:
    finite = np.isfinite(values)
    edges = np.histogram_bin_edges(values[finite], bins=30).tolist()
    parts: list[Any] = [values[finite & passed], values[finite & ~passed]]
    axes.hist(parts, bins=edges, stacked=True, color=[PASSED, FAILED], label=['passed', 'failed'])
    axes.set_xlabel(name, fontsize=8)
    axes.set_ylabel('runs', fontsize=8)
    axes.tick_params(labelsize=7)
    axes.legend(fontsize=7)


def _rates(axes: Axes, name: str, text: str, values: np.ndarray, passed: np.ndarray) -> None:
    """Pass rate of groups of equal size along a parameter, with 95 % intervals."""
    finite = np.isfinite(values)
    values, passed = values[finite].astype(float), passed[finite]
    order = np.argsort(values, kind='stable')
    for group in np.array_split(order, min(BINS, max(1, len(order) // 4))):
        if not len(group):
            continue
        low, high = wilson_interval(int(passed[group].sum()), len(group))
        left, right = float(values[group[0]]), float(values[group[-1]])
        axes.fill_between([left, right], low, high, color=PASSED, alpha=0.2, linewidth=0.0)
        axes.plot([left, right], [passed[group].mean()] * 2, color=PASSED, linewidth=1.5)
    axes.plot(values[passed], np.full(passed.sum(), 1.04), '|', color=PASSED, markersize=4)
    axes.plot(values[~passed], np.full((~passed).sum(), -0.04), '|', color=FAILED, markersize=4)
    axes.set_ylim(-0.1, 1.1)
    axes.set_xlabel(name, fontsize=8)
    axes.set_ylabel('pass rate', fontsize=8)
    axes.set_title(text, fontsize=8)
    axes.tick_params(labelsize=7)
    axes.grid(True, alpha=0.3)
