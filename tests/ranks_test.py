"""Ranks of this machine meet and do together what one does alone: python3 tests/ranks_test.py build"""

import os
import shutil
import socket
import subprocess
import time

import jobs
from jobs import (MPIRUN, ROOT, Ended, Ranks, first_step, free_port, have_mpi, listening, model, plain_environment,
                  run_mpi, start_by_hand, start_temper, temper_words, torchrun_environment, train_alone, wait_all)
from patience import PATIENCE_S, comes_true


class Collectives(Ranks):
    def test_mpi(self):
        if not have_mpi():
            self.skipTest("no Open MPI")
        for count in (1, 2, 4):
            self.expect_ok(run_mpi(count, jobs.BUILD / "ranks_collectives"), count)

    def test_tcp(self):
        for count in (1, 2, 3, 4):
            self.expect_ok(wait_all(start_by_hand(count, lambda rank: [jobs.BUILD / "ranks_collectives"])), count)

    def test_alone(self):
        done = subprocess.run([jobs.BUILD / "ranks_collectives"], capture_output=True, text=True, env=plain_environment())
        self.expect_ok(Ended(done.stdout + done.stderr, [done.returncode]), 1)


class Meeting(Ranks):
    def refuse(self, text, **variables):
        done = subprocess.run([jobs.BUILD / "ranks_collectives"], capture_output=True, text=True, timeout=PATIENCE_S,
                              env=plain_environment(**variables))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_incomplete_or_impossible_variables(self):
        self.refuse("RANK=0 is set and WORLD_SIZE is not", RANK=0)
        self.refuse("RANK=2: must be a number from 0 to 1", RANK=2, WORLD_SIZE=2)
        self.refuse("MASTER_ADDR is not", RANK=0, WORLD_SIZE=2, MASTER_PORT=1)

    def test_a_rank_that_never_comes(self):
        ranks = start_temper(3, "ranks.start_s=20")  # the two others come within that
        ranks[1].kill()
        ended = wait_all(ranks)
        self.assertEqual([ended.codes[0], ended.codes[2]], [3, 3], ended.text)
        self.assertEqual(ended.text.count("rank 1 of 3 did not come"), 1, ended.text)
        self.assertEqual(ended.text.count("\n"), 1, ended.text)

    def test_a_rank_that_never_comes_to_mpi(self):
        if not have_mpi():
            self.skipTest("no Open MPI")
        ended = run_mpi(1, *temper_words("ranks.start_s=3"), ":", "-np", 1, "sleep", 100)
        self.assertEqual(ended.codes, [3], ended.text)
        self.assertEqual(ended.text.count("rank 0 of 2: not all ranks came to MPI within 3 s"), 1, ended.text)

    def expect_one_line(self, ended, code, *texts):
        self.assertEqual(set(ended.codes), {code}, ended.text)
        for text in texts:
            self.assertIn(text, ended.text)
        self.assertEqual(ended.text.count("\n"), 1, ended.text)

    def test_a_mistake_of_all_is_said_once(self):
        self.expect_one_line(wait_all(start_temper(2, "run.sede=1")), 2, "run.sede: unknown option")
        self.expect_one_line(wait_all(start_temper(2, "model.path=/nowhere")), 2, "/nowhere")

    def test_ranks_that_differ(self):
        def differ(text, **ranks):
            ended = wait_all(start_temper(2, **ranks))
            self.expect_one_line(ended, 2, "the ranks differ in " + text, "rank 1 of 2 (host")

        for option, first, other in (("run.steps", "2", "3"), ("run.seed", "3", "4"), ("tasks.order", "dealt", "difficulty"),
                                     ("learner.micro_batch_tokens", "4096", "4000"), ("rollout.turns", "2", "1")):
            differ(f"option {option}: '{first}' on rank 0, '{other}'",
                   words_of=lambda rank: [f"{option}={other}"] if rank else [])
        differ("the environment variable OMP_NUM_THREADS: '1' on rank 0, '2'",
               of_rank=lambda rank: {"OMP_NUM_THREADS": str(rank + 1)})
        other = jobs.WORK / "temper"
        shutil.copy(jobs.BUILD / "temper", other)
        with open(other, "ab") as file:
            file.write(b"another build")
        tasks = jobs.WORK / "tasks"
        shutil.copytree(ROOT / "env/tasks", tasks, dirs_exist_ok=True)
        (tasks / "more.yaml").write_text("")
        os.makedirs(jobs.WORK / "elsewhere/env", exist_ok=True)
        shutil.move(tasks, jobs.WORK / "elsewhere/env/tasks")
        differ("the files of tasks.path", directory_of=lambda rank: jobs.WORK / "elsewhere" if rank else ROOT)
        differ("the program: ", program_of=lambda rank: other if rank else jobs.BUILD / "temper")
        library = jobs.WORK / "libc10.so"
        shutil.copy(loaded_library("libc10.so"), library)
        with open(library, "ab") as file:
            file.write(b"another build")
        differ("the library libc10.so: ", of_rank=lambda rank: {"LD_PRELOAD": str(library)} if rank else {})

    def test_ranks_that_count_differently(self):
        ended = wait_all(start_temper(2, of_rank=lambda rank: {"WORLD_SIZE": str(2 + rank)}))
        self.expect_one_line(ended, 2, "the ranks differ in their number: 2 on rank 0, 3 on rank 1")

    def test_one_ranks_mistake(self):
        ended = wait_all(start_temper(2, words_of=lambda rank: ["run.steps=many"] if rank else []))
        self.expect_one_line(ended, 2, "rank 1 of 2 (host", "run.steps: 'many' is not an integer")

    def test_a_shard_degree_that_does_not_divide(self):
        for count, judges, degree, text in ((4, 0, 3, "3 does not divide the 4 ranks that hold the policy: must be one of 1, 2, 4, or 0 for all"),
                                            (4, 1, 2, "2 does not divide the 3 ranks that hold the policy: must be one of 1, 3, or 0 for all"),
                                            (2, 0, 4, "4 does not divide the 2 ranks that hold the policy: must be one of 1, 2, or 0 for all")):
            ended = wait_all(start_temper(count, f"ranks.env={judges}", f"model.shard_degree={degree}"))
            self.expect_one_line(ended, 2, "model.shard_degree: " + text)
            self.assertFalse((jobs.WORK / "run").exists())

    def test_contradicting_launchers(self):
        master = f"127.0.0.1:{free_port()}"
        ended = wait_all(start_temper(2, of_rank=lambda rank: {
            "TEMPER_RANK": str(rank), "TEMPER_WORLD_SIZE": "2", "TEMPER_MASTER": master, "RANK": "0"}))
        self.expect_one_line(ended, 2, "RANK=0 contradicts TEMPER_RANK=1")

    def test_more_ranks_than_gpus(self):
        # More than any machine has; one that sees no GPU refuses cuda as such.
        ended = wait_all(start_temper(2, "model.device=cuda", of_rank=lambda rank: {"CUDA_VISIBLE_DEVICES": ""}))
        self.expect_one_line(ended, 2, "model.device: cuda")


def loaded_library(name):
    """The path of a library that the program loads."""
    shown = subprocess.run(["ldd", jobs.BUILD / "temper"], capture_output=True, text=True, check=True).stdout
    return next(words[2] for words in map(str.split, shown.splitlines()) if words[0] == name)


class Strangers(Ranks):
    """Others on the same hosts and network."""

    def test_a_rank_of_another_secret(self):
        ended = wait_all(start_temper(2, "ranks.start_s=20", of_rank=lambda rank: {"TEMPER_SECRET": f"secret of {rank}"}))
        self.assertEqual(ended.codes, [3, 3], ended.text)
        self.assertIn("did not prove to know this job's secret (here: TEMPER_SECRET)", ended.text)

    def test_a_secret_that_others_can_read(self):
        file = jobs.WORK / "secret"
        file.write_text("known to everyone")
        environment = {"TEMPER_SECRET": "", "TEMPER_SECRET_FILE": str(file)}
        file.chmod(0o644)
        ended = wait_all(start_temper(2, of_rank=lambda rank: environment))
        self.assertEqual(ended.codes, [2, 2], ended.text)
        self.assertIn(f"chmod 600 {file}", ended.text)
        file.chmod(0o600)
        ranks = start_by_hand(2, lambda rank: [jobs.BUILD / "ranks_collectives"], lambda rank: environment)
        self.expect_ok(wait_all(ranks), 2)

    def test_a_secret_is_made_where_none_is_given(self):
        environment = {"TEMPER_SECRET": "", "HOME": str(jobs.WORK / "home")}
        ranks = start_by_hand(3, lambda rank: [jobs.BUILD / "ranks_collectives"], lambda rank: environment)
        self.expect_ok(wait_all(ranks), 3)
        made = jobs.WORK / "home/.config/temper/secret"
        self.assertEqual(made.stat().st_mode & 0o777, 0o600)
        self.assertEqual(len(list(made.parent.iterdir())), 1)

    def test_one_who_writes_into_the_store(self):
        python = ROOT / ".deps/venv/bin/python3"
        if not python.exists():
            self.skipTest("no torch for Python")
        port = free_port()
        stranger = subprocess.Popen([python, "-c", f"""
import datetime, time, torch.distributed as dist
store = dist.TCPStore("127.0.0.1", {port}, None, False, datetime.timedelta(seconds={PATIENCE_S}))
print("in", flush=True)
while True:  # as long as the ranks wait: who could write over what they say would keep them apart
    for key in ("ring/1", "size/1", "here/1", "code"): store.set("temper/0/" + key, "3")
    store.add("temper/0/end", 1)
"""], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        ranks = [subprocess.Popen([jobs.BUILD / "ranks_collectives"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env=torchrun_environment(0, 2, port))]
        self.assertEqual(stranger.stdout.readline(), "in\n")
        ranks.append(subprocess.Popen([jobs.BUILD / "ranks_collectives"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, env=torchrun_environment(1, 2, port)))
        try:
            self.expect_ok(wait_all(ranks), 2)
        finally:
            stranger.kill()
            stranger.communicate()

    def test_they_hear_nobody_elsewhere(self):
        """Where the master is 127.0.0.1, ranks listen there alone."""
        ranks = start_temper(3)
        ranks[2].kill()  # the others wait for it
        try:
            seen = lambda: listening(ranks[0].pid) | listening(ranks[1].pid)
            self.assertTrue(comes_true(lambda: len(seen()) == 3), seen())  # the store, and each rank for its neighbour
            seen = seen()
            self.assertEqual({address for address, _ in seen}, {"127.0.0.1"}, seen)
        finally:
            for rank in ranks:
                rank.kill()
                rank.communicate()

    def test_a_silent_one_holds_nobody_up(self):
        """Connections that say nothing, to every port of the job, while it starts."""
        ranks = start_by_hand(3, lambda rank: [jobs.BUILD / "ranks_collectives"])
        silent, start = [], time.monotonic()
        while any(rank.poll() is None for rank in ranks) and time.monotonic() - start < PATIENCE_S:
            for rank in ranks:
                for _, port in listening(rank.pid):
                    if len(silent) < 200:
                        silent.append(socket.socket())
                        silent[-1].setblocking(False)
                        silent[-1].connect_ex(("127.0.0.1", port))
        self.expect_ok(wait_all(ranks), 3)
        for one in silent:
            one.close()


class Training(Ranks):
    """1 = 2 = 4 ranks, from the same policy."""

    def expect_same(self, directory):
        rows, step = first_step(directory)
        self.assertEqual(rows, self.rows)
        for name in ("actor/pg_loss", "actor/entropy", "actor/grad_norm"):
            self.assertAlmostEqual(step[name], self.step[name], delta=1e-5 * abs(self.step[name]) + 1e-9)
        self.assertEqual(step["perf/generated_tokens"], self.step["perf/generated_tokens"])

    def expect_same_first_steps(self, policy, *cases):
        """Of (ranks, stage, degree), beside one rank alone."""
        learn = [f"model.path={policy}", "eval.before=false", "env.lanes=1", "rollout.samples_per_task=3",
                 "rollout.turns=1", "learner.micro_batch_tokens=400", "learner.updates_per_batch=2",
                 "loss.entropy_coefficient=0.1", "loss.kl_coefficient=0.1", "loss.importance_cap=2",
                 "optimizer.lr=1e-2"]
        one = train_alone(*learn)
        self.rows, self.step = first_step(one)
        self.assertEqual(len(self.rows), 6)
        self.assertGreater(self.step["actor/grad_norm"], 0)
        for count, stage, degree in cases:
            share = "true" if degree else "false"  # one rank alone computes each row's prompt
            words = [*learn, f"model.zero_stage={stage}", f"model.shard_degree={degree}", f"learner.share_prompts={share}"]
            directory = one.parent / f"tcp_{count}_{stage}_{degree}"
            ended = wait_all(start_temper(count, f"run.dir={directory}", *words))
            self.assertEqual(set(ended.codes), {0}, ended.text)
            self.assertEqual(ended.text.count("policy: " + str(directory)), 1, ended.text)
            self.expect_same(directory)
            logs = sorted(path.name for path in (directory / "log").iterdir())
            self.assertEqual(logs, [f"rank_{rank}.txt" for rank in range(count)])
            if have_mpi():
                directory = one.parent / f"mpi_{count}_{stage}_{degree}"
                ended = run_mpi(count, *temper_words(f"run.dir={directory}", *words))
                self.assertEqual(set(ended.codes), {0}, ended.text)
                self.expect_same(directory)

    def test_same_first_step_on_1_2_and_4_ranks(self):
        self.expect_same_first_steps(model(), (2, 1, 0), (2, 2, 0), (4, 2, 0), (2, 2, 1), (4, 1, 2), (4, 2, 2), (2, 3, 0), (4, 3, 2))

    def test_a_head_of_its_own(self):
        """Its gradient and the embedding's lie in one memory under ZeRO-2 and ZeRO-3."""
        policy = train_alone("run.steps=0", "eval.before=false", "model.tie_word_embeddings=false") / "checkpoints/cold_start"
        self.expect_same_first_steps(policy, (2, 2, 0), (2, 3, 0))

    def test_sharded_weights_have_the_bits_of_whole_ones(self):
        """What a cold start learns, which no clock decides; five blocks take turns in the memory of three."""
        words = ["run.steps=0", "eval.before=false", "model.num_hidden_layers=5", "cold_start.micro_batch_tokens=600",
                 f"env.cache={jobs.WORK / 'stages.db'}"]
        train_alone(*words)  # fills the cache
        for count, degree in ((2, 0), (3, 0), (4, 0), (4, 2)):
            weights = []
            for stage in (2, 3):
                directory = jobs.WORK / f"stages_{count}_{stage}_{degree}"
                ended = wait_all(start_temper(count, f"run.dir={directory}", *words, f"model.zero_stage={stage}",
                                              f"model.shard_degree={degree}"))
                self.assertEqual(set(ended.codes), {0}, ended.text)
                shares = sorted((directory / "checkpoints/step_000000").glob("rank_*.safetensors"))
                self.assertEqual(len(shares), count)
                weights.append([(directory / "checkpoints/final/model.safetensors").read_bytes(), *(share.read_bytes() for share in shares)])
            self.assertTrue(weights[0] == weights[1], f"{count} ranks in groups of {degree}")

    def test_a_shard_group_has_a_whole_checkpoint(self):
        """Of four ranks in groups of two the first two write theirs, from which one rank makes the same policy."""
        directory = jobs.WORK / "groups"
        ended = wait_all(start_temper(4, f"run.dir={directory}", "model.shard_degree=2", "run.steps=0", "eval.before=false"))
        self.assertEqual(set(ended.codes), {0}, ended.text)
        sizes = [path.stat().st_size for path in sorted((directory / "checkpoints/step_000000").glob("rank_*.safetensors"))]
        self.assertEqual(len(sizes), 4)
        self.assertGreater(min(sizes[:2]), 100_000)
        self.assertLess(max(sizes[2:]), 100)
        subprocess.run([jobs.BUILD / "temper", "export", directory / "checkpoints/step_000000", jobs.WORK / "exported"], check=True,
                       capture_output=True)
        self.assertEqual((jobs.WORK / "exported/model.safetensors").read_bytes(),
                         (directory / "checkpoints/final/model.safetensors").read_bytes())

    def test_cold_start_and_evaluation(self):
        ended = wait_all(start_temper(2, f"run.dir={jobs.WORK / 'cold'}", "cold_start.max_seconds=1", "run.max_seconds=5"))
        self.assertEqual(set(ended.codes), {0}, ended.text)
        self.assertIn("corpus: 24 conversations", ended.text)
        ended = wait_all(start_temper(2, f"model.path={jobs.WORK / 'cold/checkpoints/final'}", command="eval"))
        self.assertEqual(set(ended.codes), {0}, ended.text)
        self.assertEqual(ended.text.count("policy, greedy"), 1, ended.text)


class Hosts(Ranks):
    """Two hosts: network namespaces with a wire between them."""

    NET = "10.213.77"

    def setUp(self):
        self.names = [f"temper{os.getpid()}h{host}" for host in range(2)]
        wires = [f"tmpr{os.getpid() % 100000}w{host}" for host in range(2)]
        commands = [f"ip netns add {name}" for name in self.names]
        commands += [f"ip link add {wires[0]} netns {self.names[0]} type veth peer name {wires[1]} netns {self.names[1]}"]
        for host, (name, wire) in enumerate(zip(self.names, wires)):
            commands += [f"ip -n {name} addr add {self.NET}.{host + 1}/24 dev {wire}", f"ip -n {name} link set {wire} up",
                         f"ip -n {name} link set lo up"]
        self.unplug = f"ip -n {self.names[1]} link set {wires[1]} down"
        for command in commands:
            try:
                done = subprocess.run(command.split(), capture_output=True, text=True)
            except FileNotFoundError:
                self.skipTest("no ip command")
            if done.returncode != 0:
                self.tearDown()
                self.skipTest(f"no network namespaces here: {command}: {done.stderr.strip()}")

    def tearDown(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def start(self, count, *words, of_rank=lambda rank: {}):
        def environment(rank):
            return {"MASTER_ADDR": f"{self.NET}.1", "MASTER_PORT": "29500"} | of_rank(rank)

        words = temper_words(*words)
        return start_by_hand(count, lambda rank: ["ip", "netns", "exec", self.names[rank * 2 // count], *words], environment)

    def test_by_hand(self):
        directory = jobs.WORK / "hosts"
        ended = wait_all(self.start(4, f"run.dir={directory}"))
        self.assertEqual(set(ended.codes), {0}, ended.text)
        self.assertIn("ranks: 4", ended.text)
        self.assertTrue((directory / "checkpoints/final/model.safetensors").exists())

    def test_mpirun_with_an_agent(self):
        if not have_mpi():
            self.skipTest("no Open MPI")
        agent = jobs.WORK / "agent"
        agent.write_text(f"#!/bin/bash\nhost=$1; shift\nexec ip netns exec {self.names[0][:-1]}$((${{host##*.}} - 1)) bash -c \"$*\"\n")
        agent.chmod(0o755)
        net = f"{self.NET}.0/24"
        options = ["--mca", "plm_rsh_agent", agent, "--mca", "btl", "tcp,self", "--mca", "oob_tcp_if_include", net,
                   "--mca", "btl_tcp_if_include", net, "-H", f"{self.NET}.1:1,{self.NET}.2:1"]
        done = subprocess.run(["ip", "netns", "exec", self.names[0], *MPIRUN, *map(str, options), "-np", "2",
                               *map(str, temper_words(f"run.dir={jobs.WORK / 'mpi_hosts'}"))], capture_output=True, text=True,
                              errors="replace", timeout=PATIENCE_S, env=plain_environment(), cwd=ROOT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("ranks: 2", done.stdout)

    def test_a_rank_killed_on_the_other_host(self):
        ended = wait_all(self.start(4, f"run.dir={jobs.WORK / 'hosts_killed'}",
                                    of_rank=lambda rank: {"TEMPER_FAULT": "update:kill"} if rank == 3 else {}))
        self.assertEqual(ended.codes[:3], [3, 3, 3], ended.text)
        self.assertEqual(ended.text.count("; all ranks end"), 1, ended.text)
        self.assertIn("rank 3 of 4", ended.text)

    def test_a_wire_that_breaks(self):
        ranks = self.start(2, f"run.dir={jobs.WORK / 'unplugged'}", "run.steps=1000000", "ranks.silence_s=10", "eval.before=false")
        metrics = jobs.WORK / "unplugged/metrics.jsonl"
        self.assertTrue(comes_true(lambda: metrics.exists() and "actor/pg_loss" in metrics.read_text()))
        subprocess.run(self.unplug.split(), check=True)
        ended = wait_all(ranks)
        # Each side sees the other as lost, and here, on one machine, may end it before it ends itself.
        self.assertTrue(set(ended.codes) <= {3, -9}, ended.text)
        self.assertIn("has given no sign of life for", ended.text)


if __name__ == "__main__":
    jobs.run_tests("ranks")
