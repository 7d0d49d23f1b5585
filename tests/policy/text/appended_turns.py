"""Which turns of an append-only conversation differ from the template's text, and how. Each turn must stand as the template writes
it now, or as it wrote it when that turn was the last, or as a model wrote it behind the template's prompt."""

import re
import unicodedata

import template_folders

REASONING, ALL_REASONING = "leaves out the reasoning of earlier answers", "leaves out the reasoning of answers"
SYSTEM, NO_SYSTEM = "moves the system message to the user's last message", "leaves out the system message once an answer follows"
OTHER = "writes earlier turns otherwise once another turn follows"
NO_END, NO_LAST_END = "writes no token that ends an answer", "writes no token behind a last answer"
BEHIND = "behind a conversation's last answer the chat template writes more"
KINDS = (REASONING, ALL_REASONING, SYSTEM, NO_SYSTEM, OTHER, NO_END, NO_LAST_END)
WORD = "Qzvx"  # stands for contents, as texts that occur nowhere else


def named(lines):
    """The kinds of difference that lines on stderr name."""
    about = [line for line in lines if line.startswith("chat: append-only:")]
    kinds = {kind for kind in KINDS if any(kind + ";" in line for line in about)}
    kinds |= {BEHIND} if any(line.startswith(f"chat: {BEHIND}") for line in lines) else set()
    implied = {ALL_REASONING: {REASONING}, NO_SYSTEM: {SYSTEM}}  # what is always left out is so of earlier answers, too
    return kinds.union(*(implied.get(kind, set()) for kind in kinds))


def same_form(text):
    return unicodedata.normalize("NFC", text)


def without_spaces(text):
    return re.sub(r"[\s\x1c-\x1f\x85\xa0]+", "", text)


def is_left_out(part, whole, rest):
    """Is `rest` the whole without the part, in one of the places where it stands?"""
    if not part or len(whole) != len(rest) + len(part):
        return False
    same = next((i for i, (a, b) in enumerate(zip(whole, rest)) if a != b), len(rest))
    return any(whole.startswith(part, at) and whole[:at] + whole[at + len(part):] == rest for at in range(max(0, same - len(part)), same + 1))


def lacks_reasoning(now, ours, answer):
    """Is `now` our turn without what stands before the answer's last mark, or without its reasoning alone?"""
    front, mark, _ = without_spaces(same_form(answer)).rpartition("</think>")
    if not mark:
        return False
    ours, now = without_spaces(ours), without_spaces(now)
    parts = {front + mark, "<think>" + front + mark, "<think>" + front.split("<think>")[-1] + mark, front.split("<think>")[-1] + mark}
    # Marks may stand elsewhere than in the answer, and openings may have some.
    bare = ours.replace("<think>", "").replace("</think>", ""), now.replace("<think>", "").replace("</think>", "")
    words = {part.replace("<think>", "").replace("</think>", "") for part in parts}
    return any(is_left_out(part, whole, rest) for whole, rest, left_out in ((ours, now, parts), (*bare, words)) for part in left_out)


def without_ends(oracle, messages, ids):
    """The kinds of difference where the template writes neither ends of answers nor some of their reasoning."""
    ours = without_spaces(same_form(oracle.decode([one for one in ids if one != oracle.eos_token_id])))
    now, found = without_spaces(same_form(template_folders.rendered(oracle, messages))), {NO_END}
    for i, message in enumerate(messages):
        front, mark, _ = without_spaces(same_form(message["content"])).rpartition("</think>")
        for part in ("<think>" + front + mark, front + mark) if message["role"] == "assistant" and mark else ():
            at = ours.find(part)
            if at >= 0 and not now.startswith(part, at):
                ours = ours[:at] + ours[at + len(part):]
                found.add(ALL_REASONING if i + 1 == len(messages) else REASONING)
                break
    return found if ours == now and ids.count(oracle.eos_token_id) == sum(message["role"] == "assistant" for message in messages) else "different"


def turns_of(oracle, messages, stop):
    """The rendered conversation cut behind each answer; fewer parts than turns where a user's message cannot be found."""
    users = [i for i, message in enumerate(messages) if message["role"] == "user"]
    marked = [{**message, "content": f"{WORD}{i}e" if i in users else message["content"]} for i, message in enumerate(messages)]
    text, rest, cuts, at = template_folders.rendered(oracle, messages), template_folders.rendered(oracle, marked), [0], 0
    for i in users:
        before, word, rest = rest.partition(f"{WORD}{i}e")
        at = text.find(before, at)
        if not word or at < 0:
            return []
        if i != users[0]:
            cuts.append(at + before.rfind(stop) + len(stop))
        at += len(before)
    end = text.rstrip("\n").rfind(stop) + len(stop) if messages[-1]["role"] == "assistant" else len(text)
    return [same_form(text[begin:end]) for begin, end in zip(cuts, [*cuts[1:], end])]


def stop_of(oracle, tokens):
    """The token that ends an answer."""
    text = template_folders.rendered(oracle, [{"role": "user", "content": WORD}, {"role": "assistant", "content": WORD + "e"}])
    behind = text[text.rfind(WORD + "e"):]
    return min((token for token in tokens if token in behind), key=lambda token: (behind.find(token), -len(token)))


def written_by_a_model(text, at, prompt, answer, stop):
    """The end of a turn that is the prompt and this answer, or -1."""
    end = text.find(stop, at + len(prompt))
    if not text.startswith(prompt, at) or end < 0:
        return -1
    ours, given = without_spaces(text[at + len(prompt):end]), without_spaces(same_form(answer))
    behind = given.split("<think>", 1)[-1] if prompt.rstrip().endswith("<think>") else given
    return end + len(stop) if ours in (given, behind, "<think>" + given) else -1


def kind_of(ours, now, answer, system, last):
    """What a turn that is not as the template writes it now shows of the template. `system`: its content, and what its lack is."""
    if not system and lacks_reasoning(now, ours, answer):
        return ALL_REASONING if last else REASONING
    if system:
        content, lack = without_spaces(same_form(system[0])), system[1]
        ours, now = without_spaces(ours), without_spaces(now)
        if now == ours or is_left_out(content, ours, now) or is_left_out(content, now, ours):
            return lack
        if lacks_reasoning(now, ours, answer):
            return ALL_REASONING if last else REASONING
    return OTHER


def differences(oracle, tokens, messages, ids):
    """The kinds of difference; None where a turn is none that was appended."""
    stop = stop_of(oracle, tokens)
    ours, at, found = same_form(oracle.decode(ids)), 0, set()
    users = [i for i, message in enumerate(messages) if message["role"] == "user"]
    system, untold = None, []
    if messages[0]["role"] == "system":
        untold = turns_of(oracle, messages[1:], stop)
        whole = template_folders.rendered(oracle, messages) == template_folders.rendered(oracle, messages[1:])
        system = (messages[0]["content"], NO_SYSTEM if whole else SYSTEM)
    now = turns_of(oracle, messages, stop)
    if len(now) < len(users):
        return None
    for turn, i in enumerate(users):
        last = turn + 1 == len(users)
        if ours.startswith(now[turn], at):
            at += len(now[turn])
            continue
        then = turns_of(oracle, messages[:i + 2], stop)[-1:] + untold[turn:turn + 1] * (turn > 0)
        end = next((at + len(form) for form in then if ours.startswith(form, at)), -1)
        answer = messages[i + 1]["content"] if i + 1 < len(messages) else ""
        for prompt in turns_of(oracle, messages[:i + 1], stop)[-1:] if end < 0 and i + 1 < len(messages) else []:
            # What was thought may stand in the place of what the opening says of it.
            ways = (written_by_a_model(ours, at, front, answer, stop) for front in (prompt, re.sub(r"<think>\s*(</think>\s*)?$", "", prompt)))
            end = max(ways)
        kind = kind_of(ours[at:end], now[turn], answer, system, last)
        if end < 0 or (last and kind not in (ALL_REASONING, NO_SYSTEM, SYSTEM)):
            return None
        found.add(kind)
        at = end
    return found if at == len(ours) else None
