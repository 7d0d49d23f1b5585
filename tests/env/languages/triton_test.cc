#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "env/task/task.h"
#include "env/verdict/source_gate.h"

namespace temper::env {
namespace {

using testing::HasSubstr;

Task task_of(const std::string& tensors, const std::string& language) {
  return parse_tasks("{name: a_task, language: " + language + ", reference: x, " + tensors +
                         ", check: [{n: 3}], timed: {n: 256}}",
                     "test")
      .front();
}

TEST(Triton, SignatureTellsTypesAndOrder) {
  const Task task = task_of(
      "inputs: {x: {shape: [n, 4], type: bf16}, i: {shape: [n], type: i32, below: n}}, "
      "outputs: {y: {shape: [n], type: f16}, s: [n]}",
      "triton");
  EXPECT_EQ(task.signature(),
            "def launch(x: torch.Tensor, i: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor]:  "
            "# x: bfloat16, i: int32 -> y: float16, s: float32");
}

TEST(Triton, OneOutputIsNoTuple) {
  EXPECT_THAT(task_of("inputs: {x: [n]}, outputs: {y: [n]}", "triton").signature(),
              HasSubstr("(x: torch.Tensor, n: int) -> torch.Tensor:  # x: float32 -> y: float32"));
}

TEST(Triton, RefusesTasksThatItCannotAsk) {
  const Task word = task_of("inputs: {lambda: [n]}, outputs: {y: [n]}", "cuda");
  try {
    asked_in(kTriton, word);
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_THAT(e.what(), HasSubstr("'lambda' is a word of that language"));
  }
  EXPECT_THROW(task_of("inputs: {lambda: [n]}, outputs: {y: [n]}", "triton"), ConfigError);
  EXPECT_THROW(asked_in(kTriton, task_of("inputs: {x: [n]}, outputs: {y: [n]}", "cpp")), ConfigError);
  EXPECT_THROW(asked_in(kCuda, task_of("inputs: {x: [n]}, outputs: {y: [n]}", "triton")), ConfigError);
}

TEST(Triton, SaysWhatASourceWithoutEntryPointLacks) {
  const Found found = gate_source(kTriton, "import triton\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(verdict_of(*found).message, "FAIL_PARSE the function asked for, launch, is not defined");
}

}  // namespace
}  // namespace temper::env
