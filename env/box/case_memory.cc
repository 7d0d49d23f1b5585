#include "env/box/case_memory.h"

#include <algorithm>
#include <cstring>

namespace temper {
namespace {

bool inputs_unchanged(const uint8_t* arena, const uint8_t* pristine, const CallLayout& layout) {
  return std::all_of(layout.inputs.begin(), layout.inputs.end(), [&](const Buffer& input) {
    return std::memcmp(arena + input.offset, pristine + input.offset, size_t(input.bytes)) == 0;
  });
}

constexpr int64_t kWord = 4;  // buffers and guards begin and end at whole ones

uint32_t* words(uint8_t* arena, int64_t offset) { return reinterpret_cast<uint32_t*>(arena + offset); }
const uint32_t* words(const uint8_t* arena, int64_t offset) {
  return reinterpret_cast<const uint32_t*>(arena + offset);
}

bool guards_intact(const uint8_t* arena, const CallLayout& layout, Fill fill) {
  return std::ranges::all_of(layout.guards, [&](const Buffer& guard) {
    return filled_words(fill, FillKind::kGuard, guard.offset / kWord, guard.bytes / kWord,
                        words(arena, guard.offset));
  });
}

}  // namespace

void prepare_case(uint8_t* arena, const uint8_t* pristine, const CallLayout& layout, Fill fill,
                  int64_t beyond) {
  const auto write = [&](FillKind kind, int64_t begin, int64_t bytes) {
    fill_words(fill, kind, begin / kWord, bytes / kWord, words(arena, begin));
  };
  for (const Buffer& guard : layout.guards) write(FillKind::kGuard, guard.offset, guard.bytes);
  write(FillKind::kGuard, layout.bytes, beyond);
  for (const Buffer& output : layout.outputs)
    write(output.integers ? FillKind::kIntegers : FillKind::kFloats, output.offset, output.bytes);
  for (const Buffer& input : layout.inputs)
    std::memcpy(arena + input.offset, pristine + input.offset, size_t(input.bytes));
}

std::string collect_case(const uint8_t* arena, uint8_t* oracle, const CallLayout& layout, Fill fill) {
  if (!inputs_unchanged(arena, oracle, layout)) return "input_mutation";
  if (!guards_intact(arena, layout, fill)) return "guard";
  for (const Buffer& output : layout.outputs)
    std::memcpy(oracle + output.offset, arena + output.offset, size_t(output.bytes));
  return "";
}

}  // namespace temper
