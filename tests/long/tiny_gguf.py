# SPDX-License-Identifier: MIT
"""tiny_gguf.py FILE: a language model of two layers and random weights, for llama.cpp (GGUF 3)."""
import random
import struct
import sys

EMBEDDING, HEADS, FEED_FORWARD, VOCABULARY, LAYERS = 256, 4, 512, 300, 2
UINT32, INT32, FLOAT32, STRING, ARRAY = 4, 5, 6, 8, 9
F32, F16 = 0, 1
UNKNOWN, CONTROL, NORMAL, BYTE = 2, 3, 1, 6
ALIGNMENT = 32


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind, v):
    if kind == STRING:
        return string(v)
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f"}[kind], v)


def setting(name, kind, v):
    return string(name) + struct.pack("<I", kind) + value(kind, v)


def settings_array(name, kind, values):
    head = string(name) + struct.pack("<IIQ", ARRAY, kind, len(values))
    return head + b"".join(value(kind, v) for v in values)


def settings():
    names = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
    kinds = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256
    names += [f"t{i}" for i in range(VOCABULARY - len(names))]
    kinds += [NORMAL] * (VOCABULARY - len(kinds))
    return [
        setting("general.architecture", STRING, "llama"),
        setting("general.name", STRING, "tiny"),
        setting("llama.context_length", UINT32, 512),
        setting("llama.embedding_length", UINT32, EMBEDDING),
        setting("llama.block_count", UINT32, LAYERS),
        setting("llama.feed_forward_length", UINT32, FEED_FORWARD),
        setting("llama.attention.head_count", UINT32, HEADS),
        setting("llama.attention.head_count_kv", UINT32, HEADS),
        setting("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
        setting("llama.rope.dimension_count", UINT32, EMBEDDING // HEADS),
        setting("llama.vocab_size", UINT32, VOCABULARY),
        setting("tokenizer.ggml.model", STRING, "llama"),
        settings_array("tokenizer.ggml.tokens", STRING, names),
        settings_array("tokenizer.ggml.scores", FLOAT32, [0.0] * VOCABULARY),
        settings_array("tokenizer.ggml.token_type", INT32, kinds),
        setting("tokenizer.ggml.bos_token_id", UINT32, 1),
        setting("tokenizer.ggml.eos_token_id", UINT32, 2),
        setting("tokenizer.ggml.unknown_token_id", UINT32, 0),
    ]


def shapes():
    yield "token_embd.weight", (EMBEDDING, VOCABULARY)
    yield "output_norm.weight", (EMBEDDING,)
    yield "output.weight", (EMBEDDING, VOCABULARY)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        yield block + "attn_norm.weight", (EMBEDDING,)
        yield block + "ffn_norm.weight", (EMBEDDING,)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield block + name + ".weight", (EMBEDDING, EMBEDDING)
        yield block + "ffn_gate.weight", (EMBEDDING, FEED_FORWARD)
        yield block + "ffn_up.weight", (EMBEDDING, FEED_FORWARD)
        yield block + "ffn_down.weight", (FEED_FORWARD, EMBEDDING)


def weights(shape):
    if len(shape) == 1:
        return F32, struct.pack(f"<{shape[0]}f", *[1.0] * shape[0])
    n = shape[0] * shape[1]
    return F16, struct.pack(f"<{n}e", *(random.gauss(0, 0.02) for _ in range(n)))


def padded(data):
    return data + bytes(-len(data) % ALIGNMENT)


def main():
    random.seed(1)
    infos, blobs, offset = [], [], 0
    for name, shape in shapes():
        kind, data = weights(shape)
        dimensions = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        infos.append(string(name) + dimensions + struct.pack("<IQ", kind, offset))
        blobs.append(padded(data))
        offset += len(blobs[-1])
    entries = settings()
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(entries))
    with open(sys.argv[1], "wb") as file:
        file.write(padded(head + b"".join(entries) + b"".join(infos)) + b"".join(blobs))


main()
