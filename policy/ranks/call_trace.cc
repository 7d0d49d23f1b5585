#include "policy/ranks/call_trace.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string_view>

namespace temper::policy {
namespace {

constexpr uint64_t kKept = 1 << 14;  // calls: of several seconds, and ranks report each second
static_assert(kKept % CallHistory::kMarkEvery == 0);
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

std::string CallTrace::text_of(const Call& call) {
  if (*call.number == '\0') return fmt::format("{} \"{}\" of {}", call.kind, call.what, uint64_t(call.count));
  return fmt::format("{} \"{}\" of {} × {}", call.kind, call.what, call.count, call.number);
}

CallTrace::Point CallTrace::point(uint64_t calls) const {
  const Call& call = recent_[calls % kKept];
  return {calls, call.digest, calls == 0 ? "none" : text_of(call)};
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

CallHistory CallTrace::history() const {
  constexpr uint64_t kEvery = CallHistory::kMarkEvery;
  std::vector<Call> recent;
  uint64_t calls = 0;
  {
    const std::scoped_lock lock(mutex_);
    recent = recent_;
    calls = calls_;
  }
  const uint64_t oldest = calls < kKept ? 0 : calls - kKept + 1;  // whose digest is still there
  CallHistory history;
  history.first = (oldest + kEvery - 1) / kEvery * kEvery + 1;
  std::map<std::string, uint32_t> numbers;
  for (uint64_t call = history.first; call <= calls; ++call) {
    const auto [found, fresh] =
        numbers.emplace(text_of(recent[call % kKept]), uint32_t(history.texts.size()));
    if (fresh) history.texts.push_back(found->first);
    history.calls.push_back(found->second);
  }
  for (uint64_t before = history.first - 1; before <= calls; before += kEvery)
    history.marks.push_back(recent[before % kKept].digest);
  return history;
}

const char* lasting_name(const std::string& name) {
  static std::mutex mutex;
  static auto& names = *new std::set<std::string>;  // never taken down: a watch may read to the very end
  const std::scoped_lock lock(mutex);
  return names.insert(name).first->c_str();
}

}  // namespace temper::policy
