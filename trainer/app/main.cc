// temper: one native program that teaches a language model to write fast kernels by reinforcement learning.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <system_error>

#include "base/error.h"
#include "base/machine/output.h"
#include "base/machine/surroundings.h"
#include "base/process.h"
#include "policy/ranks/transport.h"
#include "trainer/app/checks.h"
#include "trainer/app/commands/commands.h"
#include "trainer/app/help.h"
#include "trainer/app/typed.h"
#include "trainer/run/interrupted.h"
#include "trainer/run/provenance.h"

namespace temper::trainer {
namespace {

// Standard error may be a closed pipe; that must not change the exit code.
void say_error(const char* text) { std::fputs((std::string(text) + "\n").c_str(), stderr); }

// A command's output is part of its work, so that it fails if the disk of standard output is full. It does not fail if
// the reader of a pipe has left, who has read what it wanted.
int with_output(int code) {
  const int lost = finish_output().output;
  if (lost == 0 || lost == EPIPE) return code;
  if (interrupted()) return kExitInterrupted;
  say_error(fmt::format("cannot write standard output: {}", std::strerror(lost)).c_str());
  finish_output();
  return code == kExitOk ? int(kExitWorld) : code;
}

void add_commands(CLI::App& app, int& exit_code) {
  for (const auto add : {add_train, add_eval, add_collect, add_judge, add_tasks, add_generate, add_model,
                         add_tokenize, add_logprobs, add_export, add_show, add_report, add_sweep, add_bench,
                         add_options, add_doctor, add_version})
    add(app, exit_code);
  check_paths_are_known(app);
}

// What CLI11 found wrong, with the names that --help shows.
int say_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  std::string text = error.what();
  for (const CLI::Option* option : command->get_options())
    if (!option->nonpositional() && text == option->get_name(true) + " is required")
      text = label_of(*option) + " is required";
  say_error(fmt::format("{}; `{} --help` lists its arguments", text, full_name(*command)).c_str());
  return kExitUser;
}

int run(int argc, char** argv) {
  CLI::App app("Teaches a language model to write fast kernels by reinforcement learning.", "temper");
  app.require_subcommand(1);
  use_own_help(app);
  int exit_code = kExitOk;
  add_commands(app, exit_code);
  std::vector<std::string> words = as_meant(app, {argv + 1, argv + argc});
  try {
    std::ranges::reverse(words);  // as CLI11 takes them
    app.parse(std::move(words));
  } catch (const CLI::Success& e) {
    std::ostringstream help;
    app.exit(e, help, help);
    fmt::print("{}", help.str());
  } catch (const CLI::ParseError& e) {
    return say_parse_error(app, e);
  }
  return exit_code;
}

int run_and_explain(int argc, char** argv) try { return run(argc, argv); } catch (const ConfigError& e) {
  say_error(e.what());
  return kExitUser;
} catch (const policy::SaidElsewhere& e) {
  return e.exit_code;
} catch (const Interrupted& e) {
  say_error(fmt::format("interrupted; {}", e.kept).c_str());
  return kExitInterrupted;
} catch (const std::system_error& e) {
  if (std::ferror(stdout)) return kExitOk;  // with_output knows more of it
  say_error(e.what());
  return interrupted() ? kExitInterrupted : kExitWorld;
} catch (const std::exception& e) {
  say_error(e.what());
  return interrupted() ? kExitInterrupted : kExitWorld;
}

}  // namespace
}  // namespace temper::trainer

int main(int argc, char** argv) {
  using namespace temper::trainer;
  temper::begin_process();
  temper::install_interrupt_handler();
  temper::begin_output();
  note_command(argc, argv);
  return with_output(run_and_explain(argc, argv));
}
