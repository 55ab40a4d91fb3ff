"""Who may see the page, and the few requests of the page that viser does not serve."""

from __future__ import annotations

import gzip
import hmac
import http
import ipaddress
import json
from collections.abc import Awaitable, Callable
from http.cookies import CookieError, SimpleCookie
from importlib import resources
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

# What answers a request of the page: gets its query, returns what JSON has.
Route = Callable[[dict[str, str]], Awaitable[Any]]
Handler = Callable[[ServerConnection, Request], Any]

# A page of another site cannot send this header without asking first, which is refused.
OWN_HEADER = 'X-Cnoid-View'
SCRIPT = 'overlay.js'
LOCAL_NAMES = ('localhost', '127.0.0.1', '::1')


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this computer alone."""
    if host == 'localhost':
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Gate:
    """Stands before viser's own requests: looks at each, answers some, passes the rest on.

    Where there is a token, every request must bring it: in the address that the page is opened
    with, and from then on in a cookie. Where there is none, the page must be asked for under a
    name of this computer, so that no other site's name can be made to point here. In both cases
    nothing is taken from pages of other sites.
    """

    def __init__(self, token: str, routes: dict[str, Route]) -> None:
        """Take the token, empty for none, and what is served under /view/."""
        self._token = token
        self._routes = routes
        self._page: bytes | None = None

    def guard(self, passed: Handler) -> Handler:
        """Handler of requests that passes those on that may pass."""

        async def handle(connection: ServerConnection, request: Request) -> Response | None:
            refusal = self._refusal(request)
            if refusal is not None:
                return refusal
            path = urlsplit(request.path).path
            if path.startswith('/view/'):
                return await self._answer(path.removeprefix('/view/'), request)
            response = passed(connection, request)
            if path in ('/', '/index.html') and response is not None:
                return self._with_script(response)
            return response

        return handle

    # --- who may ------------------------------------------------------------------------------

    def _refusal(self, request: Request) -> Response | None:
        """Why a request is refused, or where it has to go to; None where it may pass."""
        headers = request.headers
        host = headers.get('Host', '')
        origin = headers.get('Origin')
        if origin is not None and urlsplit(origin).netloc != host:
            return _text(http.HTTPStatus.FORBIDDEN, f'a page of {origin} may not use this one')
        if not self._token:
            if _name_of(host) not in LOCAL_NAMES and not is_loopback(_name_of(host)):
                return _text(http.HTTPStatus.FORBIDDEN, f'{host} is no name of this computer')
            return None
        parts = urlsplit(request.path)
        given = parse_qs(parts.query).get('token', [''])[0]
        if given and self._is_token(given):
            location = Headers({'Location': parts.path or '/', 'Set-Cookie': self._cookie(host)})
            return _respond(http.HTTPStatus.SEE_OTHER, b'', 'text/plain', location)
        if any(self._is_token(value) for value in _cookies(headers, self._cookie_name(host))):
            return None
        return _text(
            http.HTTPStatus.UNAUTHORIZED,
            'this page is opened with its token: http://HOST:PORT/?token=TOKEN, '
            'as the program that serves it has printed it',
        )

    def _is_token(self, value: str) -> bool:
        return hmac.compare_digest(value.encode(), self._token.encode())

    @staticmethod
    def _cookie_name(host: str) -> str:
        # Cookies know no ports: two pages of one computer must not share one.
        return f'cnoid_view_{host.rpartition(":")[2]}'

    def _cookie(self, host: str) -> str:
        return f'{self._cookie_name(host)}={self._token}; Path=/; HttpOnly; SameSite=Lax'

    # --- what is served besides ---------------------------------------------------------------

    async def _answer(self, name: str, request: Request) -> Response:
        if name == SCRIPT:
            script = resources.files(__package__).joinpath(SCRIPT).read_bytes()
            return _respond(http.HTTPStatus.OK, script, 'application/javascript')
        route = self._routes.get(name)
        if route is None:
            return _text(http.HTTPStatus.NOT_FOUND, f'there is no /view/{name}')
        if OWN_HEADER not in request.headers:
            return _text(http.HTTPStatus.FORBIDDEN, f'the header {OWN_HEADER} is missing')
        query = {key: values[-1] for key, values in parse_qs(urlsplit(request.path).query).items()}
        try:
            answer = await route(query)
        except ValueError as error:
            return _text(http.HTTPStatus.BAD_REQUEST, str(error))
        return _respond(http.HTTPStatus.OK, json.dumps(answer).encode(), 'application/json')

    def _with_script(self, response: Response) -> Response:
        """Page of viser with the script of this package in it."""
        if response.status_code != http.HTTPStatus.OK:
            return response
        if self._page is None:
            body = bytes(response.body or b'')
            if response.headers.get('Content-Encoding') == 'gzip':
                body = gzip.decompress(body)
            tag = f'<script defer src="/view/{SCRIPT}"></script></head>'.encode()
            self._page = body.replace(b'</head>', tag, 1)
        return _respond(http.HTTPStatus.OK, self._page, 'text/html; charset=utf-8')


def _name_of(host: str) -> str:
    """Name in a Host header, without the port."""
    return urlsplit(f'//{host}').hostname or ''


def _cookies(headers: Headers, name: str) -> list[str]:
    found = []
    for line in headers.get_all('Cookie'):
        try:
            jar = SimpleCookie(line)
        except CookieError:
            continue
        if name in jar:
            found.append(jar[name].value)
    return found


def _text(status: http.HTTPStatus, text: str) -> Response:
    return _respond(status, text.encode(), 'text/plain; charset=utf-8')


def _respond(
    status: http.HTTPStatus, body: bytes, kind: str, more: Headers | None = None
) -> Response:
    headers = Headers(
        {
            'Content-Type': kind,
            'Content-Length': str(len(body)),
            'Cache-Control': 'no-store',
            'X-Frame-Options': 'DENY',
            'Referrer-Policy': 'no-referrer',
        }
    )
    if more is not None:
        headers.update(more)
    return Response(status.value, status.phrase, headers, body)
