#include "base/files.h"
#include "env/cuda/gate.h"
#include "env/cuda/launch_rules.h"
#include "tests/env/cuda_boxes.h"

#ifdef TEMPER_CUDA_HEADERS
#include <cuda_occupancy.h>
#endif

#include <random>

namespace temper {
namespace {

const std::string& some_cubin() {
  static const std::string cubin = compile_cuda(
                                       "__constant__ float table[3] = {1, 2, 3};\n__device__ int calls;\n"
                                       "__global__ void __launch_bounds__(64) a(const float* x, float* y, "
                                       "int n) { y[n] = x[n] + table[n]; }\n"
                                       "__global__ void __cluster_dims__(2, 1, 1) b(float* y) { __shared__ "
                                       "float s[9]; s[threadIdx.x] = calls++;\n"
                                       "  __syncthreads(); y[0] = s[1]; }\n"
                                       "extern \"C\" void launch(const float* x, float* y, int n) { a<<<1, "
                                       "1>>>(x, y, n); b<<<2, 1>>>(y); }\n")
                                       .cubin;
  return cubin;
}

// Whatever the bytes, there is an error or a cubin that the gate and the rules can be asked about.
TEST(Cubin, SurvivesAnyBytes) {
  SKIP_WITHOUT_NVCC();
  Cubin cubin;
  ASSERT_EQ(read_cubin(some_cubin(), cubin), "");
  ASSERT_EQ(cubin.kernels.size(), 2u);
  std::mt19937_64 random(7);
  int read = 0;
  for (int round = 0; round < 60'000; ++round) {
    std::string bytes = some_cubin();
    // Half of the changes where they hurt: in the header and the table of sections.
    for (uint64_t change = random() % 6 + 1; change-- > 0;) {
      const size_t at = random() % 2 ? random() % 64 : random() % bytes.size();
      bytes[at] = char(random() % 3 == 0 ? 0xFF : random());
    }
    if (round % 4 == 0) bytes.resize(random() % bytes.size());
    if (!read_cubin(bytes, cubin).empty()) continue;
    ++read;
    gate_cubin(cubin, "");
    for (const CubinKernel& kernel : cubin.kernels) {
      resident_blocks(kernel, 64, 0, {});
      check_launch(kernel, {}, {}, {});
      EXPECT_LE(kernel.parameter_bytes(), kMaxArgumentBytes);
    }
  }
  EXPECT_GT(read, 1000);
}

TEST(Cubin, RefusesOtherFiles) {
  Cubin cubin;
  EXPECT_NE(read_cubin("", cubin), "");
  EXPECT_NE(read_cubin(std::string(64, '\0'), cubin), "");
  EXPECT_NE(read_cubin(read_file("/proc/self/exe"), cubin), "");
}

// Against NVIDIA's own calculator.
TEST(LaunchRules, OccupancyIsTheToolkits) {
#ifdef TEMPER_CUDA_HEADERS
  const GpuTarget target;
  cudaOccDeviceProp device{};
  device.computeMajor = target.major, device.computeMinor = target.minor;
  device.maxThreadsPerBlock = target.max_threads_per_block;
  device.maxThreadsPerMultiprocessor = target.max_threads_per_multiprocessor;
  device.regsPerBlock = device.regsPerMultiprocessor = target.registers_per_multiprocessor;
  device.warpSize = target.warp_size;
  device.sharedMemPerBlock = size_t(target.shared_per_block);
  device.sharedMemPerBlockOptin = size_t(target.shared_per_block_optin);
  device.sharedMemPerMultiprocessor = size_t(target.shared_per_multiprocessor);
  device.reservedSharedMemPerBlock = size_t(target.reserved_shared_per_block);
  device.numSms = target.multiprocessors;
  std::mt19937 random(3);
  for (int round = 0; round < 20'000; ++round) {
    CubinKernel kernel;
    kernel.registers = random() % 255 + 1;
    kernel.static_shared = random() % 3 == 0 ? random() % 49152 : 0;
    const int threads = int(random() % 1024 + 1);
    const size_t dynamic = random() % 2 ? random() % 180'000 : 0;
    cudaOccFuncAttributes attributes;
    attributes.numRegs = int(kernel.registers), attributes.sharedSizeBytes = kernel.static_shared;
    attributes.maxThreadsPerBlock = 1024;
    attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    attributes.maxDynamicSharedSizeBytes = 180'000;
    cudaOccDeviceState state;
    cudaOccResult result;
    ASSERT_EQ(
        cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &attributes, &state, threads, dynamic), 0);
    EXPECT_EQ(resident_blocks(kernel, uint32_t(threads), dynamic, target),
              result.activeBlocksPerMultiprocessor)
        << kernel.registers << " registers, " << kernel.static_shared << " + " << dynamic << " bytes, "
        << threads;
  }
#else
  GTEST_SKIP() << "built without a CUDA toolkit";
#endif
}

TEST(LaunchRules, RefuseWhatCudaRefuses) {
  const GpuTarget target;
  const auto words = [&](const KernelLaunch& launch, const CubinKernel& kernel = {},
                         const PlanKernel& settings = {}) {
    return check_launch(kernel, settings, launch, target).words;
  };
  const auto launch = [](Extent grid, Extent block) {
    KernelLaunch one;
    one.grid = grid, one.block = block;
    return one;
  };
  EXPECT_EQ(words(launch({1, 1, 1}, {1024, 1, 1})), "");
  EXPECT_NE(words(launch({0, 1, 1}, {32, 1, 1})), "");
  EXPECT_NE(words(launch({1, 65536, 1}, {32, 1, 1})), "");
  EXPECT_NE(words(launch({1, 1, 1}, {32, 33, 1})), "");
  EXPECT_NE(words(launch({1, 1, 1}, {1, 1, 65})), "");
  CubinKernel kernel;
  kernel.registers = 128, kernel.static_shared = 1024;
  EXPECT_NE(words(launch({1, 1, 1}, {1024, 1, 1}), kernel), "");
  EXPECT_EQ(words(launch({1, 1, 1}, {512, 1, 1}), kernel), "");
  KernelLaunch shared = launch({1, 1, 1}, {32, 1, 1});
  shared.shared_bytes = 48 << 10;
  EXPECT_NE(words(shared, kernel), "");
  EXPECT_EQ(words(shared, kernel, {"", 48 << 10, -1, false}), "");
  shared.shared_bytes = 227 << 10;
  EXPECT_NE(words(shared, kernel, {"", 227 << 10, -1, false}), "");
  KernelLaunch cluster = launch({12, 1, 1}, {32, 1, 1});
  cluster.cluster = {12, 1, 1};
  EXPECT_NE(words(cluster), "");
  EXPECT_EQ(words(cluster, {}, {"", 0, -1, true}), "");
  cluster.cluster = {5, 1, 1};
  EXPECT_NE(words(cluster), "");
  KernelLaunch cooperative = launch({132 * 2, 1, 1}, {1024, 1, 1});
  cooperative.cooperative = true;
  EXPECT_EQ(words(cooperative), "");
  cooperative.grid.x += 1;
  EXPECT_NE(words(cooperative), "");
}

}  // namespace
}  // namespace temper
