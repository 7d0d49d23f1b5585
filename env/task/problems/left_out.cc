#include "env/task/problems/left_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace temper::env {

void LeftOut::add(const std::string& reason, const std::string& first) {
  auto known = std::ranges::find(reasons_, reason, &Reason::words);
  if (known == reasons_.end()) known = reasons_.insert(known, {.words = reason, .first = first});
  ++known->count;
}

int64_t LeftOut::count() const {
  return std::accumulate(reasons_.begin(), reasons_.end(), int64_t(0),
                         [](int64_t sum, const Reason& reason) { return sum + reason.count; });
}

std::string LeftOut::line(int64_t rows) const {
  std::string text;
  for (const Reason& reason : reasons_)
    text += fmt::format("{}{} {} (the first: {})", text.empty() ? "" : ", ", reason.count, reason.words,
                        reason.first);
  return text.empty() ? "" : fmt::format("left out: {} of {} rows: {}", count(), rows, text);
}

}  // namespace temper::env
