// Which ways suit which program.

#include "rollout/traces/triton/kernel.h"

namespace temper::traces {
namespace {

Style slow_blocks(Way way, int block = 0, int warps = 0) {
  return {.way = way, .block = block, .warps = warps};
}
Style fast_blocks(Way way, int block = 0, int warps = 0) {
  return {.way = way, .block = block, .warps = warps, .fast = true};
}
Style vectors(Way way, int block, int warps = 0) {
  return {.way = way, .accumulate = Accumulate::kSimd, .block = block, .warps = warps, .fast = true};
}
Style spelled(Style style) {
  style.spelled = true;
  return style;
}

bool is_f32(const Program& program) { return program.task->outputs[0].type == env::ElementType::kF32; }

// Whether its exponentials can be spelled differently.
bool has_exponential(const Program& program) {
  const auto has = [](const Expression& e) {
    return any_part(e, [](const auto& part) {
      return part.is_call("exp") || part.is_call("sigmoid") || part.is_call("silu");
    });
  };
  if (has(*program.result)) return true;
  for (const auto& [name, alias] : program.aliases) {
    if (has(*alias)) return true;
  }
  for (const auto& step : program.steps) {
    if (has(*step.value)) return true;
  }
  return false;
}

// Sums alone, which programs can add to.
bool adds_up(const Program& program) {
  const auto& step = program.steps[0];
  return (step.op == "sum" || step.op == "mean") && is_f32(program) && program.result->is_name() &&
         program.result->text == step.name;
}

bool reads_turned(const Program& program) {
  const auto turned = [](const Expression& part) { return part.is_call("t"); };
  if (any_part(*program.result, turned)) return true;
  for (const auto& [name, alias] : program.aliases) {
    if (any_part(*alias, turned)) return true;
  }
  return false;
}

// An operation on what another one computed, kept in f32.
bool has_two_operations(const Program& program) {
  const auto& e = *program.result;
  const auto computes = [](const Expression& part) {
    return part.kind == Expression::Kind::kBinary ||
           (part.kind == Expression::Kind::kCall && !part.is_call("t"));
  };
  return is_f32(program) && computes(e) && computes(*e.children[0]);
}

std::vector<Style> triton_map_ways(const Program& program) {
  std::vector<Style> all;
  if (program.task->outputs[0].shape.size() == 1) {
    all = {slow_blocks(Way::kFlat, 64, 1),      fast_blocks(Way::kFlat, 1024),
           fast_blocks(Way::kFlat, 4096, 8),    fast_blocks(Way::kFlat, 512),
           fast_blocks(Way::kGridStride, 1024), slow_blocks(Way::kFlat, 32)};
  } else if (reads_turned(program)) {
    all = {slow_blocks(Way::kFlat, 1024),      fast_blocks(Way::kTile, 64),
           fast_blocks(Way::kTile, 32),        slow_blocks(Way::kColumnsFirst, 1024),
           slow_blocks(Way::kBlockRow, 1024),  slow_blocks(Way::kWhole),
           slow_blocks(Way::kGridStride, 1024)};
  } else {
    all = {slow_blocks(Way::kColumnsFirst, 1024), fast_blocks(Way::kBlockRow, 1024),
           fast_blocks(Way::kFlat, 1024),         fast_blocks(Way::kWhole),
           fast_blocks(Way::kTile, 64),           fast_blocks(Way::kFlat, 4096, 8),
           fast_blocks(Way::kGridStride, 1024),   slow_blocks(Way::kFlat, 64, 1)};
  }
  if (has_two_operations(program)) all.push_back({.way = Way::kFlat, .passes = true, .block = 1024});
  if (has_exponential(program)) all.push_back(spelled(all[1]));
  return all;
}

std::vector<Style> triton_row_ways(const Program& program) {
  std::vector<Style> all = {slow_blocks(Way::kPieces, 64, 1), fast_blocks(Way::kWhole, 0, 8),
                            vectors(Way::kPieces, 1024),      fast_blocks(Way::kPieces, 2048, 8),
                            vectors(Way::kSeveral, 128),      slow_blocks(Way::kSeveral, 32)};
  if (program.softmax) all.push_back(fast_blocks(Way::kOnline, 1024));
  const bool rows = program.task->outputs[0].shape.size() == 2;
  if (rows && program.steps.size() == 1) all.push_back(slow_blocks(Way::kWorkspace, 1024));
  if (has_exponential(program)) all.push_back(spelled(all[1]));
  return all;
}

std::vector<Style> triton_column_ways(const Program& program) {
  std::vector<Style> all = {slow_blocks(Way::kBlockColumn, 1024), fast_blocks(Way::kTile, 32),
                            slow_blocks(Way::kThreadColumn, 128), fast_blocks(Way::kWorkspace, 128),
                            fast_blocks(Way::kTile, 16, 8)};
  if (adds_up(program)) all.push_back(fast_blocks(Way::kAtomic, 128));
  return all;
}

std::vector<Style> triton_whole_ways(const Program& program) {
  std::vector<Style> all = {slow_blocks(Way::kOneBlock, 1024), fast_blocks(Way::kWorkspace, 1024),
                            vectors(Way::kWorkspace, 2048, 8)};
  if (adds_up(program)) all.push_back(fast_blocks(Way::kAtomic, 1024));
  return all;
}

std::vector<Style> triton_scan_ways(const Program& program) {
  if (program.steps[0].axis == 1)
    return {slow_blocks(Way::kPieces, 64, 1), fast_blocks(Way::kPieces, 1024),
            fast_blocks(Way::kPieces, 2048, 8), fast_blocks(Way::kWhole, 0, 8),
            slow_blocks(Way::kSeveral, 32)};
  return {slow_blocks(Way::kPieces, 1024), fast_blocks(Way::kThreadColumn, 32, 1),
          fast_blocks(Way::kThreadColumn, 64, 2), fast_blocks(Way::kSeveral, 64),
          slow_blocks(Way::kThreadColumn, 1024)};
}

std::string triton_words_of(const Program& program, const Style& style) {
  const bool rows = program.skeleton == Skeleton::kRow || program.skeleton == Skeleton::kMap ||
                    (program.skeleton == Skeleton::kScan && program.steps[0].axis == 1);
  switch (style.way) {
    case Way::kColumnsFirst:
      return "Flat blocks, columns first";
    case Way::kGridStride:
      return "A fixed number of programs";
    case Way::kBlockRow:
      return "A block of a row a program";
    case Way::kWhole:
      return "A row a program, one block";
    case Way::kTile:
      return "Tiles";
    case Way::kPieces:
      return rows ? "A row a program, block after block" : "A column a program, block after block";
    case Way::kSeveral:
      return rows ? "Several rows a program" : "32 columns a program, block after block";
    case Way::kOnline:
      return "A row a program, online";
    case Way::kThreadColumn:
      return "Columns side by side, row after row";
    case Way::kBlockColumn:
      return "A column a program";
    case Way::kAtomic:
      return "Partial sums, atomics";
    case Way::kWorkspace:
      return "Two kernels, a workspace";
    case Way::kOneBlock:
      return "One program";
    case Way::kNoDot:
      return "Tiles, columns times rows";
    case Way::kGrouped:
      return "Tiles, eight rows of them at a time";
    case Way::kPersistent:
      return "Tiles, 132 programs";
    default:
      return "Flat blocks";
  }
}

}  // namespace

std::vector<Style> triton_styles(const Program& program) {
  switch (program.skeleton) {
    case Skeleton::kMap:
      return triton_map_ways(program);
    case Skeleton::kRow:
    case Skeleton::kSoftmax:
      return triton_row_ways(program);
    case Skeleton::kColumn:
      return triton_column_ways(program);
    case Skeleton::kFull:
      return triton_whole_ways(program);
    case Skeleton::kScan:
      return triton_scan_ways(program);
    case Skeleton::kMatmul:
      return {slow_blocks(Way::kNoDot, 32),    fast_blocks(Way::kTile, 64),
              fast_blocks(Way::kTile, 128, 8), fast_blocks(Way::kGrouped, 64),
              slow_blocks(Way::kTile, 16, 1),  fast_blocks(Way::kPersistent, 64)};
  }
  return {};
}

std::string triton_words(const Program& program, const Style& style) {
  std::string words = triton_words_of(program, style);
  if (style.passes) words += ", two kernels";
  if (style.accumulate == Accumulate::kSimd) words += ", sums at the end";
  if (style.block > 0) words += " of " + std::to_string(style.block);
  if (style.warps > 0) words += ", " + std::to_string(style.warps) + (style.warps == 1 ? " warp" : " warps");
  return words + (style.spelled ? ", exp2" : "");
}

}  // namespace temper::traces
