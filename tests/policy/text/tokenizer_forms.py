"""Folders of small tokenizers in the forms that published ones have."""

import copy
import functools
import io
import json
import pathlib

import sentencepiece
import tokenizer_texts
import vocabularies
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

DEEPSEEK_V3 = [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
               "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"]
DEEPSEEK_CODER = ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+"]
QWEN35 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CASED = vocabularies.GPT4O_PATTERN
MARK = "\u2581"


@functools.cache
def corpus():
    return [t[:3000] for t in tokenizer_texts.code()[::40]] + tokenizer_texts.LANGUAGES * 3


def token(content, special=True, **flags):
    return AddedToken(content, special=special, **{"normalized": False, **flags})


CHATML = [token("<|endoftext|>"), token("<|im_start|>"), token("<|im_end|>"), token("<think>", special=False), token("</think>", special=False)]


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def level(use_regex=False, add_prefix_space=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space, use_regex=use_regex)


def sequence(*parts):
    return pre_tokenizers.Sequence(list(parts))


def byte_level(pre, normalizer=None, added=CHATML, alphabet=True, trained_with=None, **model):
    """A trained byte-level tokenizer. alphabet=False: only the bytes that the corpus has get a piece."""
    bpe = Tokenizer(models.BPE(**model))
    bpe.normalizer = normalizer
    bpe.pre_tokenizer = trained_with or pre
    bpe.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet() if alphabet else []
    special = [model["unk_token"]] if model.get("unk_token") else []
    bpe.train_from_iterator(corpus() if alphabet else [t for t in corpus() if t.isascii()],
                            trainers.BpeTrainer(vocab_size=900, initial_alphabet=letters, special_tokens=special, show_progress=False))
    bpe.pre_tokenizer = pre
    bpe.add_tokens(added)
    return json.loads(bpe.to_str())


def sentence_pieces(**options):
    model = io.BytesIO()
    text = [line for t in corpus() for line in t.split("\n")] + ["[INST] Say red blue green. [/INST]"] * 20
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(text), model_writer=model, vocab_size=900, model_type="bpe", byte_fallback=True, normalization_rule_name="identity",
                                             remove_extra_whitespaces=False, minloglevel=2, character_coverage=0.98, hard_vocab_limit=False, **options)
    return model.getvalue()


def pieces_json(model, normalizer, pre, decoder=None, added=None, **changes):
    """tokenizer.json of a sentencepiece model: as transformers 4 and 5 save it."""
    sp = sentencepiece.SentencePieceProcessor(model_proto=model)
    vocab = {sp.id_to_piece(i): i for i in range(sp.get_piece_size())}
    normal = {p for p, i in vocab.items() if not (sp.is_control(i) or sp.is_unknown(i) or sp.is_byte(i))}
    merges = [(-sp.get_score(vocab[p]), -k, p[:k], p[k:]) for p in normal for k in range(1, len(p)) if p[:k] in normal and p[k:] in normal]
    bpe = Tokenizer(models.BPE(vocab=vocab, merges=[(a, b) for *_, a, b in sorted(merges)], **{"byte_fallback": True, "fuse_unk": True, "unk_token": "<unk>", **changes}))
    bpe.normalizer, bpe.pre_tokenizer = normalizer, pre
    bpe.decoder = decoder or decoders.Sequence([decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    bpe.add_tokens(added or [token("<unk>"), token("<s>"), token("</s>")])
    return json.loads(bpe.to_str())


def forms_of_pieces(model):
    """Name, tokenizer.json, tokenizer_config.json and the model's type of a sentencepiece model, as both transformers save it."""
    legacy4 = normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])
    llama = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    for pipeline, normalizer, pre in (("prepend and replace", legacy4, None), ("metaspace first", None, pre_tokenizers.Metaspace(MARK, "first", False)), ("metaspace always", None, pre_tokenizers.Metaspace(MARK, "always", False))):
        content = pieces_json(model, normalizer, pre)
        yield f"{pipeline}, as the file has it", content, {**llama, "tokenizer_class": "PreTrainedTokenizerFast"}, "mistral"
        for chosen in ({"legacy": True}, {"legacy": False}, {}, {"add_prefix_space": False}):
            yield f"{pipeline}, by Llama's class, {chosen}", content, {**llama, **chosen}, "llama"


def flagged(**flags):
    return [token("<|endoftext|>"), token("<|im_start|>", **flags), token("<|im_end|>", **flags), token("<think>", special=False, **flags), token(" float", special=False, **flags),
            token("x", special=False, **flags), token("\u00c5", special=False, **flags)]


def forms():
    """Name → (files of the folder, its config.json, whether tokenizer.json counts against the class that transformers takes)."""
    made, qwen, llama3 = {}, vocabularies.QWEN_PATTERN, vocabularies.LLAMA3_PATTERN

    def add(name, json_file=None, model=None, kind="llama", by_file=False, **config):
        files = {"tokenizer_config.json": config}
        if json_file:
            files["tokenizer.json"] = json_file
        if model:
            files["tokenizer.model"] = model
        made[name] = files, {"model_type": kind}, by_file

    plain = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    qwen_json = byte_level(sequence(split(qwen), level()), normalizers.NFC())
    add("qwen3", qwen_json, kind="qwen3", **{**plain, "tokenizer_class": "Qwen2Tokenizer"})
    add("qwen2 without a class of its own", qwen_json, kind="qwen2", **plain)
    add("qwen2 of another pattern", byte_level(sequence(split(llama3), level())), kind="qwen2", by_file=True, **plain)
    add("llama 3", byte_level(sequence(split(llama3), level()), ignore_merges=True), **plain)
    add("no tokenizer_config", byte_level(sequence(split(llama3), level())), kind="llama")
    smol = sequence(pre_tokenizers.Digits(individual_digits=True), level(True))
    add("smollm2", byte_level(smol, alphabet=False), **plain)
    add("smollm2 by GPT-2's class", byte_level(smol, alphabet=False), by_file=True, **{**plain, "tokenizer_class": "GPT2Tokenizer", "bos_token": "<|im_start|>", "unk_token": "<|endoftext|>", "add_prefix_space": False})
    add("bytes without pieces, unknown", byte_level(smol, alphabet=False, unk_token="<unk>"), **plain)
    add("bytes without pieces, fused unknown", byte_level(smol, alphabet=False, unk_token="<unk>", fuse_unk=True), **plain)
    add("digits together", byte_level(sequence(pre_tokenizers.Digits(individual_digits=False), level(True))), **plain)
    add("punctuation", byte_level(sequence(pre_tokenizers.Punctuation("isolated"), pre_tokenizers.Digits(True), level(True))), **plain)
    add("gpt-2 with a space before", byte_level(level(True, add_prefix_space=True)), **plain)
    add("bytes alone", byte_level(level(False), trained_with=level(True)), **plain)
    add("deepseek v3", byte_level(sequence(*map(split, DEEPSEEK_V3), level())), **plain)
    add("deepseek coder", byte_level(sequence(*map(split, DEEPSEEK_CODER), pre_tokenizers.Digits(True), level())), **plain)
    add("qwen 3.5", byte_level(sequence(split(QWEN35), level()), normalizers.NFC()), **plain)
    add("cased words", byte_level(sequence(split(CASED), level())), **plain)
    for behavior in ("isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"):
        for invert in (False, True):
            add(f"split {behavior}{' inverted' if invert else ''}", byte_level(sequence(split(r"\p{N}{1,3}", behavior, invert), level(True))), **plain)
        add(f"split at a text, {behavior}", byte_level(sequence(pre_tokenizers.Split(" ", behavior), level(True))), **plain)
    for name in ("NFC", "NFD", "NFKC", "NFKD"):
        add(name, byte_level(sequence(split(llama3), level()), getattr(normalizers, name)(), added=flagged() + flagged(normalized=True)[4:]), **plain)
    add("replace, strip, prepend", byte_level(level(True), normalizers.Sequence([normalizers.Strip(), normalizers.Replace("``", "''"), normalizers.Prepend("a")]), added=flagged()), **plain)
    add("normalized names", byte_level(level(True), normalizers.Sequence([normalizers.NFD(), normalizers.Replace("a", "bb")]), added=flagged(normalized=True)), **plain)
    for flag in ("lstrip", "rstrip", "single_word"):
        json_file = byte_level(sequence(split(qwen), level()), normalizers.NFC(), added=flagged(**{flag: True}))
        add(flag, json_file, **plain)
        add(f"{flag}, qwen2's class", json_file, kind="qwen2", by_file=True, **plain)
        add(f"{flag}, normalized", byte_level(sequence(split(qwen), level()), normalizers.NFC(), added=flagged(**{flag: True}, normalized=True)), **plain)
    add("all flags", byte_level(sequence(split(llama3), level()), added=flagged(lstrip=True, rstrip=True)), **plain)
    listed = {t["id"]: {k: v for k, v in t.items() if k != "id"} for t in qwen_json["added_tokens"]}
    for entry in listed.values():
        entry["rstrip"] = True
    add("flags in tokenizer_config", qwen_json, kind="llama", **plain, added_tokens_decoder=listed)
    add("flags in tokenizer_config, qwen3", qwen_json, kind="qwen3", by_file=True, **{**plain, "tokenizer_class": "Qwen2Tokenizer"}, added_tokens_decoder=listed)
    add("not special at the end", byte_level(level(True), added=[token("<|endoftext|>"), token("<|im_start|>"), token("<|im_end|>", special=False)]), **plain, additional_special_tokens=["<|im_start|>"])
    inside = copy.deepcopy(qwen_json)
    inside["model"]["vocab"]["<|tool|>"] = len(inside["model"]["vocab"])
    inside["added_tokens"] = [{**t, "content": n} for t, n in zip(inside["added_tokens"], ("<|tool|>", "<|im_start|>", "<|im_end|>", "th"))]
    add("added tokens inside the vocabulary", inside, **{**plain, "pad_token": "<|tool|>"})
    holes = copy.deepcopy(qwen_json)
    holes["model"]["vocab"] = {p: i for p, i in holes["model"]["vocab"].items() if i != 700}
    holes["model"]["merges"] = [m for m in holes["model"]["merges"] if "".join(m) in holes["model"]["vocab"] and m[0] in holes["model"]["vocab"] and m[1] in holes["model"]["vocab"]]
    for entry in holes["added_tokens"]:
        entry["id"] += 30
    holes["model"]["vocab"] = {p: i if i < 700 else i - 1 for p, i in holes["model"]["vocab"].items()}
    add("ids that follow no others", holes, **plain)

    model = sentence_pieces()
    legacy4 = normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])
    llama = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    chat = [token("<unk>"), token("<s>"), token("</s>"), token("<|im_start|>"), token("<|im_end|>"), token("<tool>", special=False, normalized=True), token(" float", special=False, normalized=True)]
    scheme = lambda prepend, cut=False: pre_tokenizers.Metaspace(MARK, prepend, cut)
    for name, kind, config in (("as the file has it", "mistral", {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>"}), ("by Llama's class", "llama", llama),
                               ("by Llama's class, legacy", "llama", {**llama, "legacy": True}), ("by Llama's class, not legacy", "llama", {**llama, "legacy": False}),
                               ("by Llama's class, no space before", "llama", {**llama, "add_prefix_space": False}), ("by Mistral's", "mistral", {**llama, "legacy": True}),
                               ("by Code Llama's", "code_llama", {**llama, "tokenizer_class": "CodeLlamaTokenizer"})):
        add(f"prepend and replace, {name}", pieces_json(model, legacy4, None, added=chat), kind=kind, **config)
        for prepend in ("first", "always", "never"):
            add(f"metaspace {prepend}, {name}", pieces_json(model, None, scheme(prepend), added=chat), kind=kind, **config)
            add(f"metaspace {prepend} that splits, {name}", pieces_json(model, None, scheme(prepend, True)), kind=kind, by_file=kind != "mistral", **config)
    # What else a class of Llama's would leave out.
    add("pieces, digits alone, by Llama's class", pieces_json(model, normalizers.Replace(" ", MARK), pre_tokenizers.Digits(True)), by_file=True, **llama)
    add("pieces, NFKC, by Llama's class", pieces_json(model, normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(" ", MARK)]), None), by_file=True, **llama)
    add("pieces, ignore_merges, by Llama's class", pieces_json(model, None, scheme("first"), ignore_merges=True), by_file=True, **llama)
    add("pieces without bytes, by Llama's class", pieces_json(model, None, scheme("first"), byte_fallback=False), by_file=True, **llama)
    add("bytes, by Llama's class", byte_level(sequence(split(llama3), level())), by_file=True, **{**plain, "tokenizer_class": "LlamaTokenizerFast"})
    add("NFC, by GPT-2's class", byte_level(level(True), normalizers.NFC()), by_file=True, **{**plain, "tokenizer_class": "GPT2Tokenizer"})
    add("punctuation, by GPT-2's class", byte_level(sequence(pre_tokenizers.Punctuation("isolated"), level(True))), by_file=True, **{**plain, "tokenizer_class": "GPT2Tokenizer"})
    add("gpt-2 by its class", byte_level(level(True)), **{**plain, "tokenizer_class": "GPT2Tokenizer"})
    add("gpt-2 with a space before by its class", byte_level(level(True, add_prefix_space=True)), **{**plain, "tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True})
    add("gpt-2 with a space before that its class leaves out", byte_level(level(True, add_prefix_space=True)), by_file=True, **{**plain, "tokenizer_class": "GPT2Tokenizer"})
    add("qwen 3.5 by its class", byte_level(sequence(split(QWEN35), level()), normalizers.NFC()), kind="qwen3_5", **{**plain, "tokenizer_class": "Qwen3_5Tokenizer"})
    add("qwen3 without NFC", byte_level(sequence(split(qwen), level())), kind="qwen3", by_file=True, **{**plain, "tokenizer_class": "Qwen2Tokenizer"})
    for chosen in ({"legacy": True}, {"legacy": False}, {}):
        add(f"tokenizer.model, {chosen}", model=model, **llama, **chosen)
        add(f"tokenizer.model with more tokens, {chosen}", model=model, **llama, **chosen, added_tokens_decoder={
            "0": {"content": "<unk>", "special": True, "normalized": False}, "1": {"content": "<s>", "special": True, "normalized": False, "lstrip": True}, "2": {"content": "</s>", "special": True, "normalized": False, "rstrip": True},
            str(sentencepiece.SentencePieceProcessor(model_proto=model).get_piece_size()): {"content": "<|im_start|>", "special": True, "normalized": False}})
    add("pieces, ignore_merges", pieces_json(model, None, scheme("first", True), ignore_merges=True), kind="mistral", **llama)
    add("pieces without bytes", pieces_json(model, None, scheme("first", True), byte_fallback=False), kind="mistral", **llama)
    add("pieces without bytes, each unknown", pieces_json(model, None, scheme("never"), byte_fallback=False, fuse_unk=False), kind="mistral", **llama)
    add("pieces without bytes or unknown", pieces_json(model, None, scheme("never"), byte_fallback=False, unk_token=None), kind="mistral", **llama)
    return made


def write(folder, files, config):
    vocabularies.write(folder, {**files, "config.json": config})
    return pathlib.Path(folder)
