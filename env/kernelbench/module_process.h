#pragma once
// The broker's side of a Python process of modules: one that holds references, that becomes a candidate, or that forks those
// which do. It is alone in its box: namespaces of its own, no network, no files but Python's and the compilers', and one GPU's
// devices. A process for candidates locks itself up (env/box/python_lock_up.h) when it has all that it needs, and says that it
// is ready. Nothing foreign is sent to it before.
//
// Over the stream socket at its descriptor 3 go frames, each one JSON text behind its length (env/plan/triton/frames.py).
// Descriptor 4 is the exchange, 5 the clock's page.

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "env/box/namespaces.h"
#include "env/plan/triton/python.h"

namespace temper::env {

struct ModuleBoxOptions {
  TritonPython python;
  std::string lock_up;   // libtemper-lock-up.so
  std::string segments;  // libtemper-segments.so, beside it
  std::string
      huggingface;  // a cache of Hugging Face that problems may read (env/task/hub_cache.h), absolute; or empty
  std::string device =
      "cuda";            // or "cpu": torch on a core, which is how all of it is tested where there is no GPU
  std::string gpu_uuid;  // of the one that processes see
  std::vector<std::string> nodes;               // the device files of that GPU and of its driver
  int64_t memory_bytes = int64_t(16) << 30;     // writable private memory of each process
  int64_t lanes = 1;                            // that share the GPU
  int64_t cpu_s = 1800;                         // CPU time of each process
  int64_t exchange_bytes = int64_t(256) << 20;  // where we make the exchange, on a core
  uid_t user = 65534;                           // the user that processes become if we are root
  std::chrono::milliseconds imports{180'000};   // until a process is ready, on a cold disk
};

// Options with the Python that find_triton_python finds and the library beside this program. Errors: WorldError saying what
// is missing, or that a folder of that Python or the cache lies in kModuleScratch; ConfigError if `huggingface` is no cache.
ModuleBoxOptions module_box_options(const std::string& python, const std::string& huggingface = "");

// The files of Python that the boxes run, by name; they are part of the program.
struct ModuleFile {
  const char* name;
  const char* text;
};
std::vector<ModuleFile> module_files();

inline constexpr const char* kModuleScratch = "/tmp";  // the one folder in a box in which files can be made

// What came, or why nothing did.
struct ModuleFrame {
  std::optional<nlohmann::json> json;  // an object
  std::string
      end;  // "timeout", "exit", "signal_11", "forbidden_call", "malformed", "interrupted"; empty if there is one
};

// What runs in a box.
struct ModuleProgram {
  std::string program;  // one of module_files()
  std::vector<std::string> arguments;
  std::vector<int> descriptors;  // become 4, 5, …
  // It runs nothing of candidates' and does not lock itself up: it has no privileges from the start.
  bool trusted = false;
  bool forks = false;  // it is trusted, but keeps what those that it forks take to lock themselves up
};

// The two ends of a channel.
struct ModuleSockets {
  Fd ours, theirs;
};
ModuleSockets module_sockets();  // Errors: WorldError

class ModuleProcess {
 public:
  // Starts it and returns at once. Errors: WorldError.
  ModuleProcess(const ModuleBoxOptions& options, ModuleProgram program);
  // A process that another one has already forked inside a box (module_zygote.h). It talks to us over `socket`.
  ModuleProcess(const ModuleBoxOptions& options, ModuleProgram program, Fd socket, BoxProcess process);

  // Waits until it is locked up. Errors: WorldError in its words if it cannot be.
  const nlohmann::json& wait_ready();

  // The answer to a request. A process that does not answer in time, or whose answer is no JSON object, is killed.
  ModuleFrame ask(const nlohmann::json& request, std::chrono::nanoseconds patience);
  // The two halves of ask(). Only a process that is trusted takes descriptors. All may give some, at most kMostDescriptors a frame.
  static constexpr size_t kMostDescriptors = 4;
  bool send(const nlohmann::json& request, const std::vector<int>& descriptors = {});
  ModuleFrame receive(std::chrono::nanoseconds patience);
  // Bytes that follow an answer as a frame of their own. Nothing if there are none in time.
  std::optional<std::string> receive_bytes(std::chrono::nanoseconds patience);

  // Whether something has arrived that was not read, or nothing can arrive any more.
  bool heard() const;
  // Those that came with the last frame that had any.
  std::vector<Fd> descriptors() { return std::exchange(descriptors_, {}); }

  // Makes a file in the process's scratch folder. Errors: WorldError. Only for a process in which nothing foreign runs yet.
  void put_file(const std::string& name, const std::string& content) const;
  bool running() const { return process_.running(); }
  pid_t pid() const { return process_.pid(); }
  void kill() { process_.kill(); }  // with all that it has started

 private:
  int run_box(const std::vector<int>& descriptors) const;
  bool read_exactly(void* data, size_t bytes, std::chrono::nanoseconds until);
  std::optional<std::string> read_frame(std::chrono::nanoseconds patience);
  std::string how_it_ended(bool timed_out);

  ModuleBoxOptions options_;
  ModuleProgram program_;
  Fd socket_;
  std::vector<Fd> descriptors_;
  BoxProcess process_;
  nlohmann::json ready_;
};

}  // namespace temper::env
