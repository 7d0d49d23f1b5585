"""Hugging Face folders with a small byte-level tokenizer and a chat template, and transformers' reading of them."""

import functools
import json
import pathlib

import tokenizers
import transformers
import vocabularies

ROOT = pathlib.Path(__file__).resolve().parents[3]
VOCABULARY = 2000  # pieces; few, so that texts become many tokens whose borders can differ


@functools.cache
def trained(pattern):
    """tokenizer.json of pieces that were learned from this repository's own texts."""
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
    level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([split, level])
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    texts = [path.read_text() for path in sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("policy/text/*.cc")])]
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=VOCABULARY, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer.to_str()


def added_tokens(first_id, special, plain):
    names = [*dict.fromkeys([*special, *plain])]
    return [{"id": first_id + i, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": name not in plain}
            for i, name in enumerate(names)]


def write(folder, template, about, variant):
    """`template`: text or bytes. `about`: bos_token, eos_token, tokens, soft_tokens. `variant`, a number, chooses among the ways in
    which published folders say the same; 0 has a file chat_template.jinja."""
    llama3 = variant % 2 == 1
    tokenizer = json.loads(trained(vocabularies.LLAMA3_PATTERN if llama3 else vocabularies.QWEN_PATTERN))
    tokenizer["normalizer"] = None if llama3 else {"type": "NFC"}
    tokenizer["model"]["ignore_merges"] = llama3
    ends = [about[name] for name in ("bos_token", "eos_token") if about.get(name)]
    tokenizer["added_tokens"] = added_tokens(len(tokenizer["model"]["vocab"]), [*about.get("tokens", []), *ends], about.get("soft_tokens", []))
    as_object = variant % 8 >= 6
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    for name in ("bos_token", "eos_token"):
        token = about.get(name)
        config[name] = {"__type": "AddedToken", "content": token, "lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": True} if token and as_object else token
    files = {"tokenizer.json": tokenizer, "tokenizer_config.json": config}
    if variant % 4 < 2:
        files["chat_template.jinja"] = template if isinstance(template, bytes) else template.encode()
    elif variant % 16 == 3:
        config["chat_template"] = [{"name": "default", "template": template}, {"name": "tool_use", "template": "{{ messages }}"}]
    else:
        config["chat_template"] = template
    vocabularies.write(folder, files)


def load(folder):
    """transformers' tokenizer of the folder, with its template."""
    return transformers.PreTrainedTokenizerFast.from_pretrained(folder)


def rendered(oracle, messages):
    """The text that transformers makes. Raises what the template raises."""
    return oracle.apply_chat_template(messages, tokenize=False, add_generation_prompt=messages[-1]["role"] == "user")


def encoded(oracle, text):
    return oracle(text, add_special_tokens=False)["input_ids"]
