// temper: one native program that teaches a language model to write fast kernels by reinforcement learning.

#include <poll.h>

#include <cstring>

#include "base/error.h"
#include "base/machine/surroundings.h"
#include "base/process.h"
#include "policy/communicator/transport.h"
#include "trainer/commands/commands.h"
#include "trainer/interrupted.h"

namespace temper {
namespace {

// Whoever read it may be gone: no reason to end otherwise than said.
void say_error(const char* text) { std::fputs((std::string(text) + "\n").c_str(), stderr); }

// A pipe whose reader has left is no failure: it had what it wanted.
bool reader_left() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

// What a command printed is part of what it did: a full disk behind standard output is a failure.
int with_output(int code) {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  const std::string why = flushed ? "what was printed is not whole" : std::strerror(errno);
  if ((flushed && !std::ferror(stdout)) || reader_left()) return code;
  say_error(fmt::format("cannot write standard output: {}", why).c_str());
  return code == kExitOk ? int(kExitWorld) : code;
}

int run(int argc, char** argv) {
  CLI::App app("Teaches a language model to write fast kernels by reinforcement learning.", "temper");
  app.require_subcommand(1);
  int exit_code = kExitOk;
  for (const auto add : {add_train, add_eval, add_collect, add_judge, add_generate, add_tokenize, add_logprobs, add_export,
                         add_show, add_report, add_sweep, add_bench, add_options})
    add(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kExitOk : kExitUser;
  }
  return exit_code;
}

}  // namespace
}  // namespace temper

int main(int argc, char** argv) {
  using namespace temper;
  begin_process();
  install_interrupt_handler();
  try {
    return with_output(run(argc, argv));
  } catch (const ConfigError& e) {
    say_error(e.what());
    return kExitUser;
  } catch (const SaidElsewhere& e) {
    return e.exit_code;
  } catch (const Interrupted& e) {
    say_error(fmt::format("interrupted; {}", e.kept).c_str());
    return kExitInterrupted;
  } catch (const std::exception& e) {
    say_error(e.what());
    return interrupted() ? kExitInterrupted : kExitWorld;
  }
}
