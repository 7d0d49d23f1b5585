"""What we save gives the same ids in `tokenizers` and in transformers, text for text."""

import json
import pathlib
import subprocess
import sys

try:
    import tokenizers
    import transformers
except ImportError as error:
    print(f"skipped: {error}; tools/bootstrap --oracles installs it")
    sys.exit(77)

program = pathlib.Path(sys.argv[1])
subprocess.run([program, "--gtest_filter=Tokenizer.SavedFilesGiveTheSameIds"], check=True)
folder = program.parent / "tokenizer_reference"
cases = json.loads((folder / "cases.json").read_text())

plain = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
plain.encode_special_tokens = True  # special tokens in text are text
auto = transformers.AutoTokenizer.from_pretrained(folder, split_special_tokens=True)
wrong = 0
for case in cases:
    text, ids = case["text"], case["ids"]
    found = [plain.encode(text).ids, auto(text)["input_ids"]]
    if found != [ids, ids] or plain.decode(ids) != text:
        wrong += 1
        print(f"{text!r}: ours {ids}, tokenizers {found[0]}, transformers {found[1]}")
messages = [{"role": "user", "content": "hello"}]
chat = auto.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
wrong += chat != "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
print(f"{len(cases)} texts, {wrong} wrong")
sys.exit(wrong > 0)
