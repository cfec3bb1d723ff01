"""The floor: reads the mock server's streams and only counts their bytes.

    python -m benchmarks.byte_reader PORT STREAMS REQUESTS BYTES_OF_ONE_ANSWER

No client that looks at what it reads can cost less on this interpreter.
"""

from __future__ import annotations

import select
import socket
import sys

REQUEST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: mock\r\nContent-Length: 2\r\n\r\n{}"


def main(port: int, streams: int, requests: int, length: int) -> None:
    poll = select.epoll()
    socks: dict[int, socket.socket] = {}
    left: dict[int, int] = {}
    for _ in range(streams):
        sock = socket.create_connection(("127.0.0.1", port))
        sock.setblocking(False)
        socks[sock.fileno()] = sock
        left[sock.fileno()] = length
        poll.register(sock, select.EPOLLIN)
        sock.send(REQUEST)
    sent, ended = streams, 0
    while ended < requests:
        for fd, _ in poll.poll():
            left[fd] -= len(socks[fd].recv(65536))
            if left[fd] == 0:
                ended += 1
                if sent < requests:
                    sent += 1
                    left[fd] = length
                    socks[fd].send(REQUEST)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
