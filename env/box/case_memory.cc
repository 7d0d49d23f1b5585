#include "env/box/case_memory.h"

#include <algorithm>
#include <cstring>

namespace temper::env {
namespace {

bool inputs_unchanged(const LaidCase& mine, const uint8_t* pristine, const CallLayout& packed) {
  for (size_t i = 0; i < packed.inputs.size(); ++i)
    if (std::memcmp(mine.arena + mine.layout.inputs[i].offset, pristine + packed.inputs[i].offset,
                    size_t(packed.inputs[i].bytes)) != 0)
      return false;
  return true;
}

constexpr int64_t kWord = 4;  // buffers and guards begin and end at whole ones

uint32_t* words(uint8_t* arena, int64_t offset) { return reinterpret_cast<uint32_t*>(arena + offset); }

bool guards_intact(const LaidCase& mine, Fill fill) {
  return std::ranges::all_of(mine.layout.guards, [&](const Guard& guard) {
    return filled_words(fill, FillKind::kGuard, guard.offset / kWord, guard.bytes / kWord,
                        words(mine.arena, guard.offset));
  });
}

}  // namespace

void prepare_case(const LaidCase& mine, const uint8_t* pristine, const CallLayout& packed, Fill fill,
                  int64_t beyond) {
  const auto write = [&](FillKind kind, int64_t first_word, int64_t begin, int64_t bytes) {
    fill_words(fill, kind, first_word, bytes / kWord, words(mine.arena, begin));
  };
  const auto guard = [&](int64_t begin, int64_t bytes) {
    write(FillKind::kGuard, begin / kWord, begin, bytes);
  };
  for (const Guard& one : mine.layout.guards) guard(one.offset, one.bytes);
  guard(mine.layout.bytes, beyond);
  for (size_t i = 0; i < packed.outputs.size(); ++i) {
    const Buffer& output = packed.outputs[i];
    write(output.integers ? FillKind::kIntegers : FillKind::kFloats, output.offset / kWord,
          mine.layout.outputs[i].offset, output.bytes);
  }
  for (size_t i = 0; i < packed.inputs.size(); ++i)
    std::memcpy(mine.arena + mine.layout.inputs[i].offset, pristine + packed.inputs[i].offset,
                size_t(packed.inputs[i].bytes));
}

std::string collect_case(const LaidCase& mine, uint8_t* oracle, const CallLayout& packed, Fill fill) {
  if (!inputs_unchanged(mine, oracle, packed)) return "input_mutation";
  if (!guards_intact(mine, fill)) return "guard";
  for (size_t i = 0; i < packed.outputs.size(); ++i)
    std::memcpy(oracle + packed.outputs[i].offset, mine.arena + mine.layout.outputs[i].offset,
                size_t(packed.outputs[i].bytes));
  return "";
}

}  // namespace temper::env
