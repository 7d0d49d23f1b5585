#pragma once
// Candidates in CUDA, compiled for the CPU and called with buffers of ours. For tests.

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "env/task/c_names.h"
#include "env/task/task.h"

namespace temper::cuda_on_cpu {

// `f<<<grid, block>>>(arguments);` becomes a call of device.h's.
inline std::string translated(std::string source) {
  for (size_t open; (open = source.find("<<<")) != std::string::npos;) {
    size_t name = open;
    if (source[name - 1] == '>') name = source.rfind('<', name - 1);  // of a template
    while (name > 0 &&
           (std::isalnum(static_cast<unsigned char>(source[name - 1])) || source[name - 1] == '_'))
      --name;
    const size_t close = source.find(">>>", open), end = source.find(';', close);
    const std::string kernel = source.substr(name, open - name);
    source.replace(
        name, end - name,
        fmt::format("cuda_on_cpu::Launch({}).run([&] {{ {}{}; }})", source.substr(open + 3, close - open - 3),
                    kernel, source.substr(close + 3, end - close - 3)));
  }
  const std::string linkage = "extern \"C\" ";
  source.erase(source.find(linkage), linkage.size());
  return source;
}

// Calls launcher `v` of several, each in a namespace of its own, with an array of pointers to its arguments.
inline std::string unit(const env::Task& task, const std::vector<std::string>& sources) {
  std::string text = "#include \"device.h\"\n", calls;
  std::vector<std::string> arguments;
  const auto tensor = [&](const env::TensorSpec& spec) {
    arguments.push_back(fmt::format("({}*)a[{}]", env::c_name(spec.type), arguments.size()));
  };
  for (const auto& input : task.inputs) tensor(input);
  for (const auto& output : task.outputs) tensor(output);
  for (size_t k = 0; k < task.dims.size(); ++k)
    arguments.push_back(fmt::format("*(int*)a[{}]", arguments.size()));
  for (size_t v = 0; v < sources.size(); ++v) {
    text +=
        fmt::format("namespace v{} {{\n#line 1 \"variant_{}.cu\"\n{}\n}}\n", v, v, translated(sources[v]));
    calls += fmt::format("    case {}: v{}::launch({}); return 0;\n", v, v, fmt::join(arguments, ", "));
  }
  text += fmt::format(
      "extern \"C\" int run(int v, int order, void** a) {{\n  thread_order = order;\n  try {{\n"
      "    switch (v) {{\n{}    }}\n  }} catch (...) {{}}\n  return 1;\n}}\n",
      calls);
  return text;
}

struct Call {
  int order = 0;                 // of threads: device.h
  std::vector<void*> arguments;  // a pointer to each size, buffers themselves
};

// A shared object of them. Errors: std::runtime_error with the compiler's words.
class Library {
 public:
  Library(const env::Task& task, const std::vector<std::string>& sources) {
    const auto folder =
        std::filesystem::temp_directory_path() / fmt::format("temper_cuda_on_cpu_{}", getpid());
    precompile(folder);
    path_ = folder / (task.name + ".so");
    const auto source = folder / (task.name + ".cc"), log = folder / (task.name + ".log");
    std::ofstream(source) << unit(task, sources);
    const std::string command = fmt::format("{} -shared -I{} {} -o {} 2>{}", kCompiler, folder.string(),
                                            source.string(), path_.string(), log.string());
    if (std::system(command.c_str()) == 0) return;
    std::string words;
    std::getline(std::ifstream(log), words, '\0');
    throw std::runtime_error(words);
  }
  Library(const Library&) = delete;

  // In a process of its own, whatever the candidate does: whether it came back from all calls, within a
  // minute.
  bool run(size_t variant, std::vector<Call> calls) const {
    const pid_t child = fork();
    if (child == 0) {
      for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE}) std::signal(signal, SIG_DFL);
      alarm(60);
      void* library = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) _exit(2);
      const auto run = reinterpret_cast<int (*)(int, int, void**)>(dlsym(library, "run"));
      for (auto& call : calls)
        if (run(int(variant), call.order, call.arguments.data()) != 0) _exit(1);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  static constexpr const char* kCompiler =
      "g++ -std=c++17 -O1 -w -fPIC -fno-gnu-unique -fno-strict-aliasing -ffp-contract=off";

  // device.h, once: most of what compiling takes.
  static void precompile(const std::filesystem::path& folder) {
    if (std::filesystem::exists(folder)) return;
    std::filesystem::create_directories(folder);
    const std::string command =
        fmt::format("{} -x c++-header {}/tests/cuda_on_cpu/device.h -o {}/device.h.gch", kCompiler,
                    TEMPER_SOURCE_DIR, folder.string());
    if (std::system(command.c_str()) != 0) throw std::runtime_error(command);
    static const struct Remover {
      std::filesystem::path folder;
      ~Remover() { std::filesystem::remove_all(folder); }
    } remover{folder};
  }

  std::filesystem::path path_;
};

// Memory that a child writes and its parent reads, with zones on both sides that take what is written beyond.
// `guard`: the bytes next to it.
class SharedBuffer {
 public:
  SharedBuffer(size_t bytes, int guard) : bytes_(bytes), all_(bytes + 2 * kZone), guard_(guard) {
    base_ = static_cast<char*>(
        mmap(nullptr, all_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (base_ == MAP_FAILED) throw std::runtime_error("mmap");
  }
  ~SharedBuffer() { munmap(base_, all_); }
  SharedBuffer(const SharedBuffer&) = delete;
  void* data() const { return base_ + kZone; }
  size_t bytes() const { return bytes_; }

  void fill_guards() const {
    std::memset(base_ + kZone - kGuard, guard_, kGuard);
    std::memset(base_ + kZone + bytes_, guard_, kGuard);
  }
  bool guards_hold() const {
    for (size_t k = 0; k < kGuard; ++k) {
      if (base_[kZone - 1 - k] != char(guard_) || base_[kZone + bytes_ + k] != char(guard_)) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kZone = 16 << 20, kGuard = 64 << 10;
  size_t bytes_, all_;
  int guard_;
  char* base_;
};

}  // namespace temper::cuda_on_cpu
