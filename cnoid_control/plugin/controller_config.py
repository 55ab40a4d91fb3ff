"""What a controller gets in configure, before there is a run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, TextIO

from cnoid_control.body import Body
from cnoid_control.plugin.option_string import (
    format_option_string,
    parse_option_string,
    split_options,
)


class ControllerConfig:
    """The controller's name, options and target, for `SimpleController.configure`.

    Attributes:
        controller_name: name of this controller in the run.
        body: the robot's model; not the body that is read and commanded in a run.
        option_string: the options as one line of text.
        parameters: the options as a checked instance of the controller's `Parameters`; None for a
            controller that declares none.
        os: stream for the controller's messages.
    """

    def __init__(
        self,
        controller_name: str,
        body: Body,
        options: str | Mapping[str, Any] = '',
        parameters: Any = None,
        os: TextIO | None = None,
    ) -> None:
        """Collect it; options given as a mapping become a line of YAML."""
        self.controller_name = controller_name
        self.body = body
        self.option_string = options if isinstance(options, str) else format_option_string(options)
        self.parameters = parameters
        self.os: TextIO = os if os is not None else sys.stderr

    @property
    def options(self) -> list[str]:
        """The option string split at spaces, with quotes and backslashes resolved."""
        return split_options(self.option_string)

    @property
    def structured_options(self) -> dict[str, Any] | None:
        """The option string as a YAML mapping; None, with a message on `os`, where it is none."""
        try:
            return parse_option_string(self.option_string)
        except ValueError as error:
            print(f'{self.controller_name}: {error}', file=self.os)
            return None
