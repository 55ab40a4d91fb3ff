"""How robots and runs show themselves in a notebook: tables, pictures and plots."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from cnoid_control.body import Body
from cnoid_control.exceptions import CnoidControlError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Height and width of the pictures [pixel].
PICTURE_SIZE = (330, 440)
LEFT = 'style="text-align:left"'


def html_table(rows: Mapping[str, Any], title: str) -> str:
    """Small table: names and values."""
    cells = ''.join(
        f'<tr><th {LEFT}>{escape(str(key))}</th><td {LEFT}>{escape(_text(value))}</td></tr>'
        for key, value in rows.items()
    )
    return f'<table><caption>{escape(title)}</caption>{cells}</table>'


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f'{value:.6g}'
    if isinstance(value, (list, tuple)) and all(isinstance(one, float) for one in value):
        return ', '.join(f'{one:.4g}' for one in value)
    return str(value)


def html_image(png: bytes | None) -> str:
    """Picture to stand in HTML; nothing of no picture."""
    if png is None:
        return ''
    return f'<img src="data:image/png;base64,{base64.b64encode(png).decode()}"/>'


def side_by_side(*parts: str) -> str:
    """Pieces of HTML in one row."""
    cells = ''.join(f'<div>{part}</div>' for part in parts if part)
    return f'<div style="display:flex;gap:1em;align-items:flex-start">{cells}</div>'


def picture_of(bodies: Sequence[Body], size: tuple[int, int] = (600, 800)) -> np.ndarray:
    """Picture of robots in their present postures, uint8, shape (height, width, 3)."""
    from cnoid_control.hardware.mujoco.picture import draw

    clones = [body.clone() for body in bodies]
    for clone in clones:
        clone.calc_forward_kinematics()
    return draw(clones, size=size)


def draw_bodies(bodies: Sequence[Body]) -> bytes | None:
    """Picture of robots in their present postures, as PNG; None where nothing can draw them."""
    try:
        picture = picture_of(bodies, PICTURE_SIZE)
    except (ImportError, CnoidControlError):
        return None
    from matplotlib.image import imsave

    stream = io.BytesIO()
    imsave(stream, picture, format='png')
    return stream.getvalue()


def png_of_figure(figure: Figure) -> bytes:
    """Plot as PNG."""
    stream = io.BytesIO()
    figure.savefig(stream, format='png', dpi=80)
    return stream.getvalue()


def body_html(body: Body) -> str:
    """Table of a robot's joints, and its picture."""
    head = ('joint', 'type', 'q', 'lower', 'upper', 'velocity', 'effort')
    rows = [f'<tr>{"".join(f"<th {LEFT}>{word}</th>" for word in head)}</tr>']
    for joint in body.joints:
        i = joint.joint_id
        limits = (body.q_lower[i], body.q_upper[i], body.dq_upper[i], body.u_upper[i])
        kind = joint.joint_type.name.lower()
        cells = [joint.joint_name, kind, f'{body.q[i]:.4g}', *map(_limit, limits)]
        rows.append(f'<tr>{"".join(f"<td {LEFT}>{escape(cell)}</td>" for cell in cells)}</tr>')
    base = 'fixed' if body.is_fixed_root else 'floating'
    devices = ', '.join(device.name for device in body.devices)
    title = (
        f'{body.name}: {body.num_joints} joints, {body.num_links} links, {body.mass:.4g} kg, '
        f'{base} base' + (f'; devices: {devices}' if devices else '')
    )
    table = f'<table><caption>{escape(title)}</caption>{"".join(rows)}</table>'
    return side_by_side(html_image(draw_bodies([body])), table)


def _limit(value: float) -> str:
    return f'{value:.4g}' if math.isfinite(value) else ''


def _body_png(body: Body) -> bytes | None:
    return draw_bodies([body])


# The room of the bodies stands below those that draw.
Body._repr_html_ = body_html  # type: ignore[attr-defined]
Body._repr_png_ = _body_png  # type: ignore[attr-defined]
