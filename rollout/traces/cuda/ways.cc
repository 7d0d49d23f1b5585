// Which ways suit which program.

#include <algorithm>

#include "rollout/traces/cuda/kernel.h"
#include "rollout/traces/cuda/skeletons.h"

namespace temper::traces {
namespace {

Style slow(Way way) { return {.way = way}; }
Style fast(Way way) { return {.way = way, .fast = true}; }
Style unrolled(Way way) { return {.way = way, .unrolled = true, .fast = true}; }
Style restricted(Way way) { return {.way = way, .restricted = true, .fast = true}; }

bool narrow(const Program& program) { return program.task->outputs[0].type != env::ElementType::kF32; }
bool sums(const ReductionStep& step) { return step.op == "sum" || step.op == "mean"; }

// An operation on what another one computed.
bool splits(const Program& program) {
  const auto& e = *program.result;
  const auto computes = [](const Expression& part) {
    return part.kind == Expression::Kind::kBinary ||
           (part.kind == Expression::Kind::kCall && !part.is_call("t"));
  };
  return !narrow(program) && computes(e) && computes(*e.children[0]);
}

std::vector<Style> map_ways(const Program& program) {
  const bool matrix = program.task->outputs[0].shape.size() == 2;
  std::vector<Style> all = {slow(matrix ? Way::kColumnsFirst : Way::kChunk)};
  if (matrix && !transposed_input(program).empty()) {
    return {slow(Way::kFlat), fast(Way::kTransposed), slow(Way::kGridStride), slow(Way::kColumnsFirst)};
  }
  if (can_be_vectors(program)) all.push_back(fast(Way::kVector));
  all.push_back(fast(Way::kFlat));
  all.push_back(fast(Way::kGridStride));
  if (matrix) {
    all.push_back(restricted(Way::kBlockRow));
    all.push_back(slow(Way::kChunk));
  }
  if (splits(program)) all.push_back({.way = Way::kFlat, .passes = true});
  return all;
}

std::vector<Style> row_ways(const Program& program) {
  std::vector<Style> all = {slow(Way::kThreadRow), fast(Way::kWarp), fast(Way::kBlock), unrolled(Way::kBlock),
                            slow(Way::kBlockTree)};
  if (program.softmax) all.push_back(fast(Way::kOnline));
  const bool rows = program.task->outputs[0].shape.size() == 2;
  if (rows && program.steps.size() == 1) all.push_back(slow(Way::kWorkspace));
  return all;
}

std::vector<Style> column_ways(const Program& program) {
  std::vector<Style> all = {slow(Way::kBlockColumn), fast(Way::kTile), slow(Way::kThreadColumn),
                            fast(Way::kWorkspace)};
  const auto& step = program.steps[0];
  if (sums(step) && !narrow(program) && program.result->text == step.name) all.push_back(fast(Way::kAtomic));
  return all;
}

std::vector<Style> whole_ways(const Program& program) {
  std::vector<Style> all = {slow(Way::kOneBlock), fast(Way::kWorkspace), unrolled(Way::kWorkspace)};
  const auto& step = program.steps[0];
  if (sums(step) && !narrow(program) && program.result->text == step.name) all.push_back(fast(Way::kAtomic));
  return all;
}

std::vector<Style> scan_ways(const Program& program) {
  if (program.steps[0].axis == 1) return {slow(Way::kThreadRow), fast(Way::kWarp), fast(Way::kBlock)};
  return {slow(Way::kBlockColumn), fast(Way::kThreadColumn), unrolled(Way::kThreadColumn), slow(Way::kWarp)};
}

std::string words_of(const Program& program, Way way) {
  const bool row = program.skeleton == Skeleton::kRow || program.skeleton == Skeleton::kMatmul ||
                   (program.skeleton == Skeleton::kScan && program.steps[0].axis == 1);
  switch (way) {
    case Way::kNone:
    case Way::kFlat:
      return "A thread an element";
    case Way::kColumnsFirst:
      return "A thread an element, columns first";
    case Way::kChunk:
      return "A thread 32 elements";
    case Way::kGridStride:
      return "A grid-stride loop";
    case Way::kBlockRow:
      return "A block a row";
    case Way::kVector:
      return "16 bytes a thread";
    case Way::kTransposed:
      return "A tile in shared memory";
    case Way::kThreadRow:
      return "A thread a row";
    case Way::kBlockTree:
      return "A block a row, a tree in shared memory";
    case Way::kBlock:
      return program.skeleton == Skeleton::kScan ? "A block a row" : "A block a row, warp shuffles";
    case Way::kWarp:
      return row ? "A warp a row" : "A warp a column";
    case Way::kOnline:
      return "A warp a row, online";
    case Way::kThreadColumn:
      return "A thread a column";
    case Way::kBlockColumn:
      return "A block a column";
    case Way::kTile:
      return program.skeleton == Skeleton::kMatmul ? "Tiles in shared memory" : "32 columns a block";
    case Way::kAtomic:
      return "Partial sums, atomics";
    case Way::kWorkspace:
      return "Two kernels, a workspace";
    case Way::kOneBlock:
      return "One block";
    case Way::kElement:
      return "A thread an element";
    case Way::kRegisters:
      return "Tiles in shared memory, 4 x 4 elements a thread";
    case Way::kWhole:  // in Triton, these and those below
    case Way::kPieces:
    case Way::kSeveral:
    case Way::kNoDot:
    case Way::kGrouped:
    case Way::kPersistent:
      break;
  }
  return "";
}

}  // namespace

std::vector<Style> cuda_styles(const Program& program) {
  switch (program.skeleton) {
    case Skeleton::kMap:
      return map_ways(program);
    case Skeleton::kRow:
    case Skeleton::kSoftmax:
      return row_ways(program);
    case Skeleton::kColumn:
      return column_ways(program);
    case Skeleton::kFull:
      return whole_ways(program);
    case Skeleton::kScan:
      return scan_ways(program);
    case Skeleton::kMatmul:
      return {slow(Way::kElement), fast(Way::kRegisters), fast(Way::kTile), slow(Way::kColumnsFirst)};
  }
  return {};
}

std::string cuda_words(const Program& program, const Style& style) {
  std::string words = words_of(program, style.way);
  if (style.passes) words += ", two kernels";
  return words + (style.unrolled ? ", unrolled" : "");
}

}  // namespace temper::traces
