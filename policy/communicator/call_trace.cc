#include "policy/communicator/call_trace.h"

#include <fmt/format.h>

#include <string_view>

namespace temper {
namespace {

constexpr uint64_t kKept = 1 << 14;  // calls: of several seconds, and ranks report each second
constexpr uint64_t kFnvPrime = 0x100000001b3, kFnvBegin = 0xcbf29ce484222325;

uint64_t add_to(uint64_t digest, std::string_view text) {
  for (const unsigned char byte : text) digest = (digest ^ byte) * kFnvPrime;
  return digest * kFnvPrime;  // where the text ends
}

}  // namespace

CallTrace::CallTrace() : recent_(kKept, Call{kFnvBegin, "", "", "", 0}) {}

void CallTrace::add(const char* kind, const char* what, int64_t count, const char* number) {
  const std::scoped_lock lock(mutex_);
  uint64_t digest = recent_[calls_ % kKept].digest;
  for (const char* text : {kind, what, number}) digest = add_to(digest, text);
  digest = (digest ^ uint64_t(count)) * kFnvPrime;
  recent_[++calls_ % kKept] = {digest ^ (digest >> 32), kind, what, number, count};
}

CallTrace::Point CallTrace::point(uint64_t calls) const {
  const Call& call = recent_[calls % kKept];
  if (calls == 0) return {0, call.digest, "none"};
  return {calls, call.digest,
          fmt::format("{} \"{}\" of {} × {}", call.kind, call.what, call.count, call.number)};
}

CallTrace::Point CallTrace::now() const {
  const std::scoped_lock lock(mutex_);
  return point(calls_);
}

std::optional<CallTrace::Point> CallTrace::after(uint64_t calls) const {
  const std::scoped_lock lock(mutex_);
  if (calls > calls_ || calls + kKept <= calls_) return std::nullopt;
  return point(calls);
}

}  // namespace temper
