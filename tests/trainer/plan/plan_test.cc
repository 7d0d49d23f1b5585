#include "trainer/plan/plan.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "policy/cuda/device.h"
#include "tests/env/module_boxes.h"
#include "trainer/plan/published_shapes.h"

namespace temper::trainer {
namespace {

using testing::HasSubstr;

RunConfig gpu_config() {
  return read_config("", {"model.device=cuda", "model.path=models/Qwen3-8B", "model.recompute=all",
                          "rollout.tasks_per_step=16", "rollout.samples_per_task=16", "rollout.turns=3",
                          "rollout.max_response_tokens=8192", "rollout.max_context_tokens=18432",
                          "rollout.max_sequences=4", "learner.micro_batch_tokens=18432"});
}

const JudgePlan kJudge{.items = {{"judge", int64_t(6) << 30}}};

int64_t bytes_of(const MemoryPlan& memory, const std::string& what) {
  for (const MemoryItem& item : memory.items)
    if (item.what.starts_with(what)) return item.bytes;
  ADD_FAILURE() << "no " << what;
  return 0;
}

class PaperPlan : public testing::Test {
 protected:
  // Layouts of a GPU are there where Temper is built with CUDA.
  void SetUp() override {
    try {
      site_ = site_named("8xH200-141");
    } catch (const ConfigError& e) {
      GTEST_SKIP() << e.what();
    }
  }
  PlanSite site_;
};

// Every figure worked out by hand from Qwen3-8B's config.json.
TEST_F(PaperPlan, Of8BIsWhatAHandWorksOut) {
  const policy::ModelConfig shape = *published_shape("Qwen3-8B");
  ASSERT_EQ(shape.parameter_count(), 8190735360);
  const Plan plan = make_plan(gpu_config(), shape, site_, kJudge);
  ASSERT_EQ(plan.memories.size(), 2u);
  const MemoryPlan& gpu = plan.memories[1];
  EXPECT_EQ(bytes_of(gpu, "weights"), 16381470720);
  EXPECT_EQ(bytes_of(gpu, "master weights"), 4095367680);
  EXPECT_EQ(bytes_of(gpu, "gradients"), 4095367680);
  EXPECT_EQ(bytes_of(gpu, "optimizer moments"), 8190735360);
  // The head with the last norm, in whose place the embedding's comes, and two blocks, padded to multiples of 8 × 64.
  EXPECT_EQ(bytes_of(gpu, "gradients not yet summed over 8 ranks"),
            4 * (int64_t(622333952) + 2 * int64_t(192946688)));
  // Activations are the inputs of 36 blocks, the last output, the inside of one block, the gradient of the residual stream, and 8,192
  // rows of logits, in whose place all scratch of the blocks lies.
  EXPECT_NEAR(double(bytes_of(gpu, "activations of 18432 tokens")), 9736749568, 0.001 * 9736749568);
  EXPECT_EQ(bytes_of(gpu, "keys and values of 4 sequences"), 4 * int64_t(147456) * 18432);
  EXPECT_EQ(plan.step.trajectories, 256);
  EXPECT_EQ(plan.step.verdicts, 768);
  EXPECT_EQ(plan.step.generated_tokens, 256 * 18432);
  EXPECT_EQ(plan.step.learned_tokens, 256 * 18432);
  EXPECT_NEAR(plan.step.flops, 256 * 18432 * 61716037632.0 * 4 / 3, 1e12);
  EXPECT_EQ(plan.step.checkpoint_bytes, 98288824320);
  // Of each pack's gradients in f32 and the update's weights in bf16, seven eighths: 32 packs a rank.
  EXPECT_EQ(plan.step.replica_bytes, 0);
  EXPECT_NEAR(plan.step.shard_bytes, 7.0 / 8 * 8190735360 * (4 * 32 + 2), 1e6);
  // Of 36 blocks 35 compute their forward again.
  const double again = 1 + 35.0 / 36 / 3;
  EXPECT_NEAR(plan.step.learn_s, 256 * 18432 * 61716037632.0 * again / (0.5 * 989e12 * 8), 0.01);
  EXPECT_TRUE(gpu.fits());
}

// 64 GPUs in groups of 8: each holds an eighth, as one of 8 GPUs does, and learns from an eighth as much.
TEST_F(PaperPlan, OfShardGroupsIsWhatAHandWorksOut) {
  RunConfig config = gpu_config();
  const policy::ModelConfig shape = *published_shape("Qwen3-8B");
  const Plan eight = make_plan(config, shape, site_, kJudge);
  const PlanSite hosts = site_named("64xH200-141");
  config.model.memory.shard_degree = 8;
  const Plan plan = make_plan(config, shape, hosts, kJudge);
  for (const char* item :
       {"master weights", "gradients", "optimizer moments", "gradients not yet summed over 8 ranks"})
    EXPECT_EQ(bytes_of(plan.memories[1], item), bytes_of(eight.memories[1], item)) << item;
  // 4 packs a rank; a share's gradients in f32 go around its 8 replicas twice.
  const double share = 4 * 8190735360.0 / 8;
  EXPECT_NEAR(plan.step.shard_bytes, 7.0 / 8 * 8190735360 * (4 * 4 + 2), 1e6);
  EXPECT_NEAR(plan.step.replica_bytes, 2 * 7.0 / 8 * share, 1e6);
  EXPECT_NEAR(plan.step.send_s,
              plan.step.shard_bytes / (0.75 * 450e9) + plan.step.replica_bytes / (0.75 * 50e9), 1e-6);
  config.model.memory.shard_degree = 0;  // over hosts, each with 8 × 50 GB/s
  const Plan all = make_plan(config, shape, hosts, kJudge);
  EXPECT_EQ(all.step.replica_bytes, 0);
  EXPECT_NEAR(all.step.send_s, 63.0 / 64 * 8190735360 * (4 * 4 + 2) / (0.75 * 400e9), 1e-6);
  config.model.memory.shard_degree = 24;
  EXPECT_THAT([&] { make_plan(config, shape, hosts, kJudge); },
              testing::ThrowsMessage<ConfigError>(HasSubstr(
                  "model.shard_degree: 24 does not divide the 64 ranks that hold the policy: must be one of "
                  "1, 2, 4, 8, 16, 32, 64, or 0 for all")));
}

// Four copies of a key and a value for each token, and of their gradients, where the feed-forward's scratch lies: of 8B 7,168
// numbers do not fit there. Beside them, nine words a token say where the copies are from. Logits, which lie there as well, are few.
TEST_F(PaperPlan, SharedPromptsTakeCopiesOfKeys) {
  const policy::ModelConfig shape = *published_shape("Qwen3-8B");
  RunConfig config = gpu_config();
  config.model.memory.logits_chunk = 1024;
  const auto activations = [&] {
    return bytes_of(make_plan(config, shape, site_, kJudge).memories[1], "activations");
  };
  config.learner.share_prompts = false;
  const int64_t without = activations();
  config.learner.share_prompts = true;
  EXPECT_NEAR(double(activations() - without), 18432 * (2 * 7168 + 9 * 4), 2048);
}

// A rollout has whole weights and no activations, an update shares of them and no keys and values.
TEST_F(PaperPlan, OfShardedWeightsIsWhatAHandWorksOut) {
  RunConfig config = gpu_config();
  const policy::ModelConfig shape = *published_shape("Qwen3-8B");
  const Plan whole = make_plan(config, shape, site_, kJudge);
  config.model.memory.zero_stage = 3;
  config.loss.kl_coefficient = 0.1;
  const Plan plan = make_plan(config, shape, site_, kJudge);
  ASSERT_EQ(plan.memories.size(), 3u);
  const MemoryPlan &rollout = plan.memories[1], &update = plan.memories[2];
  EXPECT_EQ(rollout.name, "GPU memory in a rollout");
  EXPECT_EQ(update.name, "GPU memory in an update");
  const int64_t share = 16381470720 / 8;
  EXPECT_EQ(rollout.items[0].bytes, 16381470720);
  // The head with the last norm, with which the embedding takes turns, and three blocks.
  EXPECT_EQ(bytes_of(update, "weights gathered"), 2 * (int64_t(622333952) + 3 * int64_t(192946688)));
  for (const MemoryPlan* one : {&rollout, &update}) {
    EXPECT_EQ(bytes_of(*one, "master weights"), 4095367680);
    EXPECT_EQ(bytes_of(*one, "reference weights"), share);
    EXPECT_EQ(bytes_of(*one, "judge"), int64_t(6) << 30);
  }
  const MemoryPlan& both = whole.memories[1];
  const int64_t unsummed = bytes_of(both, "gradients not yet summed"),
                activations = bytes_of(both, "activations"), keys = bytes_of(both, "keys and values");
  EXPECT_EQ(rollout.needed_bytes(), both.needed_bytes() - unsummed - activations + share);
  EXPECT_EQ(update.needed_bytes(),
            both.needed_bytes() - 16381470720 - keys + share + bytes_of(update, "weights gathered"));
  // 32 packs a rank, each with two gathers of the weights, and one for the rollout.
  EXPECT_NEAR(plan.step.shard_bytes, 7.0 / 8 * 8190735360 * (4 * 32 + 2 * (2 * 32 + 1)), 1e6);
  // A master in the host's memory is too far away to round a share from, again and again.
  config.model.memory.offload_optimizer = true;
  const Plan offloaded = make_plan(config, shape, site_, kJudge);
  for (const size_t phase : {1, 2})
    EXPECT_EQ(bytes_of(offloaded.memories[phase], "weights, the share"), share);
  config.model.memory.offload_optimizer = false;
  config.model.memory.shard_degree = 1;  // nobody to share with
  config.model.memory.phases = "together";
  EXPECT_EQ(make_plan(config, shape, site_, kJudge).memories.size(), 2u);
}

TEST_F(PaperPlan, PhasesAreApartWhereTheyDoNotFitTogether) {
  RunConfig config = gpu_config();
  const policy::ModelConfig shape = *published_shape("Qwen3-8B");
  EXPECT_FALSE(make_plan(config, shape, site_, kJudge).apart);
  const PlanSite small = site_named("8xH100-80");
  config.rollout.max_sequences = 8;
  const Plan plan = make_plan(config, shape, small, kJudge);
  EXPECT_TRUE(plan.apart);
  EXPECT_EQ(misfit(plan), "");
  ASSERT_EQ(plan.memories.size(), 3u);
  const MemoryPlan &rollout = plan.memories[1], &update = plan.memories[2];
  config.model.memory.phases = "together";
  const Plan both = make_plan(config, shape, small, kJudge);
  EXPECT_NE(misfit(both), "");
  const MemoryPlan& all = both.memories[1];
  const int64_t keys = bytes_of(all, "keys and values"), activations = bytes_of(all, "activations"),
                unsummed = bytes_of(all, "gradients not yet summed");
  EXPECT_EQ(rollout.needed_bytes(), all.needed_bytes() - activations - unsummed);
  EXPECT_EQ(update.needed_bytes(), all.needed_bytes() - keys);
  config.model.memory.phases = "apart";
  EXPECT_TRUE(make_plan(config, shape, site_, kJudge).apart);
}

// Of each token of a block: queries, keys and values, attention's output, the middle, and gate and up in bf16, and a number of
// each head in f32. Two blocks have theirs on the GPU.
TEST_F(PaperPlan, OfOffloadedActivationsIsWhatAHandWorksOut) {
  RunConfig config = gpu_config();
  const policy::ModelConfig shape = *published_shape("Qwen3-8B");
  const Plan recomputed = make_plan(config, shape, site_, kJudge);
  config.model.memory.offload_activations = 12;
  const Plan plan = make_plan(config, shape, site_, kJudge);
  const int64_t block = 18432 * (2 * (6144 + 2 * 4096 + 2 * 12288) + 4 * 32);
  EXPECT_EQ(bytes_of(plan.memories[0], "activations that blocks offload"), 10 * block);
  EXPECT_EQ(bytes_of(plan.memories[1], "activations of"),
            bytes_of(recomputed.memories[1], "activations of") + 2 * block);
  EXPECT_NEAR(plan.step.learn_s / recomputed.step.learn_s, (1 + 23.0 / 108) / (1 + 35.0 / 108), 1e-6);
  site_.free_host_bytes = int64_t(8) << 30;
  EXPECT_THAT(misfit(make_plan(config, shape, site_, kJudge)), HasSubstr("lower model.offload_activations"));
  config.model.memory.offload_activations = 36;
  EXPECT_THAT([&] { make_plan(config, shape, site_, kJudge); },
              testing::ThrowsMessage<ConfigError>(HasSubstr(
                  "model.offload_activations: 36 is too large: must be at most 35, the number of blocks that "
                  "recompute")));
}

// 8B fits one H200 if master weights and moments, twelve bytes a parameter, lie on the host.
TEST_F(PaperPlan, OfAnOffloadedOptimizerIsWhatAHandWorksOut) {
  RunConfig config = gpu_config();
  config.rollout.max_sequences = 1;
  const policy::ModelConfig shape = *published_shape("Qwen3-8B");
  PlanSite one = site_named("1xH200-141");
  EXPECT_THAT(misfit(make_plan(config, shape, one, kJudge)), HasSubstr("model.offload_optimizer=true"));
  config.model.memory.offload_optimizer = true;
  one.free_host_bytes = int64_t(120) << 30;
  const Plan plan = make_plan(config, shape, one, kJudge);
  EXPECT_EQ(misfit(plan), "");
  EXPECT_EQ(bytes_of(plan.memories[0], "master weights and moments"), 12 * int64_t(8190735360));
  EXPECT_EQ(bytes_of(plan.memories[1], "master weights and moments in passing"), 9 * (int64_t(64) << 20));
  for (const MemoryItem& item : plan.memories[0].items) EXPECT_FALSE(item.what.starts_with("checkpoint"));
  for (const MemoryItem& item : plan.memories[1].items) EXPECT_NE(item.what, "master weights");
  EXPECT_NEAR(plan.step.offload_bytes, 12 * 8190735360.0, 1);
  EXPECT_NEAR(plan.step.offload_s, 12 * 8190735360.0 / 48e9, 1e-6);
  one.free_host_bytes = int64_t(96) << 30;
  EXPECT_THAT(misfit(make_plan(config, shape, one, kJudge)), HasSubstr("set model.offload_optimizer=false"));
  config.model.memory.offload_optimizer = false;  // the host has no room for it, and so it is not what to do
  EXPECT_THAT(misfit(make_plan(config, shape, one, kJudge)), testing::Not(HasSubstr("offload")));
}

TEST_F(PaperPlan, SaysThatShardedWeightsFit) {
  RunConfig config = gpu_config();
  config.rollout.max_sequences = 1;
  const PlanSite hosts = site_named("16xH200-141");
  const policy::ModelConfig shape = *published_shape("QwQ-32B");
  const std::string advice = make_plan(config, shape, hosts, kJudge).advice;
  EXPECT_THAT(advice, HasSubstr("model.zero_stage=3, model.recompute=all"));
  config.model.memory.zero_stage = 3;
  EXPECT_EQ(misfit(make_plan(config, shape, hosts, kJudge)), "");
}

TEST_F(PaperPlan, SaysWhatWouldFit) {
  RunConfig config = gpu_config();
  const policy::ModelConfig shape = *published_shape("Qwen3-8B");
  const Plan plan = make_plan(config, shape, site_, kJudge);
  ASSERT_THAT(plan.advice, HasSubstr("rollout.max_sequences may be up to "));
  const int64_t most = std::stoll(plan.advice.substr(plan.advice.rfind(' ')));
  config.rollout.max_sequences = most;
  EXPECT_EQ(misfit(make_plan(config, shape, site_, kJudge)), "");
  config.rollout.max_sequences = most + 1;
  EXPECT_THAT(misfit(make_plan(config, shape, site_, kJudge)),
              HasSubstr(fmt::format("may be up to {}", most)));
  EXPECT_THROW(check_fits(make_plan(config, shape, site_, kJudge)), ConfigError);
  config.model.memory.recompute = "none";
  config.learner.micro_batch_tokens = 40960;
  config.rollout.max_sequences = 1;
  const std::string advice = make_plan(config, shape, site_, kJudge).advice;
  const std::string blocks = ", model.recompute_blocks of at least ";
  ASSERT_THAT(advice, HasSubstr("model.recompute=feed_forward" + blocks));
  config.model.memory.recompute = "feed_forward";
  config.model.memory.recompute_blocks = std::stoll(advice.substr(advice.find(blocks) + blocks.size()));
  EXPECT_EQ(misfit(make_plan(config, shape, site_, kJudge)), "");
  EXPECT_LT(make_plan(config, shape, site_, kJudge).step.learn_s, plan.step.learn_s);
  --config.model.memory.recompute_blocks;
  EXPECT_NE(misfit(make_plan(config, shape, site_, kJudge)), "");
  const Plan large = make_plan(config, *published_shape("Qwen3-14B"), site_named("1xH100-80"), kJudge);
  EXPECT_THAT(large.advice, HasSubstr("such GPUs"));
}

TEST_F(PaperPlan, SaysThatALargerShardGroupFits) {
  RunConfig config = gpu_config();
  config.model.memory.shard_degree = 8;
  const PlanSite hosts = site_named("64xH200-141");
  const policy::ModelConfig shape = *published_shape("QwQ-32B");
  EXPECT_THAT(make_plan(config, shape, hosts, kJudge).advice,
              HasSubstr("model.shard_degree=0, model.recompute=all"));
  config.model.memory.shard_degree = 0;
  config.rollout.max_sequences = 1;
  EXPECT_EQ(misfit(make_plan(config, shape, hosts, kJudge)), "");
}

env::Task task_in(const std::string& language) {
  env::Task task;
  task.name = "level1_1_add";
  task.language = language;
  task.reference =
      "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x + x\n"
      "def get_inputs():\n    return [torch.rand(1024, 1024)]\ndef get_init_inputs():\n    return []\n";
  if (language == "kernelbench") task.module = env::ModuleProblem{.level = 1, .id = 1, .file = "1_Add.py"};
  return task;
}

// What is learned of problems stays out of the user's folder.
class JudgeMemory : public testing::Test {
 protected:
  ~JudgeMemory() override { std::filesystem::remove(cache_ + ".problems"); }
  RunConfig config() const {
    RunConfig config = gpu_config();
    config.env.cache = cache_;
    return config;
  }
  // Beside which so many bytes are left.
  PlanSite site_with(int64_t room) const {
    PlanSite site{.free_gpu_bytes = 0};
    site.free_gpu_bytes = room - room_beside_policy(config(), shape_, site);
    return site;
  }
  JudgePlan plan(const std::vector<env::Task>& tasks, const PlanSite& site) const {
    return judge_plan(config(), shape_, tasks, site);
  }
  const std::string cache_ =
      (std::filesystem::temp_directory_path() / fmt::format("temper_plan_{}", ::getpid())).string();
  const policy::ModelConfig shape_ = *published_shape("Qwen3-8B");
};

TEST_F(JudgeMemory, IsNothingWhereTheJudgeIsElsewhere) {
  const PlanSite site{.free_gpu_bytes = int64_t(80) << 30};
  RunConfig config = gpu_config();
  EXPECT_TRUE(judge_plan(config, shape_, {task_in("cpp")}, site).items.empty());
  const auto cuda = judge_plan(config, shape_, {task_in("cuda")}, site).items;
  ASSERT_EQ(cuda.size(), 1u);
  EXPECT_EQ(cuda[0].bytes, int64_t(6) << 30);
  config.env.gpus = {1};
  EXPECT_TRUE(judge_plan(config, shape_, {task_in("cuda")}, site).items.empty());
  config.env.gpus = {};
  config.model.device = "cpu";
  EXPECT_TRUE(judge_plan(config, shape_, {task_in("cuda")}, site).items.empty());
}

constexpr int64_t kTensor = int64_t(4) << 20, kContexts = 5 * (int64_t(600) << 20);
// Of level1_1_add: exchange, reference, modules.
constexpr int64_t kLeast = (2 + 1 + 3 + 4 + 2) * kTensor + kContexts, kDraws = (24 * 3 + 5 * 2) * kTensor;

TEST_F(JudgeMemory, OfModulesIsThatOfTheLargestProblem) {
  SKIP_WITHOUT_MODULES();
  env::Task small = task_in("kernelbench"), broken = small;
  small.name = "small";
  small.reference.replace(small.reference.find("1024, 1024"), 10, "16, 16");
  broken.reference = "import no_such_package\n";
  const JudgePlan judge = plan({small, task_in("kernelbench"), broken}, site_with(int64_t(40) << 30));
  const MemoryPlan gpu{.name = "", .items = judge.items};
  EXPECT_EQ(bytes_of(gpu, "judge, exchange of level1_1_add"), 2 * kTensor);
  EXPECT_EQ(bytes_of(gpu, "judge, its reference"), (1 + 3 + 4) * kTensor);
  EXPECT_EQ(bytes_of(gpu, "judge, draws that are kept"), kDraws);
  EXPECT_EQ(bytes_of(gpu, "judge, baseline and a candidate"), 2 * kTensor);
  EXPECT_EQ(bytes_of(gpu, "judge, 5 contexts"), kContexts);
  EXPECT_EQ(gpu.needed_bytes(), kLeast + kDraws);
  EXPECT_TRUE(judge.modules && judge.left_out.empty());
  // Where less is left, fewer draws are kept.
  const MemoryPlan tight{.name = "",
                         .items = plan({small, task_in("kernelbench")}, site_with(kLeast + 100)).items};
  EXPECT_EQ(bytes_of(tight, "judge, exchange of level1_1_add"), 2 * kTensor);
  EXPECT_EQ(bytes_of(tight, "judge, draws that are kept"), 100);
}

TEST_F(JudgeMemory, LeavesOutWhatDoesNotFitBesideThePolicy) {
  SKIP_WITHOUT_MODULES();
  env::Task small = task_in("kernelbench");
  small.name = "small";
  small.reference.replace(small.reference.find("1024, 1024"), 10, "16, 16");
  const PlanSite site = site_with(kLeast - 1);
  const JudgePlan judge = plan({task_in("kernelbench"), small}, site);
  ASSERT_EQ(judge.left_out.size(), 1u);
  EXPECT_EQ(judge.left_out[0].task, "level1_1_add");
  EXPECT_EQ(judge.left_out[0].bytes, kLeast);
  EXPECT_EQ(judge.room_bytes, kLeast - 1);
  const Plan whole = make_plan(config(), shape_, site, judge);
  EXPECT_EQ(misfit(whole), "");
  EXPECT_THAT(
      left_out_text(whole),
      testing::AllOf(testing::StartsWith("left out: 1 of 2 problems"), HasSubstr("level1_1_add (3.0 GiB)"),
                     HasSubstr("env.gpus gives the judge GPUs of its own"),
                     HasSubstr("Beside all of them: rollout.max_sequences may be up to 3")));
  EXPECT_THAT(to_text(whole), HasSubstr("left out: 1 of 2 problems"));
  // Where none fits it is the judge's fault, and where the policy does not fit the policy's.
  const JudgePlan none = plan({task_in("kernelbench"), small}, site_with(kContexts - 1));
  EXPECT_EQ(none.left_out.size(), 1u);
  EXPECT_THAT(
      misfit(make_plan(config(), shape_, site_with(kContexts - 1), none)),
      testing::AllOf(HasSubstr(", which fits by itself, and the judge 2.9 GiB"), HasSubstr("env.gpus")));
  const JudgePlan all = plan({task_in("kernelbench"), small}, site_with(-1));
  EXPECT_TRUE(all.left_out.empty());
  EXPECT_THAT(misfit(make_plan(config(), shape_, site_with(-1), all)),
              HasSubstr("which is too much by itself, and the judge "));
}

TEST_F(PaperPlan, OfModulesCountsTheirJudging) {
  const policy::ModelConfig shape = *published_shape("Qwen3-8B");
  RunConfig config = gpu_config();
  config.rollout.context.prompt.rule = "drkernel";
  const JudgePlan modules{.modules = true};
  const StepCost step = make_plan(config, shape, site_, modules).step;
  // 768 verdicts and 16 problems on eight GPUs.
  EXPECT_DOUBLE_EQ(step.judge_s, (768 * 2.0 + 16 * 5.0) / 8);
  EXPECT_THAT(to_text(make_plan(config, shape, site_, modules)),
              testing::AllOf(HasSubstr("202 s to judge in turn with it"),
                             HasSubstr("a verdict on a module 2.0 s of a GPU")));
  config.env.gpus = {0, 1};
  EXPECT_DOUBLE_EQ(make_plan(config, shape, site_, modules).step.judge_s, (768 * 2.0 + 16 * 5.0) / 2);
  EXPECT_THAT(to_text(make_plan(config, shape, site_, modules)), HasSubstr("to judge beside it"));
  config.rollout.context.prompt.kernels = "cuda";
  config.env.gpus = {};
  EXPECT_DOUBLE_EQ(make_plan(config, shape, site_, modules).step.judge_s, step.judge_s);
  site_.cores = 4;
  EXPECT_DOUBLE_EQ(make_plan(config, shape, site_, modules).step.judge_s, 768 * 28.0 / (4 * 8))
      << "cores compile";
  EXPECT_THAT(to_text(make_plan(config, shape, site_, {})),
              HasSubstr("a verdict 0.55 s of one of 16 cores a GPU"));
}

TEST(PublishedShapes, AreValid) {
  for (const std::string& name : published_names()) {
    Problems problems;
    published_shape(name)->validate("model", problems);
    EXPECT_NO_THROW(problems.throw_if_any()) << name;
  }
  EXPECT_EQ(published_shape("QwQ-32B")->parameter_count(), 32763876352);
  EXPECT_EQ(published_shape("Qwen3-14B")->parameter_count(), 14768307200);
  EXPECT_EQ(published_shape("Llama-3.1-8B")->parameter_count(), 8030261248);
  EXPECT_EQ(published_shape("Qwen2.5-7B")->parameter_count(), 7615616512);
  EXPECT_FALSE(published_shape("qwen3-8b"));
}

}  // namespace
}  // namespace temper::trainer
