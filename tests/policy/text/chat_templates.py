"""Chat templates of published families, written down here as short Jinja templates that render what theirs render."""

_CHATML = ("{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{%- endfor %}"
           "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}")


def _chatml_with(system):
    return ("{%- if messages[0].role != 'system' %}{{- '<|im_start|>system\\n" + system + "<|im_end|>\\n' }}{%- endif %}" + _CHATML)


QWEN2 = _chatml_with("You are a helpful assistant.")
QWEN25 = _chatml_with("You are Qwen, created by Alibaba Cloud. You are a helpful assistant.")
CHATML = _CHATML
# Earlier reasoning is dropped; the last answer has its own.
QWEN3 = """{%- set ns = namespace(last=-1) %}
{%- for m in messages %}{%- if m.role == 'user' %}{%- set ns.last = loop.index0 %}{%- endif %}{%- endfor %}
{%- for m in messages %}
{%- if m.role == 'assistant' %}
{%- set reasoning = '' %}{%- set content = m.content %}
{%- if '</think>' in content %}
{%- set reasoning = content.split('</think>')[0].split('<think>')[-1].strip('\\n') %}
{%- set content = content.split('</think>')[-1].lstrip('\\n') %}
{%- endif %}
{{- '<|im_start|>assistant\\n' }}
{%- if loop.index0 > ns.last and (loop.last or reasoning) %}{{- '<think>\\n' + reasoning + '\\n</think>\\n\\n' }}{%- endif %}
{{- content + '<|im_end|>\\n' }}
{%- else %}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}"""
QWQ = ("{%- for m in messages %}{%- if m.role == 'assistant' %}{{- '<|im_start|>assistant\\n' + m.content.split('</think>')[-1].lstrip('\\n') + '<|im_end|>\\n' }}"
       "{%- else %}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{%- endif %}{%- endfor %}"
       "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n<think>\\n' }}{%- endif %}")
_LLAMA3 = ("{%- for m in messages %}{{- '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content | trim + '<|eot_id|>' }}{%- endfor %}"
           "{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}")
LLAMA3 = "{{- bos_token }}" + _LLAMA3
LLAMA31 = ("{{- bos_token }}{%- if messages[0].role == 'system' %}{%- set system = messages[0].content | trim %}{%- set messages = messages[1:] %}"
           "{%- else %}{%- set system = '' %}{%- endif %}"
           "{{- '<|start_header_id|>system<|end_header_id|>\\n\\nCutting Knowledge Date: December 2023\\nToday Date: 26 Jul 2024\\n\\n' + system + '<|eot_id|>' }}" + _LLAMA3)
LLAMA2 = ("{%- if messages[0].role == 'system' %}{%- set system = '<<SYS>>\\n' + messages[0].content + '\\n<</SYS>>\\n\\n' %}{%- set messages = messages[1:] %}"
          "{%- else %}{%- set system = '' %}{%- endif %}"
          "{%- for m in messages %}{%- if m.role == 'user' %}{{- bos_token + '[INST] ' + (system if loop.first else '') + m.content.strip() + ' [/INST]' }}"
          "{%- else %}{{- ' ' + m.content.strip() + ' ' + eos_token }}{%- endif %}{%- endfor %}")
# Only the message that a template is asked about has the system's text, as in Mistral's since version 3.
MISTRAL = ("{%- if messages[0].role == 'system' %}{%- set system = messages[0].content + '\\n\\n' %}{%- set messages = messages[1:] %}"
           "{%- else %}{%- set system = '' %}{%- endif %}{{- bos_token }}"
           "{%- for m in messages %}{%- if m.role == 'user' %}{{- '[INST] ' + (system if loop.last else '') + m.content + '[/INST]' }}"
           "{%- else %}{{- ' ' + m.content + eos_token }}{%- endif %}{%- endfor %}")
# Roles are words, and nothing but the end of an answer is a token.
VICUNA = ("{{- bos_token }}{%- for m in messages %}{%- if m.role == 'system' %}{{- m.content + ' ' }}{%- elif m.role == 'user' %}{{- 'USER: ' + m.content.strip() + ' ' }}"
          "{%- else %}{{- 'ASSISTANT: ' + m.content.strip() + eos_token }}{%- endif %}{%- endfor %}{%- if add_generation_prompt %}{{- 'ASSISTANT:' }}{%- endif %}")
# An answer ends with two tokens, of which the second is the tokenizer's own end.
TWO_ENDS = ("{{- bos_token }}{%- for m in messages %}{{- '<|turn|>' + m.role + '<|open|>' + m.content | trim + '<|close|><|end|>' }}{%- endfor %}"
            "{%- if add_generation_prompt %}{{- '<|turn|>assistant<|open|>' }}{%- endif %}")

_CHATML_TOKENS = {"eos_token": "<|im_end|>", "tokens": ["<|im_start|>", "<|im_end|>", "<|endoftext|>"], "soft_tokens": ["<think>", "</think>"]}
_LLAMA3_TOKENS = {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>", "tokens": ["<|start_header_id|>", "<|end_header_id|>"]}
_LLAMA2_TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
_TWO_TOKENS = {"bos_token": "<s>", "eos_token": "<|end|>", "tokens": ["<|turn|>", "<|open|>", "<|close|>"]}
# Name → (template, its tokenizer's tokens).
ALL = {"qwen2": (QWEN2, _CHATML_TOKENS), "qwen2.5": (QWEN25, _CHATML_TOKENS), "chatml": (CHATML, _CHATML_TOKENS), "qwen3": (QWEN3, _CHATML_TOKENS), "qwq": (QWQ, _CHATML_TOKENS),
       "llama3": (LLAMA3, _LLAMA3_TOKENS), "llama3.1": (LLAMA31, _LLAMA3_TOKENS), "llama2": (LLAMA2, _LLAMA2_TOKENS), "mistral": (MISTRAL, _LLAMA2_TOKENS), "vicuna": (VICUNA, _LLAMA2_TOKENS),
       "two_ends": (TWO_ENDS, _TWO_TOKENS)}
