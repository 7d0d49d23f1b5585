#include <gtest/gtest.h>

#include <cstring>

#include "env/box/case_memory.h"
#include "env/case.h"
#include "env/task_json.h"

namespace temper {
namespace {

TensorSpec tensor(const std::string& name, const std::vector<std::string>& shape) {
  TensorSpec spec;
  spec.name = name;
  spec.shape = shape;
  return spec;
}

Task two_by_one() {
  Task task;
  task.name = "sum";
  task.dims = {"n", "m"};
  task.inputs = {tensor("x", {"n", "m"}), tensor("b", {"m"})};
  task.outputs = {tensor("y", {"n"})};
  task.timed_shape = {{"n", 3}, {"m", 5}};
  return task;
}

struct Memory {
  Task task = two_by_one();
  CaseLayout layout = case_layout(task, task.timed_shape);
  std::vector<uint8_t> oracle = std::vector<uint8_t>(size_t(layout.bytes), 7), arena = oracle;
};

TEST(Case, KeepsBuffersApart) {
  const Task task = two_by_one();
  const CaseLayout layout = case_layout(task, task.timed_shape);
  std::vector<Buffer> buffers = layout.inputs;
  buffers.insert(buffers.end(), layout.outputs.begin(), layout.outputs.end());
  int64_t end = 0;
  for (const Buffer& buffer : buffers) {
    EXPECT_GE(buffer.offset - end, kGuardBytes);
    EXPECT_EQ(buffer.offset % kBufferAlign, 0);
    end = buffer.offset + buffer.bytes;
  }
  EXPECT_GE(layout.bytes - end, kGuardBytes);
  EXPECT_EQ(layout.inputs[0].bytes, 60);
  EXPECT_EQ(dim_arguments(task, task.timed_shape), (std::vector<int64_t>{3, 5}));
}

TEST(Case, PoisonsOutputsAndCopiesInputs) {
  Memory memory;
  prepare_case(memory.arena.data(), memory.oracle.data(), memory.layout);
  EXPECT_EQ(memory.arena[size_t(memory.layout.inputs[0].offset)], 7);
  EXPECT_EQ(memory.arena[size_t(memory.layout.outputs[0].offset)], kPoisonByte);
  EXPECT_EQ(collect_case(memory.arena.data(), memory.oracle.data(), memory.layout), "");
  EXPECT_EQ(memory.oracle[size_t(memory.layout.outputs[0].offset)], kPoisonByte);
}

TEST(Case, SeesOneByteOutsideABuffer) {
  Memory memory;
  const Buffer output = memory.layout.outputs[0];
  for (const int64_t at :
       {output.offset - 1, output.offset + output.bytes, int64_t(0), memory.layout.bytes - 1}) {
    prepare_case(memory.arena.data(), memory.oracle.data(), memory.layout);
    memory.arena[size_t(at)] ^= 1;
    EXPECT_EQ(collect_case(memory.arena.data(), memory.oracle.data(), memory.layout), "guard") << at;
  }
}

TEST(Case, SeesAChangedInput) {
  Memory memory;
  for (const Buffer& input : memory.layout.inputs) {
    prepare_case(memory.arena.data(), memory.oracle.data(), memory.layout);
    memory.arena[size_t(input.offset + input.bytes - 1)] ^= 1;
    EXPECT_EQ(collect_case(memory.arena.data(), memory.oracle.data(), memory.layout), "input_mutation");
  }
}

TEST(TaskJson, KeepsEverything) {
  Task task = two_by_one();
  task.reference = "def reference(x):\n  return x\n";
  task.inputs[1].distribution = Distribution::kIndex;
  task.inputs[1].index_bound = "n";
  task.magnitudes = {1, 1e-3};
  task.check_shapes = {{{"n", 1}, {"m", 2}}};
  EXPECT_EQ(tasks_to_json(tasks_from_json(tasks_to_json({task}))), tasks_to_json({task}));
}

}  // namespace
}  // namespace temper
