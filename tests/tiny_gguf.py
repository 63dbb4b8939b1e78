# pyright: basic
"""A tiny model is a llama of random weights, written from nothing, whose tokens are bytes.

It knows nothing, so it is no judge; but a llama.cpp server treats it as any other model: tokenizer, chat template,
schema grammar, log-probabilities and prompt cache are all real.
"""

from pathlib import Path

import gguf
import numpy as np

WIDTH, LAYERS, HEADS = 64, 1, 1  # a head of 64 numbers is six times as fast as four of 16
CONTEXT = 131_072
WORDS = ("true", "false", "null", "yes", "no", "undetermined", "not_applicable")
START, BEGIN, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

# The first number of every embedding is the same constant, so the first column of the output matrix is what llama has
# not: a bias for each token. Bytes that are not printable ASCII must never come out, or a string is not UTF-8; nor
# backslashes, which may begin half a surrogate pair.
CONSTANT = 4.0
NEVER, RARELY, WHOLE_WORD = -4.0, -0.8, 0.3
READILY = {'"': 0.9, "]": 0.1, "}": 0.1}
PRINTABLE = {*range(32, 127), ord("\n"), ord("\t")} - {ord("\\")}


def write_tiny_gguf(path: Path) -> None:
    letters = _letters()
    tokens, merges = _vocabulary(letters)
    writer = gguf.GGUFWriter(path, "llama")
    _write_shape(writer, len(tokens) + 3)
    _write_tokenizer(writer, tokens, merges)
    _write_tensors(writer, tokens, letters)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _letters() -> list[str]:
    """The character that stands for each byte in a GPT-2 vocabulary: itself if it can be seen, else one past 255."""
    seen = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    unseen = iter(range(0x100, 0x200))
    return [chr(byte) if byte in seen else chr(next(unseen)) for byte in range(256)]


def _vocabulary(letters: list[str]) -> tuple[list[str], list[str]]:
    """All bytes, and the words that verdicts are made of, merged from left to right."""
    tokens, merges = dict.fromkeys(letters), dict[str, None]()
    for word in WORDS:
        whole = word[0]
        for letter in word[1:]:
            merges[f"{whole} {letter}"] = None
            whole += letter
            tokens[whole] = None
    return list(tokens), list(merges)


def _write_shape(writer: gguf.GGUFWriter, vocabulary: int) -> None:
    writer.add_name("tiny")
    writer.add_vocab_size(vocabulary)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)


def _write_tokenizer(writer: gguf.GGUFWriter, tokens: list[str], merges: list[str]) -> None:
    start, end = len(tokens), len(tokens) + 2
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([*tokens, START, BEGIN, END])
    writer.add_token_types([gguf.TokenType.NORMAL] * len(tokens) + [gguf.TokenType.CONTROL] * 3)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(start)
    writer.add_unk_token_id(start)
    writer.add_eos_token_id(end)
    writer.add_eot_token_id(end)
    writer.add_pad_token_id(end)
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)


def _write_tensors(writer: gguf.GGUFWriter, tokens: list[str], letters: list[str]) -> None:
    random = np.random.default_rng(0)
    vocabulary = len(tokens) + 3

    def normal(*shape: int, scale: float = 0.2) -> np.ndarray:
        return (random.standard_normal(shape) * scale).astype(np.float16)

    embedding, output = normal(vocabulary, WIDTH), normal(vocabulary, WIDTH, scale=0.1)
    embedding[:, 0] = CONSTANT
    output[:, 0] = 0.0
    output[: len(tokens), 0] = [_bias(token, letters) for token in tokens]
    quote = tokens.index('"')
    output[quote, 1:] -= embedding[quote, 1:]  # no quote after a quote, so that strings are not all empty
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output.weight", output)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for layer in range(LAYERS):
        name = f"blk.{layer}.{{}}.weight".format
        writer.add_tensor(name("attn_norm"), np.ones(WIDTH, np.float32))
        writer.add_tensor(name("ffn_norm"), np.ones(WIDTH, np.float32))
        for part in ("attn_q", "attn_k", "attn_v"):
            writer.add_tensor(name(part), normal(WIDTH, WIDTH))
        writer.add_tensor(name("attn_output"), normal(WIDTH, WIDTH, scale=0.02))
        writer.add_tensor(name("ffn_gate"), normal(2 * WIDTH, WIDTH))
        writer.add_tensor(name("ffn_up"), normal(2 * WIDTH, WIDTH))
        writer.add_tensor(name("ffn_down"), normal(WIDTH, 2 * WIDTH, scale=0.02))


def _bias(token: str, letters: list[str]) -> float:
    """Little white space, whole words rather than their beginnings, and strings and lists that soon end."""
    if len(token) > 1:
        return WHOLE_WORD if token in WORDS else NEVER
    byte = letters.index(token)
    if byte not in PRINTABLE:
        return NEVER
    return RARELY if chr(byte).isspace() else READILY.get(chr(byte), 0.0)
