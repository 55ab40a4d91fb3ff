"""Drawings of compositions: everything is there, and nothing covers anything else."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from cnoid_control.controllers.composition import (
    BaseController,
    MultiController,
    TransitionStateMachineController,
)
from cnoid_control.controllers.composition.conditions import After, MessageArrived
from cnoid_control.controllers.composition.graph_drawing import graph_figure

LONG = 'recover_after_the_emergency_stop_button_was_released'


def machine(transitions, states=None, start=None):
    """State machine of parts that do nothing."""
    states = states or {name: BaseController() for name in transitions}
    return TransitionStateMachineController(states, transitions, start or next(iter(states)))


def random_machine(seed: int):
    """States with long and short names, and transitions of all kinds between them."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 14))
    names = [
        ('s' if rng.random() < 0.6 else 'a_state_with_a_name_') + str(i) for i in range(count)
    ]
    inner = machine({'left': {'right': After(1.0)}, 'right': {'left': After(2.0)}})
    states = {name: inner if rng.random() < 0.15 else BaseController() for name in names}
    ways = {
        name: {
            target: MessageArrived('go_on' * int(rng.integers(1, 12)))
            for target in rng.permutation(count)[: rng.integers(0, 5)]
        }
        for name in names
    }
    transitions = {
        name: {-1 if target == count - 1 else names[target]: when for target, when in to.items()}
        for name, to in ways.items()
    }
    return machine(transitions, states)


def both_ways():
    """Two states with arrows both ways, and to themselves."""
    return machine(
        {
            'left': {'right': After(1.0), 'left': MessageArrived('again')},
            'right': {'left': After(2.0), 'right': After(3.0), -1: MessageArrived('stop')},
        }
    )


def links():
    """Controllers side by side, with connections forwards, back, and from and to outside."""
    controller = MultiController(
        {'sensor_filter': BaseController(), LONG: BaseController(), 'law': BaseController()}
    )
    controller.map_input('law', 'filtered', 'x')
    controller.map_input('sensor_filter', 'command', 'last')
    controller.map_input('sensor_filter', 'q')
    controller.map_output('sensor_filter', 'y', 'filtered')
    controller.map_output('law', 'u', 'command')
    controller.map_my_output('command', 'qcmd')
    return controller


def boxes_of(figure):
    """Extents of the texts, pixels."""
    axes, renderer = figure.axes[0], figure.canvas.get_renderer()
    return {text: text.get_window_extent(renderer) for text in axes.texts}


def lines_of(figure):
    """Corners of the arrows, pixels."""
    axes = figure.axes[0]
    arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    return [axes.transData.transform(arrow._path_original.vertices) for arrow in arrows]


def parts_of(figure):
    """Extents of the boxes, pixels."""
    axes, renderer = figure.axes[0], figure.canvas.get_renderer()
    boxes = [patch for patch in axes.patches if isinstance(patch, FancyBboxPatch)]
    return [box.get_window_extent(renderer) for box in boxes]


def crosses(corners, box) -> bool:
    """Whether a line of upright and level stretches leads through a rectangle."""
    return any(
        max(a[0], b[0]) > box.x0
        and min(a[0], b[0]) < box.x1
        and max(a[1], b[1]) > box.y0
        and min(a[1], b[1]) < box.y1
        for a, b in itertools.pairwise(corners)
    )


def assert_readable(figure) -> None:
    """No text covers another one, leaves the picture, or is crossed by an arrow or a frame."""
    figure.canvas.draw()
    texts, lines, parts = boxes_of(figure), lines_of(figure), parts_of(figure)
    for (one, first), (other, second) in itertools.combinations(texts.items(), 2):
        assert not first.overlaps(second), (one.get_text(), other.get_text())
    for text, box in texts.items():
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, text.get_text()
        assert not any(crosses(line, box) for line in lines), text.get_text()
        for part in parts:
            inside = part.x0 < box.x0 and box.x1 < part.x1 and part.y0 < box.y0 < part.y1
            assert inside or not part.overlaps(box), text.get_text()
    # Two arrows may cross but nowhere run on top of each other.
    for one, other in itertools.combinations(lines, 2):
        for (a, b), (c, d) in itertools.product(
            itertools.pairwise(one), itertools.pairwise(other)
        ):
            for axis in (0, 1):
                if a[axis] == b[axis] == c[axis] == d[axis]:
                    low, high = sorted((a[1 - axis], b[1 - axis]))
                    assert max(c[1 - axis], d[1 - axis]) <= low or high <= min(
                        c[1 - axis], d[1 - axis]
                    )


@pytest.mark.parametrize('make', [both_ways, links], ids=['both_ways', 'links'])
def test_arrows_both_ways_are_apart(make):
    """Each has its own line and label, loops as well."""
    assert_readable(graph_figure(make(), 'machine'))


@pytest.mark.parametrize('seed', range(12))
def test_any_state_machine_is_readable(seed):
    """With many states, long names, long conditions and machines in machines."""
    assert_readable(graph_figure(random_machine(seed), LONG))


def test_everything_is_in_the_drawing():
    """A box for each state and the end, the start marked, and an arrow with its condition each."""
    figure = graph_figure(both_ways(), 'machine')
    found = [text.get_text() for text in figure.axes[0].texts]
    assert {'machine', 'left (start)', 'right', 'end'} <= set(found)
    conditions = [text for text in found if text.startswith(('after', 'message'))]
    assert sorted(conditions) == [
        'after 1 s', 'after 2 s', 'after 3 s', 'message again', 'message stop',
    ]  # fmt: skip
    assert len(lines_of(figure)) == 5


def test_directions_have_colours_of_their_own():
    """Onwards, back, and to itself."""
    figure = graph_figure(both_ways())
    colors = {text.get_text(): text.get_color() for text in figure.axes[0].texts}
    assert colors['after 1 s'] == colors['message stop']
    assert len({colors[when] for when in ('after 1 s', 'after 2 s', 'after 3 s')}) == 3


def test_connections_of_parallel_controllers_are_drawn():
    """With the names of what they carry, and those from and to outside."""
    found = [text.get_text() for text in graph_figure(links()).axes[0].texts]
    assert {'filtered as x', 'command as last', 'command as qcmd', 'q'} <= set(found)
    assert {'inputs', 'outputs', 'law'} <= set(found)


def test_parts_without_connections_are_beside_each_other():
    """In rows of four."""
    figure = graph_figure(MultiController({str(i): BaseController() for i in range(6)}))
    figure.canvas.draw()
    tops = [part.y1 for part in parts_of(figure)[1:]]
    assert [tops.count(top) for top in dict.fromkeys(tops)] == [4, 2]
    assert_readable(figure)


def test_a_state_may_have_the_name_of_an_end():
    """It is not taken for the end."""
    figure = graph_figure(machine({'end': {-1: After(1.0)}}))
    assert [text.get_text() for text in figure.axes[0].texts].count('end') == 1
    assert 'end (start)' in [text.get_text() for text in figure.axes[0].texts]
