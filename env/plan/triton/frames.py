"""Frames on a stream: a length of 4 bytes, little-endian, and that many bytes."""
import json
import struct

MAX_JSON_BYTES = 16 << 20  # of a child's reply; what lies beyond is no plan of a candidate


def frame(data):
    return struct.pack("<I", len(data)) + data


def read_exactly(read, count):
    """`count` bytes, or None where the stream ends before the first."""
    parts = []
    while count:
        part = read(count)
        if not part:
            if parts:
                raise EOFError("the stream ends within a frame")
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def read_frame(read):
    """The next frame, or None at the end."""
    head = read_exactly(read, 4)
    if head is None:
        return None
    data = read_exactly(read, struct.unpack("<I", head)[0]) if head != b"\0\0\0\0" else b""
    if data is None:
        raise EOFError("the stream ends within a frame")
    return data


def split_frames(data):
    """The frames that these bytes consist of. Errors: ValueError where they are not whole frames."""
    frames, at = [], 0
    while at < len(data):
        if at + 4 > len(data):
            raise ValueError("a length is cut off")
        end = at + 4 + struct.unpack_from("<I", data, at)[0]
        if end > len(data):
            raise ValueError("a frame is cut off")
        frames.append(data[at + 4:end])
        at = end
    return frames


def read_reply(data):
    """A child's bytes as (reply, cubins). The child's word is taken for nothing but how many frames there are.

    Errors: ValueError where the bytes are not one reply.
    """
    frames = split_frames(data)
    if not frames or len(frames[0]) > MAX_JSON_BYTES:
        raise ValueError("no reply, or one of too many bytes")
    try:
        reply = json.loads(frames[0])
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(reply, dict):
        raise ValueError("no object")
    cubins, told = frames[1:], reply.get("cubins") if reply.get("status") == "ok" else 0
    if type(told) is not int or told != len(cubins):
        raise ValueError("other frames than the reply says")
    return reply, cubins
