"""viser's server behind a gate."""

from __future__ import annotations

import contextlib
import http.client
import io
import logging
import secrets
import socket
from collections.abc import Iterator
from typing import Any

import viser
import websockets.asyncio.server

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.viewer.gate import Gate, Route, is_loopback

DEFAULT_HOST = '127.0.0.1'
DEFAULT_PORT = 8080
# Ports that are tried where none is asked for.
PORTS = 100


def make_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(16)


def free_port(host: str, port: int) -> int:
    """Port to serve on: the one asked for, or a free one from the usual one on where it is 0.

    Raises:
        CnoidControlError: the address is not of this computer, or the port is taken.
    """
    wanted = [port] if port else range(DEFAULT_PORT, DEFAULT_PORT + PORTS)
    error: OSError | None = None
    for one in wanted:
        try:
            family, kind, *_, address = socket.getaddrinfo(
                host, one, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            with socket.socket(family, kind) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
            return one
        except OSError as caught:
            error = caught
            if isinstance(caught, socket.gaierror):
                break
    assert error is not None
    where = f'{host}:{port}' if port else host
    raise CnoidControlError(f'the view cannot be served on {where}: {error.strerror or error}')


class PageServer(viser.ViserServer):
    """A viser server whose every request passes a gate, and that is never shared elsewhere."""

    def __init__(
        self,
        routes: dict[str, Route],
        host: str = DEFAULT_HOST,
        port: int = 0,
        token: str = '',
        title: str = '',
    ) -> None:
        """Serve.

        Args:
            routes: what is served under /view/ besides.
            host: address to serve on.
            port: port; the first free one from 8080 on where 0.
            token: what who opens the page must know; empty for nothing, which only an address of
                this computer alone may have.
            title: title of the panel.

        Raises:
            CnoidControlError: the address cannot be served on, or would be open to everybody.
        """
        if not token and not is_loopback(host):
            raise CnoidControlError(f'{host} is open to the network: the view needs a token there')
        self._gate_token = token
        # A browser that leaves before it is answered is no error.
        logging.getLogger('websockets.server').setLevel(logging.CRITICAL)
        port = free_port(host, port)
        with _guarded(Gate(token, routes)), contextlib.redirect_stdout(io.StringIO()):
            super().__init__(host=host, port=port, label=title or None, verbose=False)
        self._demand_guard()

    @property
    def url(self) -> str:
        """Address to open in a browser, with the token."""
        host = self.get_host()
        if host in ('0.0.0.0', '::'):
            host = socket.gethostname()
        host = f'[{host}]' if ':' in host else host
        token = f'?token={self._gate_token}' if self._gate_token else ''
        return f'http://{host}:{self.get_port()}/{token}'

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Refuse: a browser could ask for a way in that passes no gate."""
        return None

    def stop(self) -> None:
        """End the server, without a word."""
        with contextlib.redirect_stdout(io.StringIO()):
            super().stop()

    def _demand_guard(self) -> None:
        """See that requests pass the gate: who changes viser may not open it unnoticed.

        Raises:
            CnoidControlError: they do not.
        """
        host = self.get_host()
        local = {'0.0.0.0': '127.0.0.1', '::': '::1'}.get(host, host)
        connection = http.client.HTTPConnection(local, self.get_port(), timeout=10.0)
        try:
            connection.request('GET', '/', headers={'Origin': 'http://elsewhere.invalid'})
            status = connection.getresponse().status
        except OSError as error:
            self.stop()
            raise CnoidControlError(f'the view does not answer: {error}') from error
        finally:
            connection.close()
        if status != http.HTTPStatus.FORBIDDEN:
            self.stop()
            raise CnoidControlError(
                f'viser {viser.__version__} does not let the view look at its requests; '
                'use another version of it'
            )


@contextlib.contextmanager
def _guarded(gate: Gate) -> Iterator[None]:
    """Have the next server that viser starts pass its requests through a gate.

    viser has no place for it: what it calls to serve is replaced meanwhile.
    """
    serve = websockets.asyncio.server.serve

    def guarded(*args: Any, **options: Any) -> Any:
        options['process_request'] = gate.guard(options['process_request'])
        return serve(*args, **options)

    websockets.asyncio.server.serve = guarded  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        websockets.asyncio.server.serve = serve  # type: ignore[misc]
