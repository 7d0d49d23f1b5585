"""Conversations of one to four user turns, with contents that templates are known to treat specially."""

BODIES = ["Write a kernel.", "Why is the sky blue?", "1 + 1 = 2", "2024-01-01 is a day", "3", "...and then?", "'s is a suffix", "(x)", "- one\n- two", "# Title\n\nText.", "!",
          "日本語のテキスト", "déjà vu, naïve, Ångström", "e\u0301 is composed", "🙂👩‍👩‍👧 family", "مرحبا بالعالم", "Привет, мир", "नमस्ते", "한국어", "a\u00a0b", "tab\there",
          "```cuda\n__global__ void k(float* y) {\n  y[threadIdx.x] = 1.f;\n}\n```", "def f(x):\n    return x\n", "if (a < b && c > d) { return \"<tag>\"; }",
          "{{ 7 * 7 }}", "{% raw %}x{% endraw %}", "{}", "%s %d", "\\n is an escape", "$HOME `id`", "&lt;b&gt; &amp;",
          "User: hello\nAssistant: hi", "### Instruction:\nDo it.", "system", "user", "assistant", "None", "True", "[1, 2]", "{\"a\": 1}", "a" * 40, "line one\r\nline two", "x\n\n\ny", "x  y   z"]
SPACES = ["", "", "", " ", "\n", "\n\n", "  ", "\t", "\r\n", " \n ", "\u00a0", "\u3000", "\u200b", "\u2028", "\x0b", "\x1c", "\x85", "\ufeff"]
SPACES_WEIGHTS = [8, 4, 4, 4, 4, 2, 2, 2, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1]


def body(random):
    kind = random.random()
    if kind < 0.03:
        return ""
    if kind < 0.06:
        return random.choice([" ", "\n", "\n\n", " \n\t"])
    if kind < 0.10:
        return " ".join(random.choice(BODIES) for _ in range(random.randint(50, 400)))
    return random.choice([" ", "\n", "\n\n", ""]).join(random.choice(BODIES) for _ in range(random.choice([1, 1, 1, 2, 3])))


def content(random):
    around = random.choices(SPACES, SPACES_WEIGHTS, k=2)
    return around[0] + body(random) + around[1]


def answer(random, reasons):
    text = content(random)
    if not reasons:
        return text
    thought = body(random)
    usual = f"<think>\n{thought}\n</think>\n\n{text}"
    others = [f"<think>{thought}</think>{text}", f"<think>\n{thought}\n</think>\n{text}", f"<think>\n\n</think>\n\n{text}", f"\n<think>\n{thought}\n</think>\n\n{text}",
              f"{thought}\n</think>\n\n{text}", f"<think>\n{thought}", f"{text} <think>{thought}</think> {text}"]
    return random.choice([usual] * 6 + others)


def conversation(random, reasoning=True):
    reasons = reasoning and random.random() < 0.4
    turns = random.choice([1, 1, 2, 2, 3, 4])
    messages = []
    system = random.random()
    if system < 0.45:
        messages.append({"role": "system", "content": "" if system < 0.05 else content(random)})
    for turn in range(turns):
        messages.append({"role": "user", "content": content(random)})
        if turn + 1 < turns or random.random() < 0.35:
            messages.append({"role": "assistant", "content": answer(random, reasons and random.random() < 0.7)})
    return messages
