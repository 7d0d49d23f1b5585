#include "trainer/app/bench/bench_kernels.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "policy/bench/kernel_bench.h"
#include "policy/cuda/device.h"
#include "trainer/app/checks.h"

namespace temper::trainer {

using policy::OpTime;

namespace {

struct KernelWords {
  policy::KernelBenchShape shape;
  bool json = false;
};

double rate(const OpTime& kernel) { return double(kernel.bytes) / kernel.seconds; }

void print_table(const std::vector<OpTime>& kernels) {
  fmt::print("{:<28}{:>12}{:>10}{:>10}{:>10}\n", "kernel", "us", "GB/s", "of copy", "TFLOP/s");
  for (const OpTime& kernel : kernels) {
    fmt::print("{:<28}{:>12.1f}{:>10.0f}{:>8.0f} %", kernel.name, kernel.seconds * 1e6, rate(kernel) * 1e-9,
               100 * rate(kernel) / rate(kernels.front()));
    if (kernel.operations > 0) fmt::print("{:>10.0f}", kernel.operations / kernel.seconds * 1e-12);
    fmt::print("\n");
  }
}

nlohmann::json report(const std::vector<OpTime>& kernels) {
  nlohmann::json all = nlohmann::json::array();
  for (const OpTime& kernel : kernels)
    all.push_back({{"kernel", kernel.name},
                   {"seconds", kernel.seconds},
                   {"bytes", kernel.bytes},
                   {"bytes_per_s", rate(kernel)},
                   {"share_of_copy", rate(kernel) / rate(kernels.front())},
                   {"flop_per_s", kernel.operations / kernel.seconds}});
  return all;
}

int bench_kernels(const KernelWords& words) {
  if (words.shape.width % 128 != 0)
    throw ConfigError("--width: {} is not a multiple of 128, the width of a head", words.shape.width);
  if (words.shape.vocab % 8 != 0)
    throw ConfigError("--vocab: {} is not a multiple of 8, the logits of 16 bytes", words.shape.vocab);
  if (policy::cuda::gpu_count() == 0) throw WorldError("bench kernels: {}", policy::cuda::no_gpu_reason());
  const std::vector<OpTime> kernels = policy::bench_kernels(words.shape);
  if (words.json)
    fmt::print("{}\n", report(kernels).dump(2));
  else
    print_table(kernels);
  return kExitOk;
}

}  // namespace

void add_bench_kernels(CLI::App& bench, int& exit_code) {
  auto* command = bench.add_subcommand("kernels", "time and GB/s of each CUDA op");
  const auto words = std::make_shared<KernelWords>();
  command->add_option("--rows", words->shape.rows, "rows of a call")->check(between(1, 1 << 20));
  command->add_option("--width", words->shape.width, "width of the residual stream")
      ->check(between(128, 65536));
  command->add_option("--vocab", words->shape.vocab, "logits of a row")->check(between(8, 1 << 20));
  command->add_flag("--json", words->json, "as JSON");
  command->callback([=, &exit_code] { exit_code = bench_kernels(*words); });
}

}  // namespace temper::trainer
