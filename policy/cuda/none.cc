// Temper built without its code for GPUs.

#include "base/error.h"
#include "policy/bench/kernel_bench.h"
#include "policy/bench/kernel_profile.h"
#include "policy/cuda/device.h"
#include "policy/cuda/make.h"
#include "policy/parameters/stage_copies.h"

namespace temper::policy::cuda {
namespace {

[[noreturn]] void refuse() { throw ConfigError("model.device: cuda is not available: {}", no_gpu_reason()); }

}  // namespace

int gpu_count() { return 0; }
std::vector<std::pair<std::string, std::string>> library_versions() { return {}; }
std::vector<std::string> gpu_names() { return {}; }
std::string unfit_gpu(int) { return no_gpu_reason(); }
std::string no_gpu_reason() {
  return "this program was built without its code for GPUs; TEMPER_CUDA=ON tools/build builds it";
}
Gpu describe_gpu(int) { refuse(); }
void use_gpu(int) { refuse(); }
std::unique_ptr<Decoder> make_decoder(const ModelConfig&, const PolicyOptions&) { refuse(); }
std::unique_ptr<CacheStorage> make_cache(const ModelConfig&, int64_t, int64_t) { refuse(); }
void synchronize() { refuse(); }
void give_back_unused() {}
at::Tensor host_zeros(int64_t, at::ScalarType, const char*) { refuse(); }
std::unique_ptr<StageCopies> make_stage_copies(int) { refuse(); }
PeakMemory peak_memory() { return {}; }
double squared_norm(const at::Tensor&) { refuse(); }
void adamw(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
           const AdamWFactors&) {
  refuse();
}
void fill_normal(const at::Tensor&, uint64_t, double) { refuse(); }

}  // namespace temper::policy::cuda

namespace temper::policy {

struct KernelProfile::Impl {};
KernelProfile::KernelProfile() { throw ConfigError("profile: {}", cuda::no_gpu_reason()); }
KernelProfile::~KernelProfile() = default;
KernelProfile::Found KernelProfile::stop() { return {}; }

}  // namespace temper::policy

namespace temper::policy {

std::vector<OpTime> bench_kernels(const KernelBenchShape&) {
  throw WorldError("kernels cannot be timed: {}", cuda::no_gpu_reason());
}

}  // namespace temper::policy
