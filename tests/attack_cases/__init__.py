"""The cases of tests/attack_files.py, each file's by what they attack."""

from . import configs, conversations, files, headers, tasks, tokenizers, weights
from .case import CASES  # noqa: F401

for make_cases in (headers.header_cases, weights.number_cases, weights.size_cases, weights.cut_short_case,
                   files.file_cases, files.map_cases, files.index_cases, files.shard_cases, configs.config_cases,
                   tokenizers.json_cases, tokenizers.cases_beside_sentencepiece, tokenizers.sentencepiece_cases,
                   tasks.task_cases, conversations.data_cases):
    make_cases()
