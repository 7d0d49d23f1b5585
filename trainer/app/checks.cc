#include "trainer/app/checks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/input/home.h"
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

constexpr const char* kPath = "path";

// Options with a text that is no path.
const std::set<std::string> kWords = {"text",    "prompt",   "pattern",  "which", "overrides",
                                      "--chat",  "--title",  "--task",   "--set", "--chat-arguments",
                                      "--shape", "--device", "--machine"};

bool is_path(CLI::Option& option) try { return option.get_validator(kPath); } catch (const CLI::Error&) {
  return false;
}

}  // namespace

CLI::Validator path_word() {
  CLI::Validator expand(
      [](std::string& text) {
        try {
          text = expand_home(text);
          return std::string();
        } catch (const ConfigError& e) {
          return std::string(e.what());
        }
      },
      "");
  return expand.name(kPath);
}

void check_paths_are_known(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    TEMPER_CHECK(option->get_type_name() != "TEXT" || is_path(*option) ||
                     kWords.contains(option->get_name(false, true)),
                 "{} {} is a path or a word", app.get_name(), option->get_name(false, true));
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    check_paths_are_known(*command);
}

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
