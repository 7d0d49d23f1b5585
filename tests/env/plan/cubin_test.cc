#include "base/files.h"
#include "env/plan/gate.h"
#include "env/plan/launch_rules.h"
#include "tests/env/cuda_boxes.h"

#ifdef TEMPER_CUDA_HEADERS
#include <cuda_occupancy.h>
#endif

#include <elf.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <random>

namespace temper::env {
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

// ptxas 12 writes the architecture elsewhere than ptxas 13.
TEST(Cubin, KnowsItsArchitectureInFilesOfBothVersions) {
  SKIP_WITHOUT_NVCC();
  std::string bytes = some_cubin();
  Cubin cubin;
  ASSERT_EQ(read_cubin(bytes, cubin), "");
  EXPECT_EQ(cubin.architecture, 90);
  bytes[EI_ABIVERSION] = 7;
  const uint32_t flags = 0x5A0D5A;
  std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_flags), &flags, sizeof flags);
  ASSERT_EQ(read_cubin(bytes, cubin), "");
  EXPECT_EQ(cubin.architecture, 90);
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
    for (const CubinGlobal& global : cubin.globals) make_visible(bytes, global);
    for (const CubinKernel& kernel : cubin.kernels) {
      resident_blocks(kernel, 64, 0, {});
      check_launch(kernel, {}, {}, {});
      EXPECT_LE(kernel.parameter_bytes(), kMaxArgumentBytes);
    }
  }
  EXPECT_GT(read, 1000);
}

// Thousands of sections may lie over the same bytes of a small file.
TEST(Cubin, CostsNoMoreThanItsBytes) {
  constexpr uint32_t kKernels = 2000, kSections = 8000, kParameters = 8000;
  std::string names(1, '\0'), section_names(1, '\0'), symbols(sizeof(Elf64_Sym), '\0'), attributes;
  const auto add = [](std::string& table, const std::string& name) {
    table += name + '\0';
    return uint32_t(table.size() - name.size() - 1);
  };
  const auto append = [](std::string& bytes, const auto& record) {
    bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
  };
  for (uint32_t i = 0; i < kKernels; ++i)
    append(symbols, Elf64_Sym{add(names, fmt::format("k{}", i)), STB_GLOBAL << 4 | STT_FUNC, 0x10, 1, 0, 0});
  for (uint32_t i = 0; i < kParameters; ++i) {
    append(attributes, std::array<uint8_t, 4>{4, 0x17, 12, 0});
    append(attributes, std::array<uint32_t, 3>{0, i | (4 * i) << 16, 4 << 18});
  }
  std::string bytes(sizeof(Elf64_Ehdr), '\0');
  std::vector<Elf64_Shdr> headers(1);
  const auto section = [&](uint32_t name, uint32_t type, uint64_t at, uint64_t size) {
    Elf64_Shdr header{};
    header.sh_name = name, header.sh_type = type, header.sh_offset = at, header.sh_size = size;
    headers.push_back(header);
  };
  const auto placed = [&](const std::string& name, uint32_t type, const std::string& content) {
    section(add(section_names, name), type, bytes.size(), content.size());
    bytes += content;
  };
  placed(".strtab", SHT_STRTAB, names);
  placed(".symtab", SHT_SYMTAB, symbols);
  const size_t at = bytes.size();
  bytes += attributes;
  for (uint32_t i = 0; i < kSections; ++i)
    section(add(section_names, fmt::format(".nv.info.k{}", i % kKernels)), 0x70000000, at, attributes.size());
  const uint32_t name = add(section_names, ".shstrtab");
  section(name, SHT_STRTAB, bytes.size(), section_names.size());
  bytes += section_names;
  Elf64_Ehdr head{};
  std::copy_n(ELFMAG, SELFMAG, head.e_ident);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_machine = 190, head.e_flags = 90 << 8, head.e_shoff = bytes.size(),
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shnum = uint16_t(headers.size()), head.e_shstrndx = uint16_t(headers.size() - 1);
  std::memcpy(bytes.data(), &head, sizeof head);
  for (const Elf64_Shdr& header : headers) append(bytes, header);
  ASSERT_LT(bytes.size(), 1'000'000u);
  Cubin cubin;
  EXPECT_EQ(read_cubin(bytes, cubin), "not a cubin that can be read: sections that overlap");
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
}  // namespace temper::env
