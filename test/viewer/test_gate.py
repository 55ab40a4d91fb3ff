"""Who may see the page."""

from __future__ import annotations

import http.client
import socket
from urllib.parse import urlsplit

import pytest

pytest.importorskip('viser')

import websockets.sync.client
from websockets.exceptions import InvalidStatus

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.viewer.gate import OWN_HEADER
from cnoid_control.viewer.server import PageServer, free_port, make_token

TOKEN = 'abcdefgh1234'


async def state(query: dict[str, str]) -> dict[str, str]:
    """Answer with the question."""
    return query


@pytest.fixture(params=['', TOKEN])
def server(request):
    """Return a server without and with a token."""
    made = PageServer({'state': state}, token=request.param)
    made.given = request.param
    yield made
    made.stop()


def get(server: PageServer, path: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    """Return status, body and headers of an answer."""
    connection = http.client.HTTPConnection('127.0.0.1', server.get_port(), timeout=20)
    connection.request('GET', path, headers={k.replace('_', '-'): v for k, v in headers.items()})
    answer = connection.getresponse()
    result = answer.status, answer.read(), dict(answer.getheaders())
    connection.close()
    return result


def cookie(server: PageServer) -> dict[str, str]:
    """Return what a browser brings that was let in."""
    if not server.given:
        return {}
    status, _, headers = get(server, f'/?token={server.given}')
    assert status == 303
    assert headers['Location'] == '/'
    assert 'HttpOnly' in headers['Set-Cookie']
    return {'Cookie': headers['Set-Cookie'].split(';')[0]}


def test_the_page_has_the_script(server):
    """The page of viser comes with the script of the package, which is served too."""
    known = cookie(server)
    status, body, _ = get(server, '/', **known)
    assert status == 200
    assert b'/view/overlay.js' in body
    status, body, headers = get(server, '/view/overlay.js', **known)
    assert status == 200
    assert b'E-STOP' in body
    assert headers['Content-Type'] == 'application/javascript'


def test_without_the_token_nothing_is_served():
    """Neither page nor script nor state nor the websocket, whatever token is brought instead."""
    server = PageServer({'state': state}, token=TOKEN)
    try:
        port = server.get_port()
        wrong = {'Cookie': f'cnoid_view_{port}=guessed1'}
        for path in ('/', '/view/overlay.js', '/view/state', '/?token=guessed1', '/?token='):
            for given in ({}, wrong):
                assert get(server, path, X_Cnoid_View='1', **given)[0] == 401
        with pytest.raises(InvalidStatus) as refused:
            websockets.sync.client.connect(f'ws://127.0.0.1:{port}/', additional_headers=wrong)
        assert refused.value.response.status_code == 401
    finally:
        server.stop()


def test_the_websocket_opens_for_who_was_let_in(server):
    """With the cookie, and from a page of the same server."""
    origin = f'http://127.0.0.1:{server.get_port()}'
    with websockets.sync.client.connect(
        origin.replace('http', 'ws'), additional_headers={'Origin': origin, **cookie(server)}
    ):
        pass


def test_pages_of_others_are_refused(server):
    """A page of another site opens no websocket and gets no state, though the browser has it."""
    known = cookie(server)
    status, body, _ = get(server, '/view/state', Origin='http://evil.invalid', **known)
    assert status == 403
    assert b'evil.invalid' in body
    with pytest.raises(InvalidStatus) as refused:
        websockets.sync.client.connect(
            f'ws://127.0.0.1:{server.get_port()}/',
            additional_headers={'Origin': 'http://evil.invalid', **known},
        )
    assert refused.value.response.status_code == 403


def test_a_request_of_its_own_has_the_header(server):
    """An image or a link of another page cannot act: it has no header."""
    known = cookie(server)
    assert get(server, '/view/state', **known)[0] == 403
    status, body, _ = get(server, '/view/state?a=1', X_Cnoid_View='1', **known)
    assert (status, body) == (200, b'{"a": "1"}')
    assert OWN_HEADER == 'X-Cnoid-View'


def test_another_name_of_this_computer_is_refused():
    """A name that somebody has made to point here is no name of this computer."""
    server = PageServer({'state': state})
    try:
        connection = http.client.HTTPConnection('127.0.0.1', server.get_port(), timeout=20)
        connection.putrequest('GET', '/', skip_host=True)
        connection.putheader('Host', f'evil.invalid:{server.get_port()}')
        connection.endheaders()
        assert connection.getresponse().status == 403
        connection.close()
    finally:
        server.stop()


def test_the_network_needs_a_token():
    """An address that others reach is refused without one."""
    with pytest.raises(CnoidControlError, match='needs a token'):
        PageServer({}, host='0.0.0.0')


def test_nothing_is_shared_elsewhere(server):
    """A browser that asks viser for a public address gets none."""
    assert server.request_share_url() is None


def test_the_address_says_the_token(server):
    """Whoever is given the address gets in."""
    parts = urlsplit(server.url)
    assert parts.port == server.get_port()
    assert parts.query == (f'token={server.given}' if server.given else '')


def test_a_port_that_is_taken_is_refused():
    """By its number; without one, another is found."""
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CnoidControlError, match=rf'127.0.0.1:{port}: Address already in use'):
            free_port('127.0.0.1', port)
    assert free_port('127.0.0.1', 0) >= 8080
    with pytest.raises(CnoidControlError, match=r'nowhere\.invalid'):
        free_port('nowhere.invalid', 0)


def test_tokens_differ():
    """Each is made anew."""
    assert make_token() != make_token()
