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
