"""Files that each reader takes, which a case then spoils."""

import json
import struct

CONFIG = {"model_type": "llama", "vocab_size": 320, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1,
          "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "max_position_embeddings": 4096,
          "tie_word_embeddings": True, "torch_dtype": "float32"}
NORM = "model.norm.weight"  # one of its tensors


def shapes(config=CONFIG):
    d, f, v = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    q, kv = config["num_attention_heads"] * config["head_dim"], config["num_key_value_heads"] * config["head_dim"]
    found = {"model.embed_tokens.weight": [v, d], "model.norm.weight": [d]}
    for layer in range(config["num_hidden_layers"]):
        for name, shape in {"input_layernorm": [d], "post_attention_layernorm": [d], "self_attn.q_proj": [q, d],
                            "self_attn.k_proj": [kv, d], "self_attn.v_proj": [kv, d], "self_attn.o_proj": [d, q],
                            "mlp.gate_proj": [f, d], "mlp.up_proj": [f, d], "mlp.down_proj": [d, f]}.items():
            found[f"model.layers.{layer}.{name}.weight"] = shape
    return found


def product(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def header_of(tensors):
    """name → shape, all F32, one behind the other."""
    header, at = {}, 0
    for name, shape in tensors.items():
        size = 4 * product(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    return header, at


def numbers(count, value=0.01):
    return struct.pack("<f", value) * count


def safetensors(header, data, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def good_weights(config=CONFIG):
    header, size = header_of(shapes(config))
    return header, numbers(size // 4)


def spelled(byte):
    printable = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
    others = [b for b in range(256) if b not in printable]
    return chr(byte) if byte in printable else chr(0x100 + others.index(byte))


SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def tokenizer_json():
    vocab = {spelled(byte): byte for byte in range(256)}
    vocab["ab"] = 256
    added = [{"id": 257 + i, "content": name, "special": True} for i, name in enumerate(SPECIAL)]
    return {"added_tokens": added, "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
            "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": vocab, "merges": ["a b"]}}


def varint(value):
    out = b""
    while True:
        out += bytes([value & 0x7F | (0x80 if value > 0x7F else 0)])
        value >>= 7
        if not value:
            return out


def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def piece(text, score, kind):
    return field(1, field(1, text if isinstance(text, bytes) else text.encode()) + field(2, float(score)) + field(3, kind))


def pieces():
    """(text, score, kind): unknown 2, control 3, byte 6, normal 1."""
    found = [("<unk>", 0, 2)] + [(name, 0, 3) for name in SPECIAL]
    found += [(f"<0x{byte:02X}>", 0, 6) for byte in range(256)]
    return found + [(chr(c), -1, 1) for c in range(ord("a"), ord("z") + 1)] + [("\u2581", -1, 1), ("ab", -1, 1)]


def sentencepiece(more_pieces=(), normalizer=b"", trainer=b"", tail=b""):
    model = b"".join(piece(*one) for one in pieces() + list(more_pieces))
    model += field(2, field(3, 1) + field(35, 1) + trainer)  # unigram, byte fallback
    return model + field(3, field(3, 0) + field(4, 0) + normalizer) + tail


class Folder:
    """A Hugging Face folder, good until a case changes it."""

    def __init__(self, path):
        self.path = path
        path.mkdir(parents=True)
        self.write("config.json", CONFIG)
        self.write("tokenizer.json", tokenizer_json())
        self.write("run.yaml", "run: {steps: 0}\n")
        self.weights(*good_weights())

    def write(self, name, content):
        if not isinstance(content, (bytes, str)):
            content = json.dumps(content)
        (self.path / name).write_bytes(content.encode() if isinstance(content, str) else content)

    def config(self, **more):
        self.write("config.json", CONFIG | more)

    def weights(self, header, data, length=None, name="model.safetensors"):
        self.write(name, safetensors(header, data, length))

    def remove(self, name):
        (self.path / name).unlink()

    def sentencepiece(self, model):
        self.remove("tokenizer.json")
        self.write("tokenizer.model", model)

    def shards(self, where=lambda name, i: i % 2):
        """Two files and their index, which the caller may change."""
        self.remove("model.safetensors")
        parts, total, places = [{}, {}], 0, {}
        for i, (name, shape) in enumerate(shapes().items()):
            parts[where(name, i)][name] = shape
            places[name] = f"part{where(name, i)}.safetensors"
            total += 4 * product(shape)
        for i, part in enumerate(parts):
            header, size = header_of(part)
            self.weights(header, numbers(size // 4), name=f"part{i}.safetensors")
        return {"metadata": {"total_size": total}, "weight_map": places}
