#include "trainer/app/bench/bench_weights.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "base/error.h"
#include "base/process.h"
#include "policy/hugging_face/files.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/hugging_face/weight_files.h"
#include "policy/parameters/parameter_share.h"
#include "policy/parameters/parameter_store.h"
#include "policy/parameters/piece_digest.h"
#include "policy/threads.h"
#include "trainer/app/checks.h"
#include "trainer/config/device.h"

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

struct WeightBenchWords {
  std::string model, write, device = "auto";
};

// Resets the process's peak memory, if the kernel allows it.
void reset_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

// VmHWM or VmRSS of this process.
double memory_gb(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1)) * 1024e-9;
  return 0;
}

void measure(const std::string& what, uint64_t bytes, const std::function<void()>& call) {
  reset_peak_memory();
  const double before_gb = memory_gb("VmRSS"), start_s = now_s();
  call();
  const double seconds = now_s() - start_s, gb = double(bytes) * 1e-9;
  fmt::print("{:<40}{:>9.2f} GB{:>9.2f} s{:>8.2f} GB/s{:>11.2f} GB\n", what, gb, seconds, gb / seconds,
             memory_gb("VmHWM") - before_gb);
  std::fflush(stdout);
}

void bench_checkpoint(policy::ParameterStore& store, const fs::path& folder) {
  const fs::path path = folder / fmt::format("temper_bench_{}.safetensors", ::getpid());
  policy::ShareCopy copy;
  store.parts();  // moments, which training has
  const auto bytes = uint64_t(store.share_size()) * 3 * sizeof(float);
  measure("checkpoint: copy", bytes, [&] { copy.take(store); });
  for (const int threads : {1, policy::file_threads()}) {
    const std::string by = fmt::format(", {} thread{}", threads, threads > 1 ? "s" : "");
    std::string digest;
    measure("checkpoint: hash and write" + by, bytes,
            [&] { digest = policy::write_safetensors(path, copy.tensors(), threads, true); });
    measure("checkpoint: compare" + by, bytes,
            [&] { TEMPER_CHECK_EQ(policy::digest_of_pieces(path, threads), digest); });
    fs::remove(path);
  }
}

int bench_weights(const WeightBenchWords& words) {
  const policy::PolicyOptions options = use_device(words.device, words.model);
  const policy::ModelConfig config = policy::read_model_config(words.model);
  const uint64_t bytes = policy::WeightFiles(words.model, config).bytes();
  fmt::print("{}, {} threads\n{:>87}\n", device_text(options), policy::file_threads(), "more memory");
  std::unique_ptr<policy::Policy> policy;
  measure("headers of all files", bytes, [&] { policy::check_weights(words.model, config); });
  measure("weights in", bytes,
          [&] { policy = std::make_unique<policy::Policy>(policy::import_policy(words.model, options)); });
  if (words.write.empty()) return kExitOk;
  const fs::path folder = fs::path(words.write) / fmt::format("temper_bench_{}", ::getpid());
  fs::create_directories(folder);
  measure("weights out, bfloat16", uint64_t(2 * config.parameter_count()),
          [&] { policy::write_weights(folder, *policy, {.dtype = "bfloat16"}); });
  bench_checkpoint(policy->parameters(), folder);
  fs::remove_all(folder);
  return kExitOk;
}

}  // namespace

void add_bench_weights(CLI::App& bench, int& exit_code) {
  auto* command = bench.add_subcommand(
      "weights", "a Hugging Face directory's weights in, and a checkpoint out: seconds, GB/s, host memory");
  const auto words = std::make_shared<WeightBenchWords>();
  command->add_option("model", words->model, "Hugging Face directory")->transform(path_word())->required();
  command->add_option("--write", words->write, "existing folder to write the weights and a checkpoint to")
      ->transform(path_word());
  command->add_option("--device", words->device, "auto, cpu, cuda or cuda:N");
  command->callback([=, &exit_code] { exit_code = bench_weights(*words); });
}

}  // namespace temper::trainer
