#!/usr/bin/env python3
"""Chat templates that do harm: `temper tokenize --chat auto` must refuse them, or render them as transformers does.

    hostile_templates.py build/temper [--only PATTERN] [--limit 2] [--quick]

--quick, a test of CTest, tries those that end at once, without a limit of time.

Each template gets a model folder and a process of its own. The process must end within the limit of seconds and a gigabyte of
memory, may not say what stands in a file or a variable of the environment, and leaves no process behind. An answer must be that of
transformers, which works in a process that is ended after the same time. What is worse is printed: HANGS, GREEDY, READS, CRASHES,
LEAVES, SILENT.

The exit status is 1 where there is such an outcome. 77: an oracle is not installed."""

import argparse
import ctypes
import fnmatch
import json
import multiprocessing
import os
import pathlib
import resource
import secrets
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[2])]
try:
    import appended_turns
    import template_folders
    import transformers
except ImportError as error:
    print(f"skipped: {error}; tools/bootstrap --oracles installs it")
    sys.exit(77)
from patience import patience

GIB = 1 << 30
PATIENCE_S = 20  # the process is ended after so long
CHATML = ("{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>' + '\n' }}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
FOREVER = "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}"
# One or a few of each kind.
QUICK = ["loops_in_loops", "string_times_a_billion", "includes_beside", "globals_of_lipsum", "frames_of_generators", "unclosed_tag", "empty", "half_a_pair",
         "hundred_megabytes", "deep_if", "order_of_a_set", "magic_word_changes", "always_the_generation_prompt"]
ABOUT = {"bos_token": "<s>", "eos_token": "<|im_end|>", "tokens": ["<|im_start|>", "<|im_end|>"], "soft_tokens": ["<think>", "</think>"]}


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def turns(count, text="Hello."):
    numbered = [text, *(f"{text if i % 2 == 0 else 'Yes.'} {i}" for i in range(1, count))]
    return [user(told) if i % 2 == 0 else assistant(told) for i, told in enumerate(numbered)]


PLAIN = [turns(1), turns(2), turns(3), [{"role": "system", "content": "Be brief."}, *turns(3)]]
# Conversations that meet what a template waits for.
MANY = [turns(3), turns(5), turns(9), turns(21)]
LONG = [turns(1), turns(1, "word " * 400), turns(3, "word " * 4000)]
WORDS = [turns(1), turns(1, "the magic word"), turns(3, "abracadabra")]


def doubling(times, use="{{ ns.s | length }}"):
    return "{% set ns = namespace(s='ab') %}" + f"{{% for i in range({times}) %}}{{% set ns.s = ns.s + ns.s %}}{{% endfor %}}" + use + CHATML


def nested(depth, kind):
    if kind == "if":
        return "{% if true %}" * depth + CHATML + "{% endif %}" * depth
    if kind == "parentheses":
        return "{{ " + "(" * depth + "1" + ")" * depth + " }}" + CHATML
    if kind == "lists":
        return "{% set x = " + "[" * depth + "]" * depth + " %}" + CHATML
    if kind == "minus":
        return "{{ " + "-" * depth + "1 }}" + CHATML
    return "{{ " + "not " * depth + "true }}" + CHATML


def templates(secret_file):
    """Name → (template, conversations)."""
    each = {
        # Time.
        "loop_of_huge_range": "{% for i in range(10**9) %}{% endfor %}" + CHATML,
        "loops_in_loops": FOREVER + CHATML,
        "loop_over_growing_list": "{% set l = [1] %}{% for x in l %}{% set _ = l.append(1) %}{% endfor %}" + CHATML,
        "recursive_macro": "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}" + CHATML,
        "two_recursive_macros": "{% macro f(n) %}{{ g(n) }}{{ g(n) }}{% endmacro %}{% macro g(n) %}{% if n < 60 %}{{ f(n + 1) }}{% endif %}{% endmacro %}{{ f(0) }}" + CHATML,
        "recursive_loop": "{% for x in [[1]] recursive %}{{ loop([x]) }}{% endfor %}" + CHATML,
        "fibonacci": "{% macro f(n) %}{% if n < 2 %}1{% else %}{{ f(n - 1) }}{{ f(n - 2) }}{% endif %}{% endmacro %}{{ f(40) | length }}" + CHATML,
        "huge_power": "{{ (10 ** 10 ** 8) % 7 }}" + CHATML,
        "tower_of_powers": "{{ 9 ** 9 ** 9 ** 9 }}" + CHATML,
        "huge_shift_by_product": "{% set ns = namespace(n=3) %}{% for i in range(60) %}{% set ns.n = ns.n * ns.n %}{% endfor %}{{ ns.n % 7 }}" + CHATML,
        "long_split": doubling(22, "{{ ns.s.split('a') | length }}"),
        "quadratic_replace": "{% set ns = namespace(s='a' * 2000) %}{% for i in range(100000) %}{% set ns.s = ns.s | replace('a', 'b') | replace('b', 'a') %}{% endfor %}" + CHATML,
        "sort_of_much": "{% for i in range(1000) %}{% set x = range(100000) | sort(reverse=true) %}{% endfor %}" + CHATML,
        "pretty_print_of_much": "{{ range(1000000) | list | pprint | length }}" + CHATML,
        "words_wrapped": "{{ ('a ' * 3000000) | wordwrap(1) | length }}" + CHATML,
        "joined_loops": "{{ range(100000000) | map('string') | join | length }}" + CHATML,
        "sum_of_range": "{{ range(10**10) | sum }}" + CHATML,
        "member_of_range": "{{ 'x' in range(10**10) }}" + CHATML,
        "last_of_range": "{{ range(10**10) | list | last }}" + CHATML,
        "regular_growth_in_json": "{% set l = [] %}{% for i in range(30) %}{% set l = [l, l] %}{% endfor %}{{ [l, l] | tojson | length }}" + CHATML,
        "shared_lists_in_json": "{% set ns = namespace(l=[]) %}{% for i in range(40) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l | tojson | length }}" + CHATML,
        "shared_lists_as_text": "{% set ns = namespace(l=[]) %}{% for i in range(40) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ (ns.l | string) | length }}" + CHATML,
        "shared_lists_compared": "{% set ns = namespace(l=[], k=[]) %}{% for i in range(40) %}{% set ns.l = [ns.l, ns.l] %}{% set ns.k = [ns.k, ns.k] %}{% endfor %}{{ ns.l == ns.k }}" + CHATML,
        "list_in_itself": "{% set l = [] %}{% set _ = l.append(l) %}{{ l | tojson }}" + CHATML,
        "object_in_itself": "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns.x.x.x.x }}{{ ns }}" + CHATML,
        "cycle_of_next": "{% set c = cycler('a', 'b') %}{% for i in range(10**9) %}{{ c.next() }}{% endfor %}" + CHATML,
        # Size.
        "string_that_doubles": doubling(40),
        "string_that_doubles_and_shows": doubling(30, "{{ ns.s }}"),
        "string_times_a_billion": "{{ 'ab' * 10**9 }}" + CHATML,
        "string_times_much_often": "{% for i in range(100) %}{% set s = 'ab' * 10**8 %}{% endfor %}" + CHATML,
        "list_times_a_billion": "{{ ([0] * 10**9) | length }}" + CHATML,
        "padded": "{{ 'x'.ljust(10**10) | length }}{{ '%1000000000d' % 5 }}" + CHATML,
        "padded_by_center": "{{ 'x' | center(10**10) }}" + CHATML,
        "padded_by_format": "{{ '{:>10000000000}'.format(1) }}" + CHATML,
        "padded_by_percent": "{{ '%*d' % (10**9, 5) }}{{ '%9999999999d' | format(5) }}" + CHATML,
        "padded_by_zfill": "{{ '1'.zfill(10**10) }}" + CHATML,
        "indented": "{{ ('a\n' * 100000) | indent(100000) }}" + CHATML,
        "tabs_expanded": "{{ ('\t' * 100000).expandtabs(100000) }}" + CHATML,
        "join_by_long": "{{ range(100000) | join('x' * 100000) }}" + CHATML,
        "replace_by_long": "{{ ('a' * 100000) | replace('a', 'b' * 100000) }}" + CHATML,
        "replace_of_nothing": "{{ ('a' * 10000000).replace('', 'b' * 1000) | length }}" + CHATML,
        "batch_filled": "{{ [1] | batch(10**9, 0) | list | length }}" + CHATML,
        "sliced": "{{ [1] | slice(10**9) | list | length }}" + CHATML,
        "lorem_ipsum": "{{ lipsum(n=10000000) }}" + CHATML,
        "huge_output": "{% for i in range(100000) %}{{ 'a' * 10000 }}{% endfor %}" + CHATML,
        "output_of_a_gigabyte_in_small_pieces": "{% for i in range(99999) %}{% for j in range(99999) %}abcdefghij{% endfor %}{% endfor %}" + CHATML,
        "json_indented": "{{ [[[[[1]]]]] | tojson(indent=10**9) }}" + CHATML,
        "dict_of_much": "{% set ns = namespace(d={}) %}{% for i in range(10**8) %}{% set _ = ns.d.update({i: 'x' * 1000}) %}{% endfor %}" + CHATML,
        "set_in_captured_block": "{% set s %}{% for i in range(100000) %}{{ 'a' * 100000 }}{% endfor %}{% endset %}{{ s | length }}" + CHATML,
        # Reading.
        "includes_a_file": "{% include '/etc/passwd' %}" + CHATML,
        "includes_beside": "{% include 'secret.txt' %}{% include 'tokenizer.json' ignore missing %}" + CHATML,
        "includes_if_there": "{% include ['secret.txt', '/etc/passwd'] ignore missing %}" + CHATML,
        "extends": "{% extends '/etc/passwd' %}" + CHATML,
        "imports": "{% import 'secret.txt' as s %}{{ s }}" + CHATML,
        "imports_from": "{% from '/proc/self/environ' import SECRET %}{{ SECRET }}" + CHATML,
        "walks_the_classes": "{{ ''.__class__.__mro__[1].__subclasses__() }}" + CHATML,
        "walks_by_attr": "{{ '' | attr('__class__') | attr('__mro__') }}" + CHATML,
        "walks_by_index": "{{ ''['__class__']['__mro__'] }}" + CHATML,
        "globals_of_cycler": "{{ cycler.__init__.__globals__.os.environ }}" + CHATML,
        "globals_of_joiner": "{{ joiner.__init__.__globals__.os.popen('id').read() }}" + CHATML,
        "globals_of_namespace": "{{ namespace.__init__.__globals__ }}" + CHATML,
        "globals_of_lipsum": "{{ lipsum.__globals__['os'].environ }}" + CHATML,
        "globals_of_macro": "{% macro m() %}{% endmacro %}{{ m.__globals__ }}{{ m.__init__.__globals__ }}" + CHATML,
        "globals_of_exception": "{{ raise_exception.__globals__ }}{{ strftime_now.__globals__ }}" + CHATML,
        "itself": "{{ self.__init__.__globals__ }}{{ self._TemplateReference__context }}" + CHATML,
        "format_walks": "{{ '{0.__class__.__mro__}'.format('') }}{{ '{x.__init__.__globals__}'.format(x=cycler) }}" + CHATML,
        "format_map_walks": "{{ '{x.__class__}'.format_map({'x': 1}) }}" + CHATML,
        "debug_tag": "{% debug %}" + CHATML,
        "map_by_attribute": "{{ messages | map(attribute='__class__') | list }}" + CHATML,
        "environment_name": "{{ environment }}{{ config }}{{ request }}{{ SECRET }}{{ env.SECRET }}{{ os.environ }}" + CHATML,
        "url_of_file": "{{ ('file://" + str(secret_file) + "') | urlize }}{{ '" + str(secret_file) + "' | xmlattr }}" + CHATML,
        # Refusing, and what is not there.
        "raises_at_once": "{{ raise_exception('no chats here') }}" + CHATML,
        "raises_much": "{{ raise_exception('x' * 10000000) }}" + CHATML,
        "raises_terminal_codes": "{{ raise_exception('\x1b[2J\x1b]0;owned\x07 line\nline two\u202e') }}" + CHATML,
        "raises_no_text": "{{ raise_exception(messages) }}" + CHATML,
        "unknown_filter": "{{ 'x' | frobnicate }}" + CHATML,
        "unknown_test": "{{ 'x' is frobnicated }}" + CHATML,
        "unknown_function": "{{ frobnicate() }}" + CHATML,
        "unknown_method": "{{ 'x'.frobnicate() }}" + CHATML,
        "unknown_tag": "{% frobnicate %}" + CHATML,
        "unknown_filter_never_reached": "{% if false %}{{ 'x' | frobnicate }}{% endif %}" + CHATML,
        "filter_with_wrong_arguments": "{{ 'x' | trim(1, 2, 3, 4) }}{{ range('a') }}" + CHATML,
        "division_by_zero": "{{ 1 / 0 }}" + CHATML,
        "wrong_types": "{{ 'a' + 1 }}" + CHATML,
        "index_out_of_range": "{{ messages[99].content }}" + CHATML,
        # Syntax.
        "unclosed_tag": CHATML + "{% if",
        "unclosed_block": CHATML + "{% if true %}",
        "unclosed_expression": CHATML + "{{ 'x",
        "unclosed_comment": CHATML + "{# never ends",
        "wrong_end": "{% for m in messages %}{% endif %}",
        "end_alone": "{% endfor %}" + CHATML,
        "empty": "",
        "blank": " \n\t",
        "no_messages": "A text that has no tags at all.",
        "zero_bytes": "\0" + CHATML + "\0",
        "half_a_character": CHATML.encode() + b"\xc3",
        "not_utf8": b"\xff\xfe" + CHATML.encode(),
        "byte_order_mark": "\ufeff" + CHATML,
        "carriage_returns": CHATML.replace("{% endfor %}", "{% endfor %}\r\n\r\n"),
        "line_statements": "# for m in messages\n" + CHATML,
        # A large template.
        "megabyte_of_text": "x" * (1 << 20) + CHATML,
        "megabyte_of_comment": "{#" + "x" * (1 << 20) + "#}" + CHATML,
        "megabyte_of_tags": "{% if true %}a{% endif %}" * 40_000 + CHATML,
        "megabyte_of_expressions": "{{ 1 }}" * 150_000 + CHATML,
        "megabyte_of_plus": "{% set x = 1" + " + 1" * 250_000 + " %}" + CHATML,
        "megabyte_of_filters": "{{ 'a'" + " | trim" * 140_000 + " }}" + CHATML,
        "megabyte_of_elif": "{% if false %}" + "{% elif false %}" * 60_000 + "{% endif %}" + CHATML,
        "many_macros": "".join(f"{{% macro m{i}() %}}{{{{ m{i + 1}() }}}}{{{{ m{i + 1}() }}}}{{% endmacro %}}" for i in range(40)) + "{% macro m40() %}x{% endmacro %}{{ m0() }}" + CHATML,
        "hundred_megabytes": "{#" + "x" * (100 << 20) + "#}" + CHATML,
        "forty_megabytes": "{#" + "x" * (40 << 20) + "#}" + CHATML,
        **{f"deep_{kind}": nested(20_000, kind) for kind in ("if", "parentheses", "lists", "minus", "not")},
        # What is different each time.
        "microseconds": "{{ strftime_now('%f') }}" + CHATML,
        "seconds": "{{ strftime_now('%s %S') }}" + CHATML,
        "random_choice": "{{ range(1000000) | random }}" + CHATML,
        "random_words": "{{ lipsum(n=1, html=false) }}" + CHATML,
        "address_of_object": "{{ namespace() }}{{ raise_exception }}" + CHATML,
        "strange_dates": "{{ strftime_now('%' * 1000001) | length }}{{ strftime_now('\\ud83d') }}" + CHATML,
        # More of the same kinds.
        "continued_forever": "{% for i in range(99999) %}{% for j in range(99999) %}{% continue %}{% endfor %}{% endfor %}" + CHATML,
        "call_blocks_recursive": "{% macro f() %}{% call f() %}{{ caller() }}{% endcall %}{% endmacro %}{{ f() }}" + CHATML,
        "width_in_format": "{{ '{:>{w}}'.format(1, w=10**10) }}" + CHATML,
        "digits_in_format": "{{ '%.999999999f' % 1.5 }}" + CHATML,
        "huge_number_as_text": "{{ (2 ** (2 ** 28)) | string | length }}" + CHATML,
        "translated_to_much": "{{ ('a' * 10**6).translate({97: 'b' * 10**6}) | length }}" + CHATML,
        "groups_of_much": "{% for i in range(99) %}{{ range(99999) | map('string') | groupby('length') | list | length }}{% endfor %}" + CHATML,
        "products_of_lists": "{% for a in range(3000) %}{% for b in range(3000) %}{% if [a, b] | sort == [b, a] | sort %}{% endif %}{% endfor %}{% endfor %}" + CHATML,
        "raises_a_gigabyte": "{{ raise_exception('x' * 10**9) }}" + CHATML,
        "unknown_name_of_much": "{{ messages[('x' * 10**8)].y.z }}" + CHATML,
        "half_a_pair": "{{ '\\ud83d' }}" + CHATML,
        "frames_of_generators": "{{ (messages | map('length')).gi_frame.f_globals }}{{ (messages | map('upper')).gi_code }}" + CHATML,
        "escaped_format_walks": "{{ ('{0.__init__.__globals__}' | e).format(cycler) }}{{ '{0.__globals__}' | safe | format(raise_exception) }}" + CHATML,
        "mapped_attr_walks": "{{ [cycler] | map('attr', '__init__') | map('attr', '__globals__') | list }}" + CHATML,
        "changes_its_messages": "{{ messages[0].update({'content': 'other'}) }}{{ messages.pop() }}" + CHATML,
        "order_of_a_set": "{{ {'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7}.keys() - [] }}" + CHATML,
        "rarely_random": "{% if range(1000000) | random == 7 %}x{% endif %}" + CHATML,
        "hour_of_the_day": "{% if strftime_now('%H') | int < 6 %}Good night.{% endif %}{{ strftime_now('%H') }}" + CHATML,
        "long_dates": "{{ strftime_now('%c' * 1000000) | length }}" + CHATML,
    }
    waits = {
        "another_format_in_another_year": ("{% if strftime_now('%Y') == '1999' %}" + FOREVER + "{% endif %}" + CHATML, PLAIN),
        "hangs_by_the_clock": ("{% if strftime_now('%Y') != '1999' %}" + FOREVER + "{% endif %}" + CHATML, PLAIN),
        "hangs_at_five_messages": ("{% if messages | length >= 5 %}" + FOREVER + "{% endif %}" + CHATML, MANY),
        "raises_at_five_messages": ("{% if messages | length >= 5 %}{{ raise_exception('too many') }}{% endif %}" + CHATML, MANY),
        "other_tokens_at_five_messages": ("{% if messages | length >= 5 %}{{ '<s>' }}{% endif %}" + CHATML, MANY),
        "forgets_at_nine_messages": ("{% if messages | length >= 9 %}{% set messages = messages[-3:] %}{% endif %}" + CHATML, MANY),
        "numbers_its_turns": (CHATML.replace("m.role +", "m.role + ' ' + loop.index | string +"), MANY),
        "counts_its_turns_first": ("{{ messages | length }}" + CHATML, MANY),
        "every_third_turn": (CHATML.replace("'<|im_start|>'", "('<s>' if loop.index % 3 == 0 else '') + '<|im_start|>'"), MANY),
        "doubles_with_messages": ("{% set ns = namespace(s='a') %}{% for m in messages %}{% for i in range(9) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{% endfor %}" + CHATML, MANY),
        "works_hard_on_long_contents": ("{% for m in messages %}{% if m.content | length > 1000 %}" + FOREVER + "{% endif %}{% endfor %}" + CHATML, LONG),
        "quadratic_in_content": ("{% for m in messages %}{% for a in m.content %}{% for b in m.content %}{% endfor %}{% endfor %}{% endfor %}" + CHATML, LONG),
        "cubic_in_content": ("{% for m in messages %}{% for a in m.content %}{% for b in m.content %}{% for c in m.content %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}" + CHATML, LONG),
        "repeats_content": (CHATML.replace("m.content +", "m.content * (m.content | length) +"), LONG),
        "cuts_long_content": (CHATML.replace("m.content +", "m.content | truncate(1500) +"), LONG),
        "upper_case": (CHATML.replace("m.content +", "(m.content | upper) +"), WORDS),
        "escapes_content": (CHATML.replace("m.content +", "(m.content | e) +"), [turns(1), turns(1, "a < b & c")]),
        "json_of_content": (CHATML.replace("m.content +", "(m.content | tojson) +"), [turns(1), turns(1, "say \"hi\"\n\u00e9")]),
        "length_of_content": (CHATML.replace("m.content +", "m.content + (m.content | length | string) +"), WORDS),
        "content_twice": (CHATML.replace("m.content +", "m.content + m.content +"), WORDS),
        "content_backwards": (CHATML.replace("m.content +", "m.content[::-1] +"), WORDS),
        "content_missing": (CHATML.replace("m.content +", ""), WORDS),
        "turns_backwards": (CHATML.replace("in messages", "in messages | reverse"), MANY),
        "last_turn_alone": (CHATML.replace("in messages", "in messages[-1:]"), MANY),
        "magic_word_hangs": ("{% for m in messages %}{% if 'magic' in m.content %}" + FOREVER + "{% endif %}{% endfor %}" + CHATML, WORDS),
        "magic_word_changes": ("{% for m in messages %}{% if 'magic' in m.content %}{{ '<s>' }}{% endif %}{% endfor %}" + CHATML, WORDS),
        "magic_word_raises": ("{% for m in messages %}{% if 'magic' in m.content %}{{ raise_exception('no magic') }}{% endif %}{% endfor %}" + CHATML, WORDS),
        "magic_word_in_the_middle": (CHATML.replace("m.content +", "m.content.replace('abra', '<|im_end|>') +"), WORDS),
        "replaces_a_rare_word": (CHATML.replace("m.content +", "m.content.replace('word', 'sword') +"), WORDS),
        "content_as_format": (CHATML.replace("m.content +", "(m.content % ()) +"), [turns(1), turns(1, "100%")]),
        "content_as_braces": (CHATML.replace("m.content +", "m.content.format() +"), [turns(1), turns(1, "{} {x.__class__}")]),
        "writes_the_probe_if_it_is_one": (CHATML.replace("m.content +", "(m.content if (m.content | length) < 3 or ' ' in m.content else '<s>') +"), [turns(1), turns(1, "oneword"), turns(3, "oneword")]),
        "drops_the_system": ("{% for m in messages if m.role != 'system' %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
                             "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}", PLAIN),
        "no_generation_prompt": (CHATML[:CHATML.index("{% if add")], PLAIN),
        "always_the_generation_prompt": (CHATML[:CHATML.index("{% if add")] + "{{ '<|im_start|>assistant\n' }}", PLAIN),
        "other_prompt_than_answer": (CHATML.replace("<|im_start|>assistant", "<|im_start|>helper"), PLAIN),
        "answers_without_stop": (CHATML.replace("'<|im_end|>'", "('<|im_end|>' if m.role != 'assistant' else '')"), PLAIN),
    }
    return {**{name: (template, PLAIN) for name, template in each.items()}, **waits}


def reference(folder, conversations, pipe):
    """In a process of its own: ids by transformers, None where the template refuses."""
    resource.setrlimit(resource.RLIMIT_AS, (8 * GIB, 8 * GIB))
    try:
        oracle = template_folders.load(folder)
    except Exception:  # a template that is no text
        return
    for messages in conversations:
        try:
            pipe.send(template_folders.encoded(oracle, template_folders.rendered(oracle, messages)))
        except Exception:  # whatever a template raises
            pipe.send(None)


def expected(folder, conversations, seconds):
    """What transformers answers; None from the first conversation on at which it does not come to an end."""
    found = []
    mine, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=reference, args=(folder, conversations, theirs))
    process.start()
    theirs.close()
    try:
        while len(found) < len(conversations) and mine.poll(seconds + 3):
            found.append(mine.recv())
    except EOFError:
        pass
    process.kill()
    process.join()
    return found + [None] * (len(conversations) - len(found))


def started(temper, folder, conversations, secret):
    """Exit status or "hangs", the lines on stdout, stderr, seconds and bytes of memory."""
    data = b"".join(json.dumps(messages).encode() + b"\0" for messages in conversations)
    command = [temper, "tokenize", "--model", folder, "--chat", "auto", "--nul"]
    begin = time.monotonic()
    with open(folder / "out", "w+b") as out, open(folder / "err", "w+b") as errors, open(folder / "in", "w+b") as words:
        words.write(data)
        words.seek(0)
        process = subprocess.Popen(command, stdin=words, stdout=out, stderr=errors, env={**os.environ, "SECRET": secret}, cwd=folder, start_new_session=True)
        status = None
        while status is None and time.monotonic() - begin < PATIENCE_S * patience(temper):
            pid, code, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                status = os.waitstatus_to_exitcode(code)
            else:
                time.sleep(0.01)
        if status is None:
            os.killpg(process.pid, 9)
            _, _, usage = os.wait4(process.pid, 0)
            status = "hangs"
        process.returncode = 0
        seconds = time.monotonic() - begin
        out.seek(0)
        errors.seek(0)
        return status, out.read(100 << 20).decode(errors="replace").splitlines(), errors.read(1 << 20).decode(errors="replace"), seconds, usage.ru_maxrss * 1024


def adopt_orphans():
    """What temper leaves behind becomes a child of this process."""
    PR_SET_CHILD_SUBREAPER = 36
    return ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def left_behind():
    """The commands of orphans, which are ended."""
    time.sleep(0.05)  # what its parent killed takes a moment
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            command = (stat.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:  # it has ended
            continue
        if int(parent) == os.getpid():
            if state != "Z":
                found.append(command)
                os.kill(int(stat.parent.name), 9)
            os.waitpid(int(stat.parent.name), 0)
    return found


def decoded(oracle, lines):
    try:
        return "".join(oracle.decode(json.loads(line)) for line in lines)
    except (ValueError, TypeError, OverflowError):
        return "".join(lines)


def judged(temper, folder, conversations, limit, secret):
    """An outcome and a note."""
    for place in (folder, folder.parent):
        (place / "secret.txt").write_text(secret)
    status, lines, errors, seconds, memory = started(temper, folder, conversations, secret)
    oracle = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    text, orphans = decoded(oracle, lines) + errors, left_behind()
    note = errors.strip().splitlines()[-1][:150] if errors.strip() else ""
    if secret in text or "root:x:0" in text:
        return "READS", text[:300]
    if status == "hangs" or seconds > limit:
        return "HANGS", f"{seconds:.1f} s; {note}"
    if orphans:
        return "LEAVES", str(orphans)[:300]
    if memory > GIB:
        return "GREEDY", f"{memory >> 20} MiB; {note}"
    if status not in (0, 2) or (status == 2 and not note):
        return "CRASHES", f"exit {status}; {note}"
    if any(ord(c) < 32 and c not in "\n" or c in "\x7f\u202e" for c in errors) or len(errors) > 4000:
        return "SILENT", f"stderr has what a terminal obeys, or {len(errors)} characters"
    wanted = expected(folder, conversations, limit)
    for i, (line, ids) in enumerate(zip(lines, wanted)):
        ours = json.loads(line)
        behind = ids[len(ours):] if ids else []
        if ids is None or ours != ids[:len(ours)] or (behind and (conversations[i][-1]["role"] == "user" or oracle.decode(behind).strip())):
            theirs = "none: the template refuses or does not end" if ids is None else repr(oracle.decode(ids)[:150])
            more = ids is not None and ours == ids[:len(ours)] and appended_turns.BEHIND in appended_turns.named(errors.splitlines())
            if more or (ids is not None and status == 0 and note and conversations[i][-1]["role"] == "user" and len(conversations[i]) > 1):
                continue  # said; published_templates.py judges more narrowly
            return "SILENT", f"conversation {i}: ours {oracle.decode(ours)[:150]!r}, transformers' {theirs}"
    if status == 2:
        return ("refused" if not lines else f"refused {len(lines) + 1}"), note
    return "equal" if not note else "said", note


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("temper", type=pathlib.Path)
    parser.add_argument("--only", default="*", help="a pattern of names")
    parser.add_argument("--quick", action="store_true", help="those of QUICK, whatever time they take")
    parser.add_argument("--limit", type=float, default=2, help="seconds for one process, beyond those for an honest template")
    words = parser.parse_args()
    temper, bad = words.temper.resolve(), []
    with tempfile.TemporaryDirectory() as scratch:
        scratch, secret = pathlib.Path(scratch), "secret-" + secrets.token_hex(8)
        honest = scratch / "honest"
        template_folders.write(honest, CHATML, ABOUT, 0)
        limit = words.limit * patience(temper) + started(temper, honest, PLAIN, secret)[3]
        limit = PATIENCE_S * patience(temper) if words.quick else limit
        print(f"limit {limit:.1f} s")
        assert adopt_orphans()
        for name, (template, conversations) in templates(scratch / "secret.txt").items():
            if not fnmatch.fnmatch(name, words.only) or (words.quick and not any(fnmatch.fnmatch(name, pattern) for pattern in QUICK)):
                continue
            folder = scratch / name
            template_folders.write(folder, template, ABOUT, 0)
            outcome, note = judged(temper, folder, conversations, limit, secret)
            if outcome.isupper():
                bad.append(name)
            print(f"{name:40} {outcome:10} {note}", flush=True)
    print(f"\n{len(bad)} of the outcomes are bad" + (f": {', '.join(bad)}" if bad else ""))
    sys.exit(bool(bad))


main()
