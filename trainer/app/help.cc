#include "trainer/app/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/input/wrapped.h"
#include "trainer/run/terminal.h"

namespace temper::trainer {
namespace {

constexpr size_t kNameColumns = 24, kLeastWidth = 60, kUsualWidth = 100;
bool g_everything = false;

constexpr const char* kEpilogue =
    "`temper COMMAND --help` describes one, with the options that matter most; `--help-all` lists all. "
    "`temper "
    "options PATTERN` searches the options of a run. They are written key=value after a command, or "
    "--key=value.\n"
    "\n"
    "examples:\n"
    "  temper doctor\n"
    "  temper train configs/quickstart.yaml run.steps=20 run.name=first\n"
    "  temper show runs/first\n"
    "  temper report runs/first\n"
    "\n"
    "exit codes: 0 done or PASS; 1 the candidate failed, a task is not admitted, or a cell of a sweep "
    "failed; 2 your "
    "mistake; 3 the machine's; 130 interrupted";

// A name, and what it stands for beside it, or below where the name is long.
std::string row(const std::string& name, const std::string& text) {
  const size_t columns = columns_of(name);
  std::string line = "  " + name;
  if (text.empty()) return line + "\n";
  if (columns + 1 > kNameColumns)
    return line + "\n" + wrapped(text, terminal_width(), kNameColumns + 2) + "\n";
  line += std::string(kNameColumns - columns, ' ');
  return line + wrapped(text, terminal_width(), kNameColumns + 2, kNameColumns + 2) + "\n";
}

// "INT:at least 1" → "INT", "at least 1".
std::pair<std::string, std::string> type_and_range(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t colon = type.find(':');
  return colon == std::string::npos ? std::pair{type, std::string()}
                                    : std::pair{type.substr(0, colon), type.substr(colon + 1)};
}

std::string text_of_option(const CLI::Option& option) {
  std::string text = option.get_description(), note;
  const std::string range = option.get_items_expected_max() > 0 ? type_and_range(option).second : "";
  const std::string standard = option.get_default_str();
  const bool shown = option.get_items_expected_max() > 0 && !standard.empty() && standard != "[]" &&
                     text.find("default:") == std::string::npos;
  if (shown) note = "default: " + standard;
  if (!range.empty()) note += (note.empty() ? "" : "; ") + range;
  if (note.empty()) return text;
  return text + (text.empty() ? "" : " ") + "[" + note + "]";
}

std::string usage(const CLI::App& app) {
  std::string text = full_name(app);
  if (!commands_of(app).empty()) return text + " COMMAND …";
  text += " [--OPTION …]";
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional()) continue;
    std::string name = label_of(*option);
    if (option->get_items_expected_max() > 1) name += " …";
    text += option->get_required() ? fmt::format(" {}", name) : fmt::format(" [{}]", name);
  }
  return text;
}

// All but what comes behind the options.
std::string head_of(const CLI::App& app) {
  std::string text = wrapped(app.get_description(), terminal_width(), 0) + "\n\n  " + usage(app) + "\n\n";
  for (const CLI::App* command : commands_of(app))
    text += row(command->get_name(), command->get_description());
  if (!commands_of(app).empty()) text += "\n";
  for (const bool positional : {true, false})
    for (const CLI::Option* option : app.get_options())
      if (option->nonpositional() != positional) text += row(label_of(*option), text_of_option(*option));
  if (!app.get_parent())
    text += row("--version", "what this program is and was built with; `temper version --json`");
  return text + row("--help-all", "the same with every option of a run");
}

// The options of a run stand there once, behind all commands that take them.
std::string heads_of_parts(const CLI::App& app, std::string& footer) {
  std::string text;
  for (const CLI::App* command : commands_of(app)) {
    text += fmt::format("\n\n{}{}", head_of(*command), heads_of_parts(*command, footer));
    if (footer.empty()) footer = command->get_footer();
  }
  return text;
}

std::string help_of(const CLI::App& app) {
  std::string text = head_of(app), footer = app.get_footer();
  if (shows_everything()) text += heads_of_parts(app, footer);
  if (!app.get_parent()) footer += fmt::format("\n{}\n", wrapped(kEpilogue, terminal_width(), 0));
  return text + footer;
}

}  // namespace

size_t terminal_width() { return std::max(terminal_columns().value_or(kUsualWidth), kLeastWidth); }

void use_own_help(CLI::App& app) {
  app.option_defaults()->always_capture_default();
  app.formatter_fn(
      [](const CLI::App* command, std::string, CLI::AppFormatMode) { return help_of(*command); });
  app.set_help_flag("-h,--help", "this");
}

void show_everything() { g_everything = true; }
bool shows_everything() { return g_everything; }

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent ? full_name(*parent) + " " + command.get_name() : command.get_name();
}

std::string label_of(const CLI::Option& option) {
  if (option.nonpositional()) {
    const std::string names = option.get_name(false, true);
    std::string label;
    for (const char c : names) {
      label += c;
      if (c == ',') label += ' ';
    }
    return option.get_items_expected_max() > 0 ? label + " " + type_and_range(option).first : label;
  }
  std::string name = option.get_name(true);
  if (name == "config") return "RUN.yaml";
  if (name == "sweep") return "SWEEP.yaml";
  if (name == "overrides") return "key=value";
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return char(std::toupper(c)); });
  return name;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  return names;
}

}  // namespace temper::trainer
