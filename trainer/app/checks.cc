#include "trainer/app/checks.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/input/near_names.h"
#include "base/input/printable.h"
#include "base/input/scalars.h"

namespace temper::trainer {
namespace {

CLI::Validator validator(const std::string& allowed, std::function<bool(double)> fits) {
  return {[=](std::string& text) {
            double value = 0;
            if (parse_scalar(text, value) && fits(value)) return std::string();
            return fmt::format("'{}' is not allowed: must be {}", printable(text), allowed);
          },
          allowed};
}

}  // namespace

CLI::Validator at_least(double least) {
  return validator(fmt::format("at least {}", least), [=](double value) { return value >= least; });
}

CLI::Validator above(double bound) {
  return validator(fmt::format("above {}", bound), [=](double value) { return value > bound; });
}

CLI::Validator between(double least, double most) {
  return validator(fmt::format("{} to {}", least, most),
                   [=](double value) { return value >= least && value <= most; });
}

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string allowed = fmt::format("one of {}", fmt::join(words, ", "));
  return {[=](std::string& text) {
            if (std::ranges::count(words, text) > 0) return std::string();
            return fmt::format("'{}' is not allowed: must be {}{}", printable(text), allowed,
                               did_you_mean(text, words));
          },
          allowed};
}

}  // namespace temper::trainer
