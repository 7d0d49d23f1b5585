#pragma once
// The broker's side of a Triton candidate's way to its plans: a box in which Python has imported torch and triton once and
// forks a process for each candidate. That process is locked up, runs the candidate's wrapper at each shape against tensors
// without values and a driver that records, and sends cubins and launches (env/plan/triton/reply.h). What forks never runs a
// candidate's code. No GPU is there, and no file of the machine but the compiler's and Python's.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "env/box/namespaces.h"
#include "env/plan/triton/python.h"
#include "env/plan/triton/reply.h"
#include "env/task/task.h"

namespace temper::env {

struct TritonBoxOptions {
  TritonPython python;
  std::string lock_up;                         // libtemper-lock-up.so
  std::chrono::milliseconds wall{30'000};      // for compiling and recording one candidate
  int64_t memory_bytes = int64_t(4) << 30;     // writable memory of each of its processes
  int64_t workspace_bytes = int64_t(8) << 30;  // what a call of it may allocate on the GPU
  int64_t reply_bytes = int64_t(64) << 20;
  uid_t user = 65534;  // the user that candidates become if we are root
};

// Options with the Python that find_triton_python finds and the library beside this program.
// Errors: WorldError saying what is missing.
TritonBoxOptions triton_box_options(const std::string& python);

class TritonBox {
 public:
  // Starts it and returns at once; imports take seconds. Errors: WorldError.
  explicit TritonBox(TritonBoxOptions options);

  // Waits until it can fork, and locks up one process without a candidate. Errors: WorldError in its words if it cannot.
  void wait_ready();
  pid_t pid() const { return process_.pid(); }  // another one after a new start

  // What the candidate launches at each shape. A box that has ended is started again. Errors: WorldError, and only where the
  // failure is ours.
  TritonReply plan(const Task& task, const std::string& source, const std::vector<Shape>& shapes,
                   const GpuTarget& target);

 private:
  void start();
  int run_box(int socket) const;
  std::vector<std::string> answer_to(const std::string& request);
  [[noreturn]] void give_up(const std::string& what);

  TritonBoxOptions options_;
  BoxProcess process_;
  Fd socket_;
  bool ready_ = false;
};

// The files of Python that the box runs, by name; they are part of the program.
struct TritonFile {
  const char* name;
  const char* text;
};
std::vector<TritonFile> triton_files();

// The request for one candidate, as JSON.
std::string triton_request(const Task& task, const std::string& source, const std::vector<Shape>& shapes,
                           const GpuTarget& target, const TritonBoxOptions& options);

}  // namespace temper::env
