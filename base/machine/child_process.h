#pragma once
// Programs as child processes, started in one place: ours, and the system's that we trust.
//
// What meets a candidate is started by env/box/namespaces.h instead, which needs namespaces from the child's
// first instruction on.

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"

namespace temper {

inline constexpr int kNullDevice = -1;

struct ChildProgram {
  std::vector<std::string> argv = {};                        // argv[0]: the program's path
  std::optional<std::vector<std::string>> environment = {};  // "NAME=value"; none: ours
  std::vector<int> descriptors = {};                         // become 3, 4, …; all others are closed
  // The descriptors that become the child's 0, 1 and 2: descriptors of this process, or kNullDevice.
  int input = STDIN_FILENO, output = STDOUT_FILENO, errors = STDERR_FILENO;
  std::vector<int> cores = {};     // cores to run on; if empty, those of this process
  bool own_group = false;          // the terminal's Ctrl-C does not reach it, nor what it starts
  bool ignores_interrupt = false;  // Ctrl-C reaches it and does nothing
  bool no_new_privileges = false;  // nothing that it executes gains any
  double reap_s = 2;               // how long a killed one is waited for, which a driver may hold on to
};

// Becomes the program, in this process: only what concerns descriptors and environment counts. Returns errno
// if it cannot.
int become(const ChildProgram& program);

// For what is started where nobody hears why it was not. Errors: WorldError naming a program that is not
// there or may not be executed.
void require_program(const std::string& path);

// Killed when destroyed, and when the thread that started it ends, whatever way.
class ChildProcess {
 public:
  // Errors: WorldError if the program cannot be started.
  static ChildProcess start(const ChildProgram& program);
  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)), reap_s_(other.reap_s_) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(reap_s_, other.reap_s_);
    return *this;
  }
  ~ChildProcess() { kill(); }

  pid_t pid() const { return pid_; }
  bool running() const { return pid_ > 0; }  // true until its end was noticed
  // Waits for the child's end, reaps it and returns waitpid's status; nothing if it still runs after `patience_s`.
  std::optional<int> wait(double patience_s);
  void signal(int number) const;
  void kill();  // SIGKILL and reap
  // Kills and reaps, and describes how the child had already ended, "was killed by signal 9 (Killed)"; empty if it was
  // still running. One that is ending, as it has closed its socket, has so long to do so.
  std::string end(double ending_s = 0);

 private:
  pid_t pid_ = -1;
  double reap_s_ = 2;
};

// A program of ours with a connected stream socket on its descriptor 3.
class Subprocess {
 public:
  // Errors: WorldError if the program cannot be started.
  static Subprocess start(std::vector<std::string> argv);
  int socket() const { return socket_.get(); }
  pid_t pid() const { return process_.pid(); }
  std::string end(double ending_s = 0);  // as ChildProcess's

 private:
  ChildProcess process_;
  Fd socket_;
};

// What a shell command prints, and whether it succeeded. Anything may stand on standard error: the loader complains there of a
// library in LD_PRELOAD that is missing, for every program that it starts.
struct CommandOutput {
  std::string text;
  std::string errors;
  bool ok = false;
};
CommandOutput output_of(const std::string& command);

std::string shell_word(const std::string& word);  // quoted, so that a shell reads it as this word

}  // namespace temper
