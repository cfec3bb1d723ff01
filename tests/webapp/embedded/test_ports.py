import socket

from webapp.embedded import ports


def test_the_wanted_port_is_taken_if_it_is_free(free_port: int) -> None:
    assert ports.choose(free_port) == free_port


def test_another_is_found_if_it_is_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        assert not ports.is_free(taken)
        assert ports.is_served(taken)
        other = ports.choose(taken)
    assert other != taken
    assert not ports.is_served(other)
