"""The cases of tests/attack_files.py, each file's by what they attack."""

from . import configs, conversations, files, headers, tasks, tokenizers, weights
from .case import CASES  # noqa: F401

for make_cases in (headers.header_cases, weights.number_cases, files.file_cases, configs.config_cases,
                   tokenizers.tokenizer_cases, tasks.task_cases, conversations.data_cases):
    make_cases()
