#include "env/box/case_memory.h"

#include <algorithm>
#include <cstring>

namespace temper {
namespace {

// Calls `zone(begin, end)` for each stretch outside the buffers, in order.
template <class Zone>
void for_guards(const CaseLayout& layout, Zone zone) {
  int64_t end = 0;
  for (const auto* buffers : {&layout.inputs, &layout.outputs})
    for (const Buffer& buffer : *buffers) {
      zone(end, buffer.offset);
      end = buffer.offset + buffer.bytes;
    }
  zone(end, layout.bytes);
}

bool inputs_unchanged(const uint8_t* arena, const uint8_t* pristine, const CaseLayout& layout) {
  return std::all_of(layout.inputs.begin(), layout.inputs.end(), [&](const Buffer& input) {
    return std::memcmp(arena + input.offset, pristine + input.offset, size_t(input.bytes)) == 0;
  });
}

bool guards_intact(const uint8_t* arena, const CaseLayout& layout) {
  bool intact = true;
  for_guards(layout, [&](int64_t begin, int64_t end) {
    intact =
        intact && std::all_of(arena + begin, arena + end, [](uint8_t byte) { return byte == kGuardByte; });
  });
  return intact;
}

}  // namespace

void prepare_case(uint8_t* arena, const uint8_t* pristine, const CaseLayout& layout) {
  for_guards(layout, [&](int64_t begin, int64_t end) {
    std::memset(arena + begin, kGuardByte, size_t(end - begin));
  });
  for (const Buffer& output : layout.outputs)
    std::memset(arena + output.offset, kPoisonByte, size_t(output.bytes));
  for (const Buffer& input : layout.inputs)
    std::memcpy(arena + input.offset, pristine + input.offset, size_t(input.bytes));
}

std::string collect_case(const uint8_t* arena, uint8_t* oracle, const CaseLayout& layout) {
  if (!inputs_unchanged(arena, oracle, layout)) return "input_mutation";
  if (!guards_intact(arena, layout)) return "guard";
  for (const Buffer& output : layout.outputs)
    std::memcpy(oracle + output.offset, arena + output.offset, size_t(output.bytes));
  return "";
}

}  // namespace temper
