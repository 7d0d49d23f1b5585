"""Drives the built programs on GPUs, one rank each: python3 tests/ranks_gpu_test.py build

One GPU and several do the same; more ranks than GPUs are refused; a rank that fails ends all. Prints what a step takes on
one GPU and on two. 77: there is no GPU.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import jobs
import ranks_failing_test

# Head dimension 128, as the GPU path wants it.
CONFIG = """
run: {seed: 3, steps: 3, overwrite: true}
model: {device: cuda, vocab_size: 1024, hidden_size: 512, intermediate_size: 1536, num_hidden_layers: 4,
        num_attention_heads: 4, num_key_value_heads: 2, head_dim: 128, max_position_embeddings: 1024}
tasks: {names: [scale_rows_relu, scale_columns_relu, scale_shift_relu]}
env: {min_pairs: 5, max_pairs: 5, lanes: 4}
traces: {conversations: 200, generated: 30}
cold_start: {epochs: 1, batch_tokens: 2048}
rollout: {tasks_per_step: 2, samples_per_task: 32, turns: 1, max_response_tokens: 128, max_context_tokens: 1024}
learner: {micro_batch_tokens: 4096}
loss: {entropy_coefficient: 0.1}
optimizer: {lr: 1.0e-3}
eval: {samples: 1, before: false}
"""


def gpu_count():
    """Those that CUDA_VISIBLE_DEVICES leaves."""
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        return len([name for name in os.environ["CUDA_VISIBLE_DEVICES"].split(",") if name])
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    except FileNotFoundError:
        return 0
    return done.stdout.count("GPU ") if done.returncode == 0 else 0


class Gpus(ranks_failing_test.Failures):
    def need(self, count):
        if gpu_count() < count:
            self.skipTest(f"{gpu_count()} GPUs, {count} needed")

    def test_collectives(self):
        self.need(2)
        program = [jobs.BUILD / "ranks_collectives", "cuda"]
        self.expect_ok(jobs.wait_all(jobs.start_by_hand(2, lambda rank: program)), 2)

    def test_same_first_step(self):
        self.need(2)
        learn = [f"model.path={jobs.model()}"]
        rows_of_one, one = jobs.first_step(jobs.train_alone(*learn))
        self.assertEqual(len(rows_of_one), 64)
        for count, stage, degree in ((2, 1, 0), (2, 2, 0), (2, 2, 1), (2, 3, 0), (4, 1, 0), (4, 2, 2), (4, 3, 2), (8, 1, 0)):
            if count > gpu_count():
                continue
            directory = jobs.WORK / f"gpus_{count}_{stage}_{degree}"
            words = [*learn, f"model.zero_stage={stage}", f"model.shard_degree={degree}"]
            ended = jobs.wait_all(jobs.start_temper(count, f"run.dir={directory}", *words), 300)
            self.assertEqual(set(ended.codes), {0}, ended.text)
            rows, step = jobs.first_step(directory)
            same = sum(mine == theirs for mine, theirs in zip(rows_of_one, rows))
            print(f"\n{count} GPUs, ZeRO-{stage}, shard degree {degree}: {same} of {len(rows)} trajectories equal to the bit; "
                  f"{step['rollout_corr/unequal_tokens']:.0f} log-probs unequal in training")
            for name in ("actor/pg_loss", "actor/entropy", "actor/grad_norm"):
                print(f"  {name} {step[name]:.9g}, on one {one[name]:.9g}")
            self.assertEqual(rows, rows_of_one)
            # Sums of bf16 products, which other packs add up in another order.
            for name, tolerance in (("actor/pg_loss", 1e-4), ("actor/entropy", 1e-4), ("actor/grad_norm", 1e-2)):
                self.assertAlmostEqual(step[name], one[name], delta=tolerance * abs(one[name]))

    def test_overlapping_has_the_bits_of_waiting(self):
        self.need(2)
        cache = jobs.WORK / "overlap.db"
        weights = []
        on_host = "model.offload_optimizer=true"
        for wait, *words in (("0", "model.zero_stage=2"), ("0", "model.zero_stage=2"),  # the first fills the cache
                             ("1", "model.zero_stage=2"), ("0", "model.zero_stage=2", on_host), ("0", "model.zero_stage=3"),
                             ("1", "model.zero_stage=3"), ("0", "model.zero_stage=3", on_host)):
            directory = jobs.WORK / f"overlap_{len(weights)}"
            ended = jobs.wait_all(jobs.start_temper(2, f"run.dir={directory}", "run.steps=0", f"env.cache={cache}", *words,
                                                    of_rank=lambda rank: {"TEMPER_BLOCKING_WAIT": wait}), 300)
            self.assertEqual(set(ended.codes), {0}, ended.text)
            weights.append((directory / "checkpoints/final/model.safetensors").read_bytes())
        for others in weights[2:]:
            self.assertTrue(others == weights[1])

    def test_cold_start_and_evaluation(self):
        self.need(2)
        ended = jobs.wait_all(jobs.start_temper(2, f"run.dir={jobs.WORK / 'cold'}"), 300)
        self.assertEqual(set(ended.codes), {0}, ended.text)

    def test_more_ranks_than_gpus(self):
        count = gpu_count() + 1
        ended = jobs.wait_all(jobs.start_temper(count))
        self.assertEqual(set(ended.codes), {2}, ended.text)
        self.assertEqual(ended.text.count("\n"), 1, ended.text)
        self.assertIn(f"{count} ranks on this machine and {count - 1} GPU", ended.text)

    def fail_gpu(self, fault, *texts, words=()):
        self.need(2)
        self.fail_rank(1, fault, *texts, count=2, words=words)

    def test_killed(self):
        self.fail_gpu("update:kill", "was killed or crashed in update")

    # In the middle of a backward: sums of the blocks behind it are in flight, and the others' device waits for this one.
    OVERLAPPED = ["model.zero_stage=2", "eval.before=false", "cold_start.epochs=0"]

    def test_killed_between_overlapped_sums(self):
        words = [f"model.path={jobs.model()}", *self.OVERLAPPED]
        self.fail_gpu("gradients of model.layers.1:kill@2", "was killed or crashed in update", words=words)

    def test_hung_between_overlapped_sums(self):
        words = [f"model.path={jobs.model()}", *self.OVERLAPPED]
        self.fail_gpu("gradients of model.layers.1:hang@2", "hangs in update", 'wait in the collective "gradients of model.layers.1"',
                      words=words)

    def test_killed_between_overlapped_gathers(self):
        words = [f"model.path={jobs.model()}", *self.OVERLAPPED]
        self.fail_gpu("weights of model.layers.2:kill@2", "was killed or crashed in update", words=words)

    def test_hung_in_front_of_nccl(self):
        self.fail_gpu("weights:hang", "hangs in update")

    def test_stopped_while_generating(self):
        self.fail_gpu("rollout:stop", "has given no sign of life for")


def print_scaling():
    words = [f"model.path={jobs.model()}", "run.steps=6", "rollout.samples_per_task=128", "env.lanes=0",
             "optimizer.lr=1e-6"]
    sums = ("perf/generated_tokens", "timing_s/gen", "perf/total_num_tokens", "timing_s/update_actor", "timing_s/step")
    print("\nGPUs  generated tok/s  learned tok/s  s a step (mean of the last four)")
    for count in (1, 2):
        directory = jobs.WORK / f"scaling_{count}"
        ended = jobs.wait_all(jobs.start_temper(count, f"run.dir={directory}", *words), 300)
        if set(ended.codes) != {0}:
            print(count, ended.text)
            continue
        steps = [row for row in jobs.json_lines(directory / "metrics.jsonl") if "actor/pg_loss" in row][-4:]
        generated, generate_s, learned, learn_s, step_s = (sum(row[name] for row in steps) for name in sums)
        print(f"{count:4}  {generated / generate_s:15.0f}  {learned / learn_s:13.0f}  {step_s / len(steps):.2f}")


if __name__ == "__main__":
    jobs.BUILD = Path(sys.argv.pop(1)).resolve()
    if gpu_count() == 0:
        print("no GPU")
        sys.exit(77)
    jobs.WORK = Path(tempfile.mkdtemp(prefix="temper_ranks_"))
    jobs.TINY = CONFIG
    try:
        passed = unittest.main(verbosity=2, exit=False).result.wasSuccessful()
        if gpu_count() > 1:
            print_scaling()
    finally:
        shutil.rmtree(jobs.WORK, ignore_errors=True)
    sys.exit(0 if passed else 1)
