#include "trainer/app/commands/doctor_checks.h"

#include <dlfcn.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/input/printable.h"
#include "base/machine/cgroups.h"
#include "base/machine/cores.h"
#include "base/machine/lease.h"
#include "env/compile/toolchain.h"
#include "env/judge/judge.h"
#include "env/languages/language.h"
#include "env/plan/triton/box.h"
#include "env/plan/triton/python.h"
#include "env/task/problems/module_check.h"
#include "policy/cuda/device.h"
#include "policy/ranks/nccl.h"
#include "trainer/config/config.h"
#include "trainer/plan/machine.h"
#include "trainer/run/provenance.h"

namespace temper::trainer {
namespace {

namespace fs = std::filesystem;
using Findings = std::vector<HealthFinding>;

constexpr int64_t kLeastMemory = int64_t(1) << 30, kAmpleMemory = int64_t(4) << 30;
constexpr uint64_t kLeastDisk = uint64_t(200) << 20, kAmpleDisk = uint64_t(4) << 30;
constexpr const char* kTargetOfHopper = "sm_90a";

constexpr const char* kCppTask =
    "{name: doctor_scale, reference: x * 2 + 1, inputs: {x: [n]}, outputs: {y: [n]}, check: [{n: 7}], "
    "timed: {n: 65536}}";
constexpr const char* kCppAnswer =
    "extern \"C\" void kernel(const float* x, float* y, int n) {\n"
    "  for (int i = 0; i < n; ++i) y[i] = x[i] * 2 + 1;\n}\n";
constexpr const char* kCudaTask =
    "{name: doctor_scale, language: cuda, reference: x * 2 + 1, inputs: {x: [n]}, outputs: {y: [n]}, "
    "check: [{n: 7}], timed: {n: 4194304}}";
constexpr const char* kCudaAnswer =
    "__global__ void scale(const float* x, float* y, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = x[i] * 2 + 1;\n}\n"
    "extern \"C\" void launch(const float* x, float* y, int n) { scale<<<(n + 255) / 256, 256>>>(x, y, n); "
    "}\n";

bool works(const Findings& before, const std::string& name) {
  const auto found = std::ranges::find(before, name, &HealthFinding::name);
  return found != before.end() && found->health == Health::kWorks;
}

// What fails with an error's words, which say what to do.
template <class F>
HealthFinding tried(const std::string& name, Health otherwise, const std::string& advice, const F& f) {
  try {
    return f();
  } catch (const ConfigError& e) {
    return {name, otherwise, e.what(), advice, otherwise == Health::kFails};
  } catch (const std::exception& e) {
    return {name, otherwise, e.what(), advice};
  }
}

std::string gib(double bytes) { return fmt::format("{:.1f} GiB", bytes / double(1 << 30)); }

HealthFinding check_program(const Findings&) {
  const nlohmann::json facts = program_facts();
  std::vector<std::string> libraries;
  for (const auto& library : facts["libraries"])
    if (library[0] != "driver")
      libraries.push_back(library[0].get<std::string>() + " " + library[1].get<std::string>());
  return {"program", Health::kWorks,
          fmt::format("temper {}, commit {}; {}", facts["version"].get<std::string>(),
                      facts["commit"].get<std::string>(), fmt::join(libraries, ", ")),
          ""};
}

HealthFinding check_compiler(const Findings&) {
  return tried("C++ compiler", Health::kFails, "", [] {
    return HealthFinding{"C++ compiler", Health::kWorks,
                         env::find_toolchain(env::kCpp.compiler_flags, env::kCpp.entry_symbol).version, ""};
  });
}

// A whole judge, on one task of its own with an answer that is right.
HealthFinding judge_one(const std::string& name, Health otherwise, const std::string& task,
                        const std::string& answer) {
  return tried(name, otherwise, "", [&] {
    env::JudgeOptions options;
    options.lanes = 1;
    env::Judge judge(options, env::parse_tasks(task, "doctor"));
    const env::Verdict verdict = judge.judge("doctor_scale", answer);
    std::string notes;
    for (const std::string& note : judge.notes()) notes += (notes.empty() ? "" : "; ") + note;
    if (verdict.pass() || verdict.kind == env::VerdictKind::kSuspect)
      return HealthFinding{name, Health::kWorks,
                           fmt::format("{}; a right answer is judged right, in {:.1f} s",
                                       judge.sandbox_level(), verdict.total_ms * 1e-3),
                           notes};
    return HealthFinding{name, otherwise,
                         fmt::format("a right answer is judged {} {}", env::to_string(verdict.kind),
                                     printable(verdict.message, 500)),
                         notes};
  });
}

HealthFinding check_sandbox(const Findings& before) {
  if (!works(before, "C++ compiler"))
    return {"sandbox", Health::kFails, "not tried without a compiler", "Mend the compiler first."};
  return judge_one("sandbox", Health::kFails, kCppTask, kCppAnswer);
}

HealthFinding check_nvcc(const Findings&) {
  return tried("nvcc", Health::kWithout,
               "Candidates in CUDA can be neither compiled nor planned; those in C++ are not affected.", [] {
                 const env::CudaToolchain tools = env::find_cuda_toolchain(
                     env::kCuda.compiler_flags, env::kCuda.entry_point, kTargetOfHopper);
                 return HealthFinding{"nvcc", Health::kWorks, tools.device.version, ""};
               });
}

HealthFinding check_triton(const Findings&) {
  return tried("Triton", Health::kWithout,
               "Candidates in Triton cannot be judged; those in C++ and CUDA are not affected.", [] {
                 const env::TritonBoxOptions options = env::triton_box_options("");
                 env::TritonBox(options).wait_ready();
                 return HealthFinding{"Triton", Health::kWorks, env::description(options.python), ""};
               });
}

// What some problems in PyTorch import beside torch.
HealthFinding check_problems(const Findings&) {
  constexpr const char* kAdvice =
      "Problems in PyTorch that import it are left out. tools/bootstrap --problems installs einops and "
      "transformers.";
  return tried("problems", Health::kWithout, kAdvice, [] {
    const env::TritonPython python = env::find_triton_python("");
    env::SourceCheck check =
        env::check_sources({"import einops\nimport transformers\n"}, {python.program}, env::own_wheels());
    if (check.needs.empty()) throw WorldError("{} does not answer", python.program);
    const std::vector<std::string>& missing = check.needs.front().missing;
    if (missing.empty())
      return HealthFinding{"problems", Health::kWorks, "einops and transformers, which some problems import",
                           ""};
    return HealthFinding{"problems", Health::kWithout,
                         fmt::format("{} has no {}", python.program, fmt::join(missing, " and no ")),
                         kAdvice};
  });
}

HealthFinding check_driver(const Findings&) {
  if (const std::string version = driver_version(); !version.empty())
    return {"NVIDIA driver", Health::kWorks, version, ""};
  return {"NVIDIA driver", Health::kWithout, "no kernel module is loaded",
          "Nothing runs on GPUs here. With a GPU in the machine, install driver 580 or later; in a "
          "container, start "
          "it with the GPUs (docker: --gpus all)."};
}

HealthFinding check_gpus(const Findings&) {
  const char* on_cpu = "The policy computes on the CPU, in f32.";
  return tried("GPUs", Health::kWithout, on_cpu, [&] {
    const std::vector<std::string> names = policy::cuda::gpu_names();
    if (names.empty()) return HealthFinding{"GPUs", Health::kWithout, policy::cuda::no_gpu_reason(), on_cpu};
    for (size_t i = 0; i < names.size(); ++i)
      if (const std::string unfit = policy::cuda::unfit_gpu(int(i)); !unfit.empty())
        return HealthFinding{"GPUs", Health::kWithout, unfit, on_cpu};
    return HealthFinding{"GPUs", Health::kWorks, fmt::format("{}", fmt::join(names, ", ")), ""};
  });
}

HealthFinding check_gpu_judge(const Findings& before) {
  if (!works(before, "GPUs") || !works(before, "nvcc"))
    return {"judge on a GPU", Health::kWithout, "not tried: it needs a GPU and nvcc",
            "Candidates in CUDA cannot be timed here; `temper judge --plan` needs nvcc alone."};
  return judge_one("judge on a GPU", Health::kWithout, kCudaTask, kCudaAnswer);
}

HealthFinding check_nccl(const Findings&) {
  const std::string version = policy::nccl_version();
  if (version.empty())
    return {"NCCL", Health::kWithout, "this program was built without its code for GPUs",
            "Several ranks talk over TCP or MPI."};
  return {"NCCL", Health::kWorks, version, ""};
}

// Linked where the program was built with CUDA; what it may look at is found out by the judge on a GPU.
HealthFinding check_cupti(const Findings&) {
  using Version = int(uint32_t*);
  auto* const ask = reinterpret_cast<Version*>(::dlsym(RTLD_DEFAULT, "cuptiGetVersion"));
  uint32_t version = 0;
  if (ask == nullptr || ask(&version) != 0)
    return {"CUPTI", Health::kWithout, "is not loaded", "Verdicts of CUDA candidates have no profile."};
  return {"CUPTI", Health::kWorks, fmt::format("API {}", version), ""};
}

HealthFinding check_cores(const Findings&) {
  return tried("cores", Health::kFails, "", [] {
    const std::optional<double> granted = cgroup_room().cores;
    return HealthFinding{
        "cores", Health::kWorks,
        fmt::format("{} that this process may run on{}", allowed_core_count(),
                    granted ? fmt::format("; its control group grants the time of {:.3g}", *granted) : ""),
        ""};
  });
}

HealthFinding check_memory(const Findings&) {
  const int64_t bytes = available_memory_bytes();
  const Health health = bytes < kLeastMemory ? Health::kFails : Health::kWorks;
  return {"memory", health, gib(double(bytes)) + " available",
          bytes < kAmpleMemory ? "The smallest run takes about 1 GiB and each judge at work as much again; "
                                 "`temper train RUN.yaml --dry-run` shows what a run needs."
                               : ""};
}

HealthFinding disk_at(const std::string& name, const fs::path& folder, const std::string& advice) {
  return tried(name, Health::kFails, advice, [&] {
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
      return HealthFinding{name, Health::kFails, folder.string() + " cannot be written", advice};
    const uint64_t bytes = free_disk_bytes(folder);
    return HealthFinding{name, bytes < kLeastDisk ? Health::kFails : Health::kWorks,
                         fmt::format("{} free in {}", gib(double(bytes)), folder.string()),
                         bytes < kAmpleDisk ? advice : ""};
  });
}

HealthFinding check_disk(const Findings&) {
  return disk_at("disk", fs::current_path(),
                 "Runs are written to runs/ of this folder; run.dir=DIR chooses another.");
}

HealthFinding check_scratch(const Findings&) {
  return disk_at("scratch", fs::temp_directory_path(),
                 "What compilers and judges write goes there; TMPDIR=DIR chooses another.");
}

HealthFinding check_limits(const Findings&) {
  constexpr rlim_t kLeastFiles = 1024;
  rlimit files{}, locked{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  ::getrlimit(RLIMIT_MEMLOCK, &locked);
  const auto text = [](rlim_t limit) {
    return limit == RLIM_INFINITY ? std::string("unlimited") : std::to_string(limit);
  };
  const bool few = files.rlim_cur < kLeastFiles;
  return {
      "limits", few ? Health::kWithout : Health::kWorks,
      fmt::format("{} open files, {} bytes of locked memory", text(files.rlim_cur), text(locked.rlim_cur)),
      few ? fmt::format("Many ranks and judges want more files: ulimit -n {}.", text(files.rlim_max)) : ""};
}

// "core-3" of "temper-1000-core-3.lock", where it is a lock of ours.
std::string part_of_lock(const std::string& file) {
  const std::string prefix = fmt::format("temper-{}-", ::geteuid()), suffix = ".lock";
  if (!file.starts_with(prefix) || !file.ends_with(suffix) || file.ends_with("-turn.lock")) return "";
  return file.substr(prefix.size(), file.size() - prefix.size() - suffix.size());
}

// Cores and GPUs on which another process judges right now.
HealthFinding check_locks(const Findings&) {
  return tried("locks", Health::kWithout, "", [] {
    std::vector<std::string> held;
    for (const auto& entry : fs::directory_iterator(fs::temp_directory_path())) {
      const std::string part = part_of_lock(entry.path().filename().string());
      if (part.empty()) continue;
      LeaseWait wait(part);
      if (!wait.try_now()) held.push_back(fmt::format("{} is held by {}", part, wait.holder()));
    }
    if (held.empty())
      return HealthFinding{"locks", Health::kWorks, "no core or GPU is held by another judge", ""};
    return HealthFinding{
        "locks", Health::kWithout, fmt::format("{}", fmt::join(held, "; ")),
        "A judge waits while another one times a candidate there. Where that process should be "
        "gone, end it."};
  });
}

HealthFinding check_tasks(const Findings&) {
  return tried("tasks", Health::kFails, "", [] {
    const RunConfig config = read_config("", {});
    const std::vector<env::Task> tasks = load_all_tasks(config);
    return HealthFinding{"tasks", Health::kWorks,
                         fmt::format("{} in {}", tasks.size(), config.tasks.place().string()), ""};
  });
}

}  // namespace

const std::vector<HealthCheck>& health_checks() {
  static const std::vector<HealthCheck> checks = {
      check_program, check_compiler, check_sandbox, check_nvcc,   check_triton,    check_problems,
      check_driver,  check_gpus,     check_nccl,    check_cupti,  check_gpu_judge, check_cores,
      check_memory,  check_disk,     check_scratch, check_limits, check_locks,     check_tasks};
  return checks;
}

}  // namespace temper::trainer
