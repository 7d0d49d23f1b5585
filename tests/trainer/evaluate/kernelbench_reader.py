#!/usr/bin/env python3
"""Reads a folder of results as a script that expects KernelBench's files does, and prints the figures of one run as JSON.

kernelbench_reader.py DIR RUN LEVEL GPU. Each field that KernelBench's scripts use must be there, of its type; baselines and results
are paired by their order, and sample 0 alone counts.
"""

import json
import math
import pathlib
import sys

THRESHOLDS = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0)
STATS = {"mean": float, "std": float, "min": float, "max": float, "num_trials": int, "hardware": str, "device": str}
METADATA = {"hardware": str, "device": str, "compilation_error": str, "compilation_error_name": str, "runtime_error": str,
            "runtime_error_name": str, "runtime_error_traceback": str, "correctness_issue": str, "correctness_issue_name": str,
            "max_difference": list, "avg_difference": list, "correctness_trials": str, "error_during_performance": str,
            "excessive_speedup": bool, "cuda_error": str, "other_error": str, "error": str}


def check_stats(stats):
    assert set(stats) == set(STATS), stats
    for key, value in stats.items():
        assert isinstance(value, (float, int) if STATS[key] is float else STATS[key]), (key, value)


def check_entry(entry):
    assert list(entry) == ["sample_id", "compiled", "correctness", "metadata", "runtime", "runtime_stats"], entry
    assert isinstance(entry["sample_id"], int)
    assert isinstance(entry["compiled"], bool) and isinstance(entry["correctness"], bool)
    assert isinstance(entry["runtime"], float)
    for key, value in entry["metadata"].items():
        assert isinstance(value, METADATA[key]), (key, value)
        if key.endswith("_difference"):
            for text in value:
                float(text)
                assert text in ("inf", "-inf", "nan") or len(text.split(".")[1]) == 6, text
    if entry["runtime"] == -1.0:
        assert entry["runtime_stats"] == {}
    else:
        check_stats(entry["runtime_stats"])
        assert entry["runtime"] == entry["runtime_stats"]["mean"]


def figures(results, baselines):
    entries = [[one for one in samples if one["sample_id"] == 0][0] for samples in results.values()]
    assert len(entries) == len(baselines)
    speedups = [base["mean"] / entry["runtime"] for entry, base in zip(entries, baselines.values()) if entry["correctness"]]
    return {"compiled": sum(entry["compiled"] for entry in entries) / len(entries),
            "correct": len(speedups) / len(entries),
            "geo_mean_speedup": math.exp(sum(map(math.log, speedups)) / len(speedups)),
            "fast_p": {str(p): sum(s > p for s in speedups) / len(entries) for p in THRESHOLDS}}


def main():
    folder, run, level, gpu = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
    results = json.loads((folder / "runs" / run / "eval_results.json").read_text())
    for problem, samples in results.items():
        int(problem)
        for entry in samples:
            check_entry(entry)
            assert (folder / "runs" / run / f"level_{level}_problem_{problem}_sample_{entry['sample_id']}_kernel.py").is_file()
    baselines = json.loads((folder / "results" / "timing" / gpu / "baseline_time_torch.json").read_text())[f"level{level}"]
    for name, stats in baselines.items():
        assert name.endswith(".py")
        check_stats(stats)
    assert [name.split("_")[0] for name in baselines] == list(results)
    printed = figures(results, baselines)
    chances = folder / "runs" / run / "pass_at_k_results.json"
    if chances.exists():
        printed["pass_at_k"] = json.loads(chances.read_text())
        assert list(printed["pass_at_k"]) == ["averages", "metadata", "problems"]
    print(json.dumps(printed))


main()
