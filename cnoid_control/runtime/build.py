"""Builds the robot, the controllers and the loop that a configuration describes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TextIO

from cnoid_control.body import Body
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.hardware.hardware import Hardware
from cnoid_control.hardware.registry import create_hardware
from cnoid_control.parameters import not_allowed
from cnoid_control.plugin import SimpleController
from cnoid_control.plugin.options import check_options
from cnoid_control.plugin.registry import find_controller
from cnoid_control.runtime.config import OtherController, RunConfig
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.defaults import make_robot
from cnoid_control.runtime.exceptions import ControllerRaised
from cnoid_control.runtime.loop import ControlLoop, TickRecorder
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.runtime.safety.enabling_switch import EnableParameters, EnablingSwitch
from cnoid_control.runtime.safety.fallback import Fallback
from cnoid_control.runtime.safety.limits import CommandLimiter, LimitsParameters
from cnoid_control.runtime.safety.safe_state import SafeState, SafeStateParameters
from cnoid_control.runtime.safety.watchdog import Trip, Watchdog, WatchdogParameters
from cnoid_control.runtime.trace import TickTrace


def make_controllers(
    config: RunConfig, main_controller: SimpleController | None = None
) -> list[ManagedController]:
    """Controllers of a configuration with their sub-controllers attached.

    Args:
        config: the configuration.
        main_controller: what stands for `controller`, where that is not to be made by its name.

    Raises:
        ControllerError: a controller cannot be found or loaded.
        ParameterError: an option is wrong.
        ControllerRaised: a controller cannot be made.
        CnoidControlError: a sub-controller's parent does not exist.
    """
    main = config.controller_name
    types: dict[str, str] = {main: config.controller_type}
    others = config.parameters.other_controllers
    if main in others:
        raise not_allowed('other_controllers', main, 'it is the main controller')
    types |= {name: other.type or name for name, other in others.items()}
    managed = {
        name: ManagedController(
            name,
            main_controller
            if main_controller is not None and name == main
            else _make_instance(name, find_controller(type_, config.folder)),
            config.options.get(name, {}),
            folder=config.folder,
            allows_scripts=config.allows_scripts,
        )
        for name, type_ in types.items()
    }
    for name, options in config.options.items():
        if name not in managed:
            # It waits for a swap, where a mistake would be found too late.
            kind = find_controller(config.type_of(name), config.folder)
            check_options(name, kind, options, config.folder)
    for name in config.parameters.standby:
        find_controller(config.type_of(name), config.folder)
    top = [managed[main]]
    for name, other in others.items():
        if not other.parent:
            top.append(managed[name])
        elif other.parent in managed and not _is_own_ancestor(name, others):
            managed[other.parent].children.append(managed[name])
        else:
            known = [key for key in managed if key != name]
            raise CnoidControlError(
                f'sub-controller {name!r} has parent {other.parent!r}, which does not exist or is '
                f'below it; {choices(known)}'
            )
    return top


def _is_own_ancestor(name: str, others: Mapping[str, OtherController]) -> bool:
    """Whether a controller is its own ancestor."""
    parent = others[name].parent
    for _ in others:
        if parent == name:
            return True
        parent = others[parent].parent if parent in others else ''
    return False


def _make_instance(name: str, controller: type[SimpleController]) -> SimpleController:
    try:
        return controller()
    except (Exception, SystemExit) as error:
        raise ControllerRaised(name, '__init__', None, error) from error


def fallback_maker(
    config: RunConfig, body: Body, os: TextIO | None = None
) -> Callable[[], ControllerHost] | None:
    """What makes the controller that commands in the safe state; None where there is none.

    Args:
        config: the configuration.
        body: body of the hardware.
        os: stream for messages; the standard error where None.
    """
    given = config.parameters
    if not given.safe_state.fallback:
        return None
    wanted = replace(given, controller=given.safe_state.fallback, other_controllers={})
    changed = replace(config, parameters=wanted)
    return lambda: ControllerHost(make_controllers(changed), body, config.time_step, os)


@dataclass
class LoopReports:
    """Whom a loop tells what it finds.

    Attributes:
        os: stream for messages of the loop, the host and the controllers; the standard error
            where None.
        trip: told what the watchdog finds; it is written to the stream where None.
        safe_state: told why the safe state engages; it is written to the stream where None.
    """

    os: TextIO | None = None
    trip: Callable[[Trip], None] | None = None
    safe_state: Callable[[str], None] | None = None


def make_loop(
    config: RunConfig,
    hardware: Hardware | None = None,
    os: TextIO | None = None,
    detailed_trace: bool = False,
    reports: LoopReports | None = None,
    watches_subscribers: bool = False,
    watches_clock: bool = False,
    controllers: list[ManagedController] | None = None,
) -> ControlLoop:
    """The whole loop of a configuration, ready to run.

    Args:
        config: the configuration.
        hardware: the robot; made from the configuration where None.
        os: stream for messages; the standard error where None.
        detailed_trace: whether the trace holds what plots need.
        reports: whom the loop tells what it finds; the stream where None.
        watches_subscribers: whether somebody tells the watchdog who receives the commands.
        watches_clock: whether somebody tells the watchdog of the simulator's clock.
        controllers: the controllers; made from the configuration where None.

    Raises:
        CnoidControlError: the configuration is wrong, or the robot cannot be had.
    """
    reports = reports or LoopReports(os)
    if controllers is None:
        controllers = make_controllers(config)
    given = config.parameters
    made = hardware is None
    if hardware is None:
        body = make_robot(given.robot, config.folder, config.time_step)
        hardware = create_hardware(
            config.hardware_type,
            body,
            config.hardware_parameters,
            config.time_step,
            given.devices,
        )
    try:
        host = ControllerHost(
            controllers, hardware.body, hardware.time_step, reports.os, given.strict
        )
        return wire_loop(
            hardware,
            host,
            watchdog=given.watchdog,
            safe_state=given.safe_state,
            limits=given.limits,
            scale=given.scale,
            enable=given.enable,
            on_fault=given.on_fault,
            make_fallback=fallback_maker(config, hardware.body, reports.os),
            trace=TickTrace(hardware.body, detailed_trace),
            active_control_only=given.active_control_only,
            require_commands=given.require_commands,
            reports=reports,
            watches_subscribers=watches_subscribers,
            watches_clock=watches_clock,
        )
    except Exception:
        if made:
            hardware.close()
        raise


def wire_loop(
    hardware: Hardware,
    host: ControllerHost,
    *,
    watchdog: WatchdogParameters | None = None,
    safe_state: SafeStateParameters | None = None,
    limits: LimitsParameters | None = None,
    scale: float = 1.0,
    enable: EnableParameters | None = None,
    on_fault: str = '',
    make_fallback: Callable[[], ControllerHost] | None = None,
    trace: TickTrace | None = None,
    recorder: TickRecorder | None = None,
    active_control_only: bool = True,
    require_commands: bool = True,
    reports: LoopReports | None = None,
    watches_subscribers: bool = False,
    watches_clock: bool = False,
) -> ControlLoop:
    """Loop of a robot and its controllers, with everything that keeps the robot safe.

    Args:
        hardware: the robot.
        host: the controllers.
        watchdog: the `watchdog` section.
        safe_state: the `safe_state` section.
        limits: the `limits` section.
        scale: share of speed and gain that the controllers have.
        enable: the `enable` section.
        on_fault: 'hold' or 'fail'; where empty, 'fail' in a simulation in this process.
        make_fallback: makes the controller that commands in the safe state, if any does.
        trace: where each tick is noted for statistics and plots, if anywhere.
        recorder: where each tick is noted for a log file, if anywhere.
        active_control_only: whether the run ends when every controller returns False in a tick.
        require_commands: whether a run in which no controller commands anything has failed.
        reports: whom the loop tells what it finds.
        watches_subscribers: whether somebody tells the watchdog who receives the commands.
        watches_clock: whether somebody tells the watchdog of the simulator's clock.

    Raises:
        ParameterError: a limit is for a joint that does not exist.
    """
    body, dt = hardware.body, hardware.time_step
    given = safe_state or SafeStateParameters()
    told = reports or LoopReports(host.os)
    limiter = CommandLimiter(body, limits or LimitsParameters(), dt, scale)
    clock = (lambda: hardware.time) if hardware.is_simulated else time.monotonic
    switch = EnablingSwitch(enable, body, dt, clock) if enable and enable.topic else None
    held = SafeState(
        body,
        given,
        dt,
        told.safe_state or (lambda why: print(_tell_safe_state(held, why), file=host.os)),
        limiter.limits,
    )
    return ControlLoop(
        hardware,
        host,
        Watchdog(
            watchdog or WatchdogParameters(),
            told.trip or (lambda trip: print(f'warning: {trip.message}', file=host.os)),
            clock,
        ),
        held,
        limiter,
        on_fault=on_fault or ('fail' if hardware.is_simulated else 'hold'),
        fallback=(
            None
            if make_fallback is None
            else Fallback(make_fallback, body, dt, given.resume_blend_time)
        ),
        enabling=switch,
        trace=trace,
        recorder=recorder,
        active_control_only=active_control_only,
        require_commands=require_commands,
        watches_subscribers=watches_subscribers,
        watches_clock=watches_clock,
    )


def _tell_safe_state(safe_state: SafeState, reason: str) -> str:
    level = '' if safe_state.is_expected else 'error: '
    return f'{level}safe state: {reason}'
