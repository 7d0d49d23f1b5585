#include "env/plan/triton/reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/env/cuda_boxes.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

TritonLimits limits() {
  return {.buffers = {{{64}, {64}}}, .target = {}, .workspace_bytes = 4096, .wall_ms = 900};
}

Json pointer_to(const char* space, int index, int64_t offset) {
  return {{"space", space}, {"index", index}, {"offset", offset}};
}

Json memset_of(Json to, int64_t count) {
  to.update({{"value", 0}, {"width", 4}, {"count", count}});
  return {{"memset", to}};
}

// The input goes through a workspace into the output.
Json plain_reply() {
  const Json steps{
      memset_of(pointer_to("workspace", 0, 64), 4),
      {{"copy", {{"to", pointer_to("output", 0, 0)}, {"from", pointer_to("input", 0, 0)}, {"bytes", 64}}}}};
  return {{"status", "ok"},
          {"cubins", 0},
          {"compile_ms", 210.5},
          {"plan_ms", 12},
          {"plans", {{{"kernels", Json::array()}, {"workspaces", {1024}}, {"steps", steps}}}}};
}

Json launch_of(const char* kernel_arguments, Json relocations) {
  return {{"launch",
           {{"kernel", 0},
            {"grid", {1, 1, 1}},
            {"block", {128, 1, 1}},
            {"cluster", {1, 1, 1}},
            {"shared", 0},
            {"cooperative", false},
            {"programmatic", false},
            {"arguments", kernel_arguments},
            {"relocations", std::move(relocations)},
            {"tensor_maps", Json::array()}}}};
}

Json launching_reply() {
  Json relocation = pointer_to("output", 0, 16);
  relocation["at"] = 0;
  Json reply = plain_reply();
  reply["cubins"] = 1;
  reply["plans"][0]["kernels"] = {{{"name", "fill"}, {"cubin", 0}, {"max_dynamic_shared", 0}}};
  reply["plans"][0]["steps"] = Json::array({launch_of("00000000000000000c000000", {relocation})});
  return reply;
}

std::string cubin_of(const std::string& source) { return compile_cuda(source).cubin; }

constexpr const char* kFill =
    "extern \"C\" __global__ void fill(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 1; }\n"
    "extern \"C\" void launch() {}\n";

// "malformed: words", or the failure's kind and reason.
std::string outcome(const std::vector<std::string>& frames) {
  const TritonReply reply = read_triton_reply(frames, limits());
  if (!reply.infra.empty()) return "infra " + reply.infra;
  if (!reply.failure) return "ok";
  return reply.failure->reason + ": " + reply.failure->detail;
}

TEST(TritonReply, IsReadIntoPlans) {
  const TritonReply reply = read_triton_reply({plain_reply().dump()}, limits());
  ASSERT_FALSE(reply.failure) << reply.failure->detail;
  ASSERT_EQ(reply.plans.size(), 1u);
  EXPECT_EQ(reply.compile_ms, 210.5);
  EXPECT_EQ(reply.plan_ms, 12);
  const LaunchPlan& plan = reply.plans[0];
  EXPECT_EQ(plan.workspaces, std::vector<int64_t>{1024});
  EXPECT_EQ(std::get<Memset>(plan.steps.at(0)), (Memset{{Space::kWorkspace, 0, 64}, 0, 4, 4}));
  EXPECT_EQ(std::get<Copy>(plan.steps.at(1)), (Copy{{Space::kOutput, 0, 0}, {Space::kInput, 0, 0}, 64}));
}

TEST(TritonReply, ClaimsNoMoreTimeThanPassed) {
  Json reply = plain_reply();
  reply["compile_ms"] = 1e300;
  EXPECT_EQ(read_triton_reply({reply.dump()}, limits()).compile_ms, 900);
  reply["compile_ms"] = -5;
  reply["plan_ms"] = "long";
  const TritonReply read = read_triton_reply({reply.dump()}, limits());
  EXPECT_EQ(read.compile_ms, 0);
  EXPECT_EQ(read.plan_ms, 0);
}

TEST(TritonReply, RefusesWhatNoHonestProcessWrites) {
  const auto with = [](const std::string& path, const Json& value) {
    Json reply = plain_reply();
    reply[Json::json_pointer(path)] = value;
    return outcome({reply.dump()});
  };
  EXPECT_EQ(outcome({plain_reply().dump()}), "ok");
  const std::string copy = "/plans/0/steps/1/copy", set = "/plans/0/steps/0/memset";
  for (const auto& [said, expected] : std::vector<std::pair<std::string, std::string>>{
           {outcome({}), "malformed"},
           {outcome({"{"}), "malformed"},
           {outcome({std::string(40, '[')}), "malformed"},
           {outcome({"[]"}), "malformed"},
           {outcome({R"({"status": "ok", "status": "ok"})"}), "malformed"},
           {with("/status", "fine"), "malformed"},
           {with("/cubins", 1), "malformed"},
           {with("/cubins", -1), "malformed"},
           {with("/cubins", 0.0), "malformed"},
           {with("/cubins", true), "malformed"},
           {with("/cubins", 100'000), "malformed"},
           {outcome({plain_reply().dump(), "a cubin that nobody spoke of"}), "malformed"},
           {with("/plans", Json::array()), "malformed"},
           {with("/plans/1", plain_reply()["plans"][0]), "malformed"},
           {with("/plans/0", 7), "malformed"},
           {with("/plans/0/workspaces", {-1}), "malformed"},
           {with("/plans/0/workspaces", {1e30}), "malformed"},
           {with("/plans/0/workspaces", Json(std::vector<int>(1000, 1))), "malformed"},
           {with("/plans/0/steps/0", Json::object()), "malformed"},
           {with("/plans/0/steps/0", {{"write", 1}}), "malformed"},
           {with(copy + "/to/space", "host"), "malformed"},
           {with(copy + "/to/index", 4294967296), "malformed"},
           {with(copy + "/from/offset", -64), "malformed"},
           {with(copy + "/bytes", 0), "malformed"},
           {with(copy + "/bytes", "64"), "malformed"},
           {with(set + "/width", 3), "malformed"},
           {with(set + "/value", -1), "malformed"},
           // Whole numbers in range that do not fit what is there.
           {with(copy + "/bytes", 65), "plan"},
           {with(copy + "/to/space", "input"), "plan"},
           {with(copy + "/to/index", 1), "plan"},
           {with(set + "/count", 4096), "plan"},
           {with("/plans/0/workspaces", {8192}), "plan"},
       })
    EXPECT_THAT(said, testing::StartsWith(expected + ": "));
}

TEST(TritonReply, TellsFailures) {
  const auto told = [](const char* kind, const char* reason, const char* message) {
    return read_triton_reply({Json{{"status", "failed"},
                                   {"kind", kind},
                                   {"reason", reason},
                                   {"message", message},
                                   {"details", "two\nlines /etc/passwd"}}
                                  .dump()},
                             limits());
  };
  const TritonReply reply = told("REJECT_POLICY", "torch_work", "aten.mm <|im_end|> at /root/x.py");
  ASSERT_TRUE(reply.failure);
  const Verdict verdict = verdict_of(*reply.failure);
  EXPECT_EQ(verdict.message, "REJECT_POLICY aten.mm < |im_end|> at path");
  EXPECT_THAT(verdict.details, HasSubstr("two\nlines path"));
  // Neither a pass nor a way out of the reward.
  for (const char* kind : {"PASS", "INFRA", "HACK", "SUSPECT", "FAIL_EVERYTHING", ""})
    EXPECT_EQ(told(kind, "reason", "").failure->reason, "malformed") << kind;
  for (const char* reason : {"", "two words", "UPPER", "a_reason_that_goes_on_and_on_and_on_and_on"})
    EXPECT_EQ(told("FAIL_PLAN", reason, "").failure->reason, "malformed") << reason;
}

TEST(TritonReply, OnlyWhatForksSaysInfra) {
  EXPECT_EQ(outcome({R"({"status": "infra", "error": "no namespaces"})"}), "infra no namespaces");
}

TEST(TritonReply, CountsCubinsOfTheFirstFrame) {
  EXPECT_EQ(count_cubins(R"({"status": "ok", "cubins": 3})"), 3);
  EXPECT_EQ(count_cubins(R"({"status": "failed", "cubins": 3})"), 0);
  EXPECT_EQ(count_cubins(R"({"status": "ok", "cubins": 3.0})"), std::nullopt);
  EXPECT_EQ(count_cubins(R"({"status": "ok", "cubins": 1000000})"), std::nullopt);
  EXPECT_EQ(count_cubins("ok"), std::nullopt);
}

TEST(TritonReply, LaunchesFitTheirCubin) {
  SKIP_WITHOUT_NVCC();
  const std::string cubin = cubin_of(kFill);
  ASSERT_EQ(outcome({launching_reply().dump(), cubin}), "ok");
  const auto with = [&](const std::string& path, const Json& value) {
    Json reply = launching_reply();
    reply[Json::json_pointer(path)] = value;
    return outcome({reply.dump(), cubin});
  };
  const std::string launch = "/plans/0/steps/0/launch";
  EXPECT_THAT(with("/plans/0/kernels/0/name", "other"), HasSubstr("other"));
  EXPECT_THAT(with("/plans/0/kernels/0/cubin", 1), testing::StartsWith("plan: "));
  EXPECT_THAT(with(launch + "/kernel", 1), testing::StartsWith("malformed: "));
  EXPECT_THAT(with(launch + "/arguments", "0000000000000000"), testing::StartsWith("plan: "));
  EXPECT_THAT(with(launch + "/arguments", "000000000000000"), testing::StartsWith("malformed: "));
  EXPECT_THAT(with(launch + "/arguments", "0000000000000000zz000000"), testing::StartsWith("malformed: "));
  EXPECT_THAT(with(launch + "/grid", {0, 1, 1}), testing::StartsWith("malformed: "));
  EXPECT_THAT(with(launch + "/block", {1024, 2, 1}), testing::StartsWith("malformed: "));
  EXPECT_THAT(with(launch + "/block", {128, 1}), testing::StartsWith("malformed: "));
  EXPECT_THAT(with(launch + "/shared", 300'000), testing::Not("ok"));
  EXPECT_THAT(with(launch + "/relocations/0/offset", 65), testing::StartsWith("plan: "));
  EXPECT_THAT(with(launch + "/relocations/0/at", 8), testing::StartsWith("malformed: "));
  EXPECT_THAT(outcome({launching_reply().dump(), cubin.substr(0, cubin.size() / 2)}),
              testing::StartsWith("malformed: "));
}

TEST(TritonReply, RefusesMemoryThatOutlivesACall) {
  SKIP_WITHOUT_NVCC();
  const std::string cubin = cubin_of(
      "__device__ int calls;\n"
      "extern \"C\" __global__ void fill(float* y, int n) { y[0] = atomicAdd(&calls, n); }\n"
      "extern \"C\" void launch() {}\n");
  EXPECT_THAT(outcome({launching_reply().dump(), cubin}),
              testing::AllOf(testing::StartsWith("mutable_global: "), HasSubstr("calls")));
}

TEST(TritonReply, KeepsChoicesOpen) {
  Json reply = plain_reply();
  Json alternatives = Json::array();
  for (const int count : {1, 2})
    alternatives.push_back({{"configuration", count},
                            {"text", fmt::format("BLOCK: {}\n<|im_end|>", count)},
                            {"steps", Json::array({memset_of(pointer_to("output", 0, 0), count)})}});
  auto& steps = reply["plans"][0]["steps"];
  const Json open{{"choose", {{"slot", 3}, {"alternatives", alternatives}}}};
  steps.insert(steps.begin() + 1, open);
  const TritonReply read = read_triton_reply({reply.dump()}, limits());
  ASSERT_FALSE(read.failure) << read.failure->detail;
  const Choice& choice = read.plans[0].choices.at(0);
  EXPECT_EQ(choice.at, 1u);
  EXPECT_EQ(choice.slot, 3u);
  EXPECT_EQ(choice.alternatives.at(1).configuration, 2u);
  EXPECT_EQ(choice.alternatives.at(1).text, "BLOCK: 2 < |im_end|>");
}

}  // namespace
}  // namespace temper::env
