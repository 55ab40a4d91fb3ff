"""Panel of the controller's options, made from their descriptors; tasks first."""

from __future__ import annotations

import re
import threading
import time
from typing import TYPE_CHECKING, Any

import viser
import yaml

from cnoid_control.viewer.source import Description, Option

if TYPE_CHECKING:
    from cnoid_control.viewer.page import Page

# A number or a text that somebody types is taken when nothing was typed for this long [s].
TYPING = 0.8
# A slider is for ranges that a person can point into.
SLIDER_STEPS = 200
SWITCH = re.compile(r'(?P<task>.*\btasks\.[^.]+)\.(?P<part>enabled|weight)$')


class OptionPanel:
    """One widget per option; what is refused shows why, and goes back to what is in force."""

    def __init__(self, page: Page) -> None:
        """Add it to the panel that is open."""
        self._page = page
        self._gui = page.server.gui
        self._folder = self._gui.add_folder('Tasks', visible=False)
        self._rest = self._gui.add_folder('Options')
        self._widgets: dict[str, Any] = {}
        self._made: list[Any] = []
        self._options: dict[str, Option] = {}
        self._layout: list[tuple[str, str]] = []
        # Value, time from which it counts, and who wants it, by key.
        self._pending: dict[str, tuple[Any, float, Any]] = {}
        self._lock = threading.Lock()

    def describe(self, description: Description) -> None:
        """Follow a description: new widgets for other options, new values for the same."""
        self._options = {option.key: option for option in description.options}
        layout = [(option.key, option.kind) for option in description.options]
        if layout != self._layout:
            self._layout = layout
            self._build(description)
            return
        for option in description.options:
            with self._lock:
                if option.key in self._pending:
                    continue
            self._put_back(option)

    def apply_pending(self) -> None:
        """Ask for the options that somebody has changed and has finished typing."""
        now = time.monotonic()
        with self._lock:
            due = [key for key, (_, since, _) in self._pending.items() if since <= now]
            wanted = [(key, *self._pending.pop(key)) for key in due]
        for key, value, _, client in wanted:
            # Beside the picture, which goes on meanwhile.
            threading.Thread(target=self._apply, args=(key, value, client), daemon=True).start()

    def _apply(self, key: str, value: Any, client: viser.ClientHandle) -> None:
        option = self._options.get(key)
        if option is None or value == option.value:
            return
        if option.kind == 'yaml':
            try:
                value = yaml.safe_load(value)
            except yaml.YAMLError as error:
                client.add_notification(f'{key}: refused', f'is not YAML: {error}', color='red')
                self._put_back(option)
                return
            if value == option.value:
                return
        if not self._page.act(client, 'option', key=key, value=value):
            self._put_back(option)

    def _put_back(self, option: Option) -> None:
        """Show what is in force."""
        widget = self._widgets.get(option.key)
        shown = _shown(option)
        if widget is not None and widget.value != shown:
            widget.value = shown

    # --- widgets ------------------------------------------------------------------------------

    def _build(self, description: Description) -> None:
        for made in self._made:
            made.remove()
        self._made, self._widgets = [], {}
        tasks = [option for option in description.options if SWITCH.match(option.key)]
        with self._folder:
            for option in tasks:
                self._add(option, ' '.join(option.key.split('.')[-2:]))
        self._folder.visible = bool(tasks)
        sections: dict[str, list[Option]] = {}
        for option in description.options:
            if option not in tasks:
                section = option.key.rpartition('.')[0]
                sections.setdefault(section, []).append(option)
        with self._rest:
            for section, options in sections.items():
                folder = self._gui.add_folder(section, expand_by_default=len(sections) < 3)
                self._made.append(folder)
                with folder:
                    for option in options:
                        self._add(option, option.key.rpartition('.')[2])
            if not description.options:
                self._made.append(self._gui.add_markdown('the controller has no options'))

    def _add(self, option: Option, label: str) -> None:
        gui, value = self._gui, _shown(option)
        unit = f' [{option.unit}]' if option.unit else ''
        common: dict[str, Any] = {
            'hint': _hint(option),
            'disabled': bool(option.refusal) or not self._page.may_act,
        }
        low, high = option.minimum, option.maximum
        typed = False
        if option.choices:
            choices = tuple(str(choice) for choice in option.choices)
            widget: Any = gui.add_dropdown(label + unit, choices, initial_value=value, **common)
        elif option.kind == 'bool':
            widget = gui.add_checkbox(label, value, **common)
        elif option.kind in ('int', 'float') and _is_slider(option):
            assert low is not None
            assert high is not None
            number = int if option.kind == 'int' else float
            step = 1 if option.kind == 'int' else _step(low, high)
            widget = gui.add_slider(
                label + unit, number(low), number(high), step, number(value), **common
            )
        elif option.kind in ('int', 'float'):
            # Without bounds: the controller says why it refuses a value.
            widget, typed = gui.add_number(label + unit, value, **common), True
        else:
            widget, typed = gui.add_text(label + unit, value, **common), True
        widget.on_update(lambda event: self._wish(option.key, event, TYPING if typed else 0.0))
        self._widgets[option.key] = widget
        self._made.append(widget)

    def _wish(self, key: str, event: Any, delay: float) -> None:
        if event.client is None:
            return
        value = event.target.value
        option = self._options.get(key)
        if option is not None and option.choices:
            value = next((one for one in option.choices if str(one) == value), value)
        with self._lock:
            self._pending[key] = value, time.monotonic() + delay, event.client


def _shown(option: Option) -> Any:
    """Value as its widget has it."""
    if option.choices:
        return str(option.value)
    if option.kind == 'yaml':
        text: str = yaml.safe_dump(option.value, default_flow_style=True, width=10**9)
        return text.removesuffix('...\n').strip()
    return option.value


def _is_slider(option: Option) -> bool:
    low, high = option.minimum, option.maximum
    return low is not None and high is not None and low < high and low <= option.value <= high


def _step(low: float, high: float) -> float:
    return float(f'{(high - low) / SLIDER_STEPS:.0e}')


def _hint(option: Option) -> str:
    parts = [option.description]
    if option.minimum is not None or option.maximum is not None:
        low = '-∞' if option.minimum is None else f'{option.minimum:g}'
        high = '∞' if option.maximum is None else f'{option.maximum:g}'
        parts.append(f'from {low} to {high} {option.unit}'.rstrip())
    if option.refusal:
        parts.append(option.refusal)
    return '; '.join(part for part in parts if part)
