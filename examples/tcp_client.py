#!/usr/bin/env python3
"""Talks to troupe over its TCP protocol (docs/protocol.md). Prompts given are generated at once, on one connection.

    examples/tcp_client.py "What is an actor?" "Name three colours."

A service with keys (--api-key-file) wants one of them in TROUPE_API_KEY.
"""
import argparse
import itertools
import json
import os
import socket
import struct

HEADER = struct.Struct("!IBQ")  # length of the payload, type, request
HELLO, GENERATE, CANCEL, PING = 0x01, 0x02, 0x03, 0x04
WELCOME, DELTA, FINISHED, PONG, ERROR = 0x81, 0x82, 0x83, 0x84, 0x85


class TroupeError(Exception):
    """The server refused a request, or the connection."""


class Client:
    def __init__(self, host="127.0.0.1", port=7777, timeout=None):
        self.socket = socket.create_connection((host, port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")
        self.numbers = itertools.count(1)
        key = {"api_key": os.environ["TROUPE_API_KEY"]} if os.environ.get("TROUPE_API_KEY") else {}
        self.send(HELLO, 0, {"protocol": 1, **key})
        self.limits = self.receive()[2]  # model, max_model_len, max_frame_bytes, max_streams

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.socket.close()

    def send(self, kind, request=0, message=None):
        payload = b"" if message is None else json.dumps(message).encode()
        self.socket.sendall(HEADER.pack(len(payload), kind, request) + payload)

    def receive(self):
        """The next frame: its type, its request and its payload."""
        header = self.stream.read(HEADER.size)
        if len(header) < HEADER.size:
            raise TroupeError("the server closed the connection")
        length, kind, request = HEADER.unpack(header)
        if kind not in (WELCOME, DELTA, FINISHED, PONG, ERROR):
            raise TroupeError("the server does not speak this protocol: is this its TCP port?")
        payload = self.stream.read(length)
        message = payload if kind == PONG else json.loads(payload)
        if kind == ERROR and request == 0:
            raise TroupeError(message["error"]["message"])
        return kind, request, message

    def generate(self, **fields):
        """Starts a generation with the members of an OpenAI request; returns its number."""
        number = next(self.numbers)
        self.send(GENERATE, number, fields)
        return number

    def cancel(self, number):
        self.send(CANCEL, number)

    def pieces(self, *numbers):
        """Yields (number, text) of these generations until all have finished."""
        running = set(numbers)
        while running:
            kind, number, message = self.receive()
            if number not in running:
                continue
            if kind == DELTA:
                yield number, message["text"]
            elif kind in (FINISHED, ERROR):
                running.discard(number)
                if "error" in message:
                    raise TroupeError(message["error"]["message"])


def ask(prompts, host, port, **sampling):
    """Prints the answers: one as it comes, several one after the other."""
    with Client(host, port) as client:
        answers = {client.generate(messages=[{"role": "user", "content": p}], **sampling): "" for p in prompts}
        for number, text in client.pieces(*answers):
            answers[number] += text
            if len(answers) == 1:
                print(text, end="", flush=True)
        print("" if len(answers) == 1 else "\n\n".join(answers.values()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Generate text over troupe's TCP protocol.",
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("prompts", nargs="+")
    for flag, default in {"--host": "127.0.0.1", "--port": 7777, "--max-tokens": 128, "--temperature": 0.0}.items():
        parser.add_argument(flag, type=type(default), default=default)
    args = parser.parse_args()
    try:
        ask(**vars(args))
    except (OSError, TroupeError) as failure:
        raise SystemExit(f"tcp_client: {args.host}:{args.port}: {failure}")
