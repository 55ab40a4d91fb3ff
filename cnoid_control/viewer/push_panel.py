"""Panel of the push."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from cnoid_control.viewer.source import Description

if TYPE_CHECKING:
    from cnoid_control.viewer.page import Page


class PushPanel:
    """A force on a link: where, which way, how strong, how long; a click on a link gives it."""

    def __init__(self, page: Page) -> None:
        """Add it to the panel that is open."""
        self._page = page
        gui = page.server.gui
        with gui.add_folder('Push'):
            self._link: Any = gui.add_dropdown('link', ['…'])
            self._force = gui.add_slider('force [N]', 0.0, 1000.0, 5.0, 50.0)
            self._heading = gui.add_slider(
                'heading [°]', -180.0, 180.0, 5.0, 0.0, hint='0: along x, 90: along y of the world'
            )
            self._elevation = gui.add_slider('elevation [°]', -90.0, 90.0, 5.0, 0.0)
            self._duration = gui.add_slider('duration [s]', 0.01, 2.0, 0.01, 0.1)
            self._point: Any = gui.add_vector3(
                'point [m]', (0.0, 0.0, 0.0), step=0.01, hint='in the axes of the link'
            )
            self._at_com = gui.add_checkbox('at the centre of mass', True)
            self._button = gui.add_button('Push')
            self._button.on_click(self._push)
            self._click = gui.add_checkbox(
                'push where I click', False, hint='away from the camera, at the point clicked'
            )
        page.scene.on_click(self._clicked)

    def describe(self, description: Description) -> None:
        """Follow a description."""
        links = tuple(description.links) or ('…',)
        if self._link.options != links:
            self._link.options = links
        refusal = description.refusals.get('push', '')
        self._button.disabled = bool(refusal)
        if refusal:
            self._button.hint = refusal

    def _push(self, event: Any) -> None:
        heading, elevation = math.radians(self._heading.value), math.radians(self._elevation.value)
        direction = np.array(
            [
                math.cos(elevation) * math.cos(heading),
                math.cos(elevation) * math.sin(heading),
                math.sin(elevation),
            ]
        )
        point = None if self._at_com.value else list(self._point.value)
        self._act(event.client, self._link.value, direction, point)

    def _clicked(self, client: Any, link: str, point: np.ndarray, direction: np.ndarray) -> None:
        """A link was clicked: choose it, and push it where that is wanted.

        Args:
            client: who has clicked.
            link: its name.
            point: where, in the link's axes [m], shape (3,).
            direction: of the line of sight, world axes, shape (3,).
        """
        self._link.value = link
        self._point.value = tuple(float(value) for value in point)
        if self._click.value:
            self._act(client, link, direction, [float(value) for value in point])

    def _act(
        self, client: Any, link: str, direction: np.ndarray, point: list[float] | None
    ) -> None:
        force = [float(value) for value in self._force.value * direction]
        self._page.act(
            client,
            'push',
            link=link,
            force=force,
            duration=float(self._duration.value),
            point=point,
        )
