#include <algorithm>
#include <cctype>
#include <memory>

#include "base/error.h"
#include "base/input/near_names.h"
#include "base/input/printable.h"
#include "trainer/app/commands/commands.h"
#include "trainer/app/help.h"
#include "trainer/config/other_names.h"

namespace temper::trainer {
namespace {

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return result;
}

// A section of that name, else keys that hold the pattern, else those whose help does.
std::string found_options(const VisitOptions& visit, const std::string& pattern) {
  const std::string wish = lower_case(pattern);
  const WantOption in_section = [&](const std::string& key, std::string_view) {
    return key.starts_with(wish + ".");
  };
  const WantOption in_key = [&](const std::string& key, std::string_view) {
    return key.find(wish) != std::string::npos;
  };
  const WantOption in_help = [&](const std::string&, std::string_view help) {
    return lower_case(help).find(wish) != std::string::npos;
  };
  for (const WantOption& wanted : {in_section, in_key, in_help})
    if (std::string text = options_to_help(visit, wanted, terminal_width()); !text.empty()) return text;
  return "";
}

[[noreturn]] void say_none(const VisitOptions& visit, const std::string& pattern) {
  std::vector<std::string> names;
  for (const auto& [key, value] : options_to_map(visit)) names.push_back(key);
  const std::string answer = answer_to_other_name(pattern, other_names());
  throw ConfigError("options: '{}' is in no option's name or help{}", printable(pattern),
                    answer.empty() ? did_you_mean(pattern, names) : "; " + answer);
}

int run_options(const std::string& pattern, bool markdown) {
  RunConfig config;
  const VisitOptions visit = [&](OptionVisitor& v) { config.visit(v); };
  const std::string text = markdown          ? options_to_markdown(visit)
                           : pattern.empty() ? options_to_help(visit, {}, terminal_width())
                                             : found_options(visit, pattern);
  if (text.empty()) say_none(visit, pattern);
  fmt::print("{}", text);
  return kExitOk;
}

}  // namespace

void add_options(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("options", "the options of a run: all, a section's, or those that match");
  const auto markdown = std::make_shared<bool>(false);
  const auto pattern = std::make_shared<std::string>();
  command->add_option("pattern", *pattern, "a section, or part of a name or of what it does; default: all");
  command->add_flag("--markdown", *markdown, "as the table of docs/reference/options.md");
  command->callback([=, &exit_code] { exit_code = run_options(*pattern, *markdown); });
}

}  // namespace temper::trainer
