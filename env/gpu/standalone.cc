#include "env/gpu/standalone.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "env/gpu/case.h"
#include "env/languages/language.h"
#include "env/task/c_names.h"

namespace temper::env {
namespace {

// Times do not hang on which normal numbers the inputs are: a sum of four uniform ones is normal enough.
constexpr const char* kHelpers = R"(
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

namespace standalone {

constexpr int kSets = 4, kCalls = 101, kWarm = 5;

inline void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
  std::exit(1);
}

__device__ inline float uniform(unsigned long long i, unsigned seed) {
  unsigned long long x = (i + 1) * 0x9E3779B97F4A7C15ull + seed * 0xD1B54A32D192ED03ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return (float((x >> 40) & 0xFFFFFF) + 0.5f) / 16777216.0f;
}

enum Kind { kNormal, kUniform, kIndex };

template <class T>
__global__ void fill(T* out, long long count, unsigned seed, Kind kind, float a, float b) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
    const float u = uniform(i, seed);
    float value = a + b * u;
    if (kind == kNormal) value = a * 1.7320508f * (u + uniform(i, seed + 7) + uniform(i, seed + 11) + uniform(i, seed + 13) - 2);
    if (kind == kIndex) value = fminf(floorf(a * u), a - 1);
    out[i] = T(value);
  }
}

__global__ void read(const uint4* memory, long long count, unsigned* never) {
  unsigned seen = 0;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x)
    seen |= memory[i].x | memory[i].y | memory[i].z | memory[i].w;
  if (seen == 0x12345678) *never = seen;
}

template <class T>
T* allocate(long long count) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, size_t(count) * sizeof(T)), "allocate");
  check(cudaMemset(memory, 0, size_t(count) * sizeof(T)), "clear");
  return static_cast<T*>(memory);
}

template <class T>
T* input(long long count, unsigned seed, Kind kind, float a, float b) {
  T* memory = allocate<T>(count);
  fill<<<1024, 256>>>(memory, count, seed, kind, a, b);
  return memory;
}

template <class... A>
void call_launcher(A... arguments) {
  if constexpr (std::is_invocable_v<decltype(&launch), A..., cudaStream_t>)
    launch(arguments..., cudaStream_t(0));
  else
    launch(arguments...);
}
)";

constexpr const char* kMain = R"(

void time_launcher() {
  int l2 = 0;
  check(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0), "ask for the size of the L2 cache");
  const long long cold = 4 * (long long)l2 / 16;
  uint4* other = allocate<uint4>(cold);
  unsigned* never = allocate<unsigned>(1);
  // What a launcher asks for as it runs, it gets again at once, as from any allocator that keeps memory.
  cudaMemPool_t pool;
  unsigned long long all = ~0ull;
  check(cudaDeviceGetDefaultMemPool(&pool, 0), "find the pool of memory");
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all), "keep the pool's memory");
  std::vector<Set> sets;
  for (int i = 0; i < kSets; ++i) sets.push_back(make_set(100 * i));
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "create an event");
  check(cudaEventCreate(&end), "create an event");
  std::vector<float> us;
  for (int i = -kWarm; i < kCalls; ++i) {
    read<<<1024, 256>>>(other, cold, never);
    check(cudaEventRecord(begin), "record");
    call(sets[(i + kWarm) % kSets]);
    check(cudaEventRecord(end), "record");
    check(cudaEventSynchronize(end), "run the candidate");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "read the time");
    if (i >= 0) us.push_back(1e3f * ms);
  }
  std::sort(us.begin(), us.end());
  std::printf("%.3f %.3f %.3f\n", us[kCalls / 2], us[kCalls / 4], us[3 * kCalls / 4]);
}

}  // namespace standalone

int main() { standalone::time_launcher(); }
)";

std::string input_text(const TensorSpec& tensor, const DrawSpec& spec, size_t number) {
  const char* kind = spec.distribution == Distribution::kNormal  ? "kNormal"
                     : spec.distribution == Distribution::kIndex ? "kIndex"
                                                                 : "kUniform";
  const double a = spec.distribution == Distribution::kNormal  ? double(spec.scale)
                   : spec.distribution == Distribution::kIndex ? double(spec.form.bound)
                                                               : double(spec.form.low);
  return fmt::format("input<{}>({}ll, seed + {}, {}, float({}), float({}))", c_name(tensor.type),
                     spec.elements, number, kind, a, double(spec.form.width));
}

// What one call gets: its buffers, and how they are handed over.
std::string set_text(const Task& task) {
  const Shape& shape = task.timed_shape;
  const auto specs = draw_specs(task, {.magnitude = task.magnitudes[0]});
  std::string members, made;
  std::vector<std::string> arguments;
  const auto add = [&](const TensorSpec& tensor, const std::string& value) {
    members += fmt::format("  {}* {};\n", c_name(tensor.type), tensor.name);
    made += fmt::format("  set.{} = {};\n", tensor.name, value);
    arguments.push_back("set." + tensor.name);
  };
  for (size_t i = 0; i < task.inputs.size(); ++i)
    add(task.inputs[i], input_text(task.inputs[i], specs[i], i));
  for (const TensorSpec& output : task.outputs)
    add(output, fmt::format("allocate<{}>({}ll)", c_name(output.type), tensor_elements(output, shape)));
  for (const std::string& dim : task.dims) arguments.push_back(std::to_string(shape.at(dim)));
  return fmt::format(
      "\nstruct Set {{\n{}}};\n\nSet make_set([[maybe_unused]] unsigned seed) {{\n  Set "
      "set;\n{}  return set;\n}}\n\nvoid call(const Set& set) {{ call_launcher({}); }}\n",
      members, made, fmt::join(arguments, ", "));
}

std::string words_of(const Shape& shape) {
  std::string words;
  for (const auto& [name, size] : shape) words += fmt::format(" {}={}", name, size);
  return words;
}

}  // namespace

std::string standalone_program(const Task& task, const std::string& source) {
  std::string flags;
  for (const std::string& flag : kCuda.compiler_flags) flags += flag + " ";
  return fmt::format(
      "// {} at{}: nvcc {}-gencode arch=compute_90a,code=sm_90a -o standalone FILE.cu && ./standalone\n"
      "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#line 1 \"candidate.cu\"\n{}\n#line 1 "
      "\"standalone\"\n{}{}{}",
      task.name, words_of(task.timed_shape), flags, source, kHelpers, set_text(task), kMain);
}

}  // namespace temper::env
