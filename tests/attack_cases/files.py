"""Attacks by what is no regular file, and by the index of several files of weights."""

import json
import os

from .case import EXPORT, TOKENIZE, case
from .good_files import NORM, header_of, numbers, shapes


def file_cases():
    def instead(name, of, words, make):
        @case(f"{of}: {name}", words, command=TOKENIZE if of.startswith("tokenizer") else EXPORT)
        def _(folder):
            if (folder.path / of).exists():
                folder.remove(of)
            make(folder.path / of)

    for of in ("model.safetensors", "config.json", "tokenizer.json", "tokenizer.model"):
        instead("is a folder", of, "not a regular file", lambda path: path.mkdir())
        instead("is a FIFO", of, "not a regular file", lambda path: os.mkfifo(path))
        instead("is /dev/zero", of, "not a regular file", lambda path: path.symlink_to("/dev/zero"))
        instead("is a symlink to itself", of, "symbolic links", lambda path: path.symlink_to(path))
    for of in ("model.safetensors", "config.json", "tokenizer.json"):
        instead("points to nothing", of, "no such file|holds neither", lambda path: path.symlink_to("nowhere"))

    @case("model.safetensors: is a symlink, as in Hugging Face's cache", "parameters", code=0)
    def _(folder):
        blobs = folder.path / "blobs"
        blobs.mkdir()
        (folder.path / "model.safetensors").rename(blobs / "0123")
        (folder.path / "model.safetensors").symlink_to("blobs/0123")


def index(name, words, change, code=2):
    @case(f"index: {name}", words, code=code)
    def _(folder):
        given = folder.shards()
        folder.write("model.safetensors.index.json", change(given, folder) or given)


def map_cases():
    index("two files", "parameters", lambda given, folder: None, code=0)
    for place in ("../part0.safetensors", "/etc/passwd", "..", ".", "", "sub/part0.safetensors"):
        index(f"names {place!r}", "not a file of this directory",
              lambda given, folder, place=place: given["weight_map"].update({NORM: place}))
    index("names a number", "not a file", lambda given, folder: given["weight_map"].update({NORM: 3}))
    index("names a list", "not in a file", lambda given, folder: given["weight_map"].update({NORM: ["part0.safetensors"]}))
    index("names a file that is not there", "no such file",
          lambda given, folder: given["weight_map"].update({NORM: "part2.safetensors"}))
    index("a NUL in the name of a file", r"NUL|no such file|not a file",
          lambda given, folder: given["weight_map"].update({NORM: "part0\0.safetensors"}))
    index("names the wrong file", "is missing, although",
          lambda given, folder: given["weight_map"].update({NORM: "part0.safetensors" if given["weight_map"][NORM].startswith(
              "part1") else "part1.safetensors"}))
    index("lists a tensor that is nowhere", "is missing, although",
          lambda given, folder: given["weight_map"].update({"nowhere": "part0.safetensors"}))
    index("does not list a tensor", "does not list it", lambda given, folder: given["weight_map"].pop(NORM) and None)


def index_cases():
    index("a total that is wrong", "total_size is", lambda given, folder: given["metadata"].update({"total_size": 17}))
    index("a total of 1e300", "total_size is", lambda given, folder: given["metadata"].update({"total_size": 1e300}))
    index("a total that is a text", "total_size is", lambda given, folder: given["metadata"].update({"total_size": "x"}))
    index("no total", "parameters", lambda given, folder: given.pop("metadata") and None, code=0)
    index("no map", "has no weight_map", lambda given, folder: given.pop("weight_map") and None)
    index("a map that is a list", "has no weight_map", lambda given, folder: given.update({"weight_map": []}))
    index("a map of nothing", "cannot hold", lambda given, folder: given.update({"weight_map": {}}))
    index("a tensor twice", "twice",
          lambda given, folder: json.dumps(given).replace('"weight_map": {', '"weight_map": {"' + NORM + '": "part0.safetensors", '))
    index("the map twice", "twice", lambda given, folder: json.dumps(given)[:-1] + ', "weight_map": {}}')
    index("is a list", "not a JSON object", lambda given, folder: "[1]")
    index("90 MB of [", "not a JSON object|deep", lambda given, folder: b"[" * 90_000_000)
    index("2 million names", "more than 1048576 tensors|not one of this model's", lambda given, folder: '{"weight_map": {' + ",".join(
        f'"{i}":"part0.safetensors"' for i in range(2_000_000)) + "}}")
    index("a byte order mark", "byte order mark", lambda given, folder: b"\xef\xbb\xbf" + json.dumps(given).encode())


def shard_cases():
    @case("index: a tensor in two files", "is in part0.safetensors too")
    def _(folder):
        given = folder.shards()
        header, size = header_of({NORM: [16], **{name: shape for name, shape in shapes().items()
                                                 if given["weight_map"][name] == "part1.safetensors"}})
        folder.weights(header, numbers(size // 4), name="part1.safetensors")
        first, size = header_of({NORM: [16], **{name: shape for name, shape in shapes().items()
                                                if given["weight_map"][name] == "part0.safetensors"}})
        folder.weights(first, numbers(size // 4), name="part0.safetensors")
        folder.write("model.safetensors.index.json", given)

    @case("index: a file is missing", "no such file")
    def _(folder):
        folder.write("model.safetensors.index.json", folder.shards())
        folder.remove("part1.safetensors")
