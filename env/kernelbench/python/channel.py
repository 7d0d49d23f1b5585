"""One end of the broker's socket: frames of one JSON object each, and descriptors that go along."""
import json
import select
import socket

from frames import frame, read_frame


class Channel:
    def __init__(self, descriptor):
        self.socket = socket.socket(fileno=descriptor)

    def receive(self):
        """The next message, or None at the end."""
        data = read_frame(self.socket.recv)
        return None if data is None else json.loads(data)

    def send(self, message, descriptors=()):
        """The descriptors go with the frame's first byte."""
        data = frame(json.dumps(message).encode())
        if descriptors:
            sent = socket.send_fds(self.socket, [data], list(descriptors))
            data = data[sent:]
        self.socket.sendall(data)

    def receive_with_descriptors(self, most=1):
        """(message, descriptors), for the other end. The message is None at the end."""
        found = []

        def receive(count):
            data, descriptors, _, _ = socket.recv_fds(self.socket, count, most)
            found.extend(descriptors)
            return data

        data = read_frame(receive)
        return (None if data is None else json.loads(data)), found

    def hung_up(self):
        """Whether the other end is gone."""
        poll = select.poll()
        poll.register(self.socket, select.POLLRDHUP)
        return bool(poll.poll(0))
