// What a plan asks of the kernels in its candidate's cubins.

#include <gtest/gtest.h>

#include "env/plan/gate.h"

namespace temper::env {
namespace {

Cubin cubin_with(const std::string& kernel, std::vector<CubinParameter> parameters) {
  Cubin cubin;
  cubin.architecture = 90;
  CubinKernel& only = cubin.kernels.emplace_back();
  only.name = kernel;
  only.registers = 32;
  only.parameters = std::move(parameters);
  return cubin;
}

// The two have a kernel of the same name, and one has a tensor map at 64.
std::vector<Cubin> two_cubins() {
  return {cubin_with("k", {{0, 8}, {8, 4}}), cubin_with("k", {{0, 8}, {64, 128}})};
}

KernelLaunch launch_with(uint32_t kernel, size_t argument_bytes) {
  KernelLaunch launch{.kernel = kernel, .grid = {}, .block = {}, .cluster = {}};
  launch.arguments.resize(argument_bytes);
  return launch;
}

LaunchPlan plan_with(std::vector<PlanKernel> kernels, std::vector<Step> steps) {
  return {.kernels = std::move(kernels), .workspaces = {}, .steps = std::move(steps)};
}

const PlanKernel kFirst{.name = "k"}, kSecond{.name = "k", .cubin = 1};

TEST(PlanKernels, AreThoseOfTheirCubins) {
  const auto cubins = two_cubins();
  const auto problem = [&](const LaunchPlan& plan) { return check_plan_kernels(plan, cubins, {}); };
  EXPECT_EQ(problem(plan_with({kFirst, kSecond}, {launch_with(0, 12), launch_with(1, 192)})), "");
  EXPECT_EQ(problem(plan_with({kFirst, kSecond}, {launch_with(0, 192), launch_with(1, 192)})),
            "192 bytes of arguments for k, which takes 12");
  EXPECT_EQ(problem(plan_with({{.name = "other", .cubin = 1}}, {})), "cubin 1 has no kernel other");
  EXPECT_EQ(problem(plan_with({{.name = "k", .cubin = 2}}, {})), "cubin 2 has no kernel k");
  EXPECT_EQ(check_plan_kernels(plan_with({{.name = "other"}}, {}), {&cubins[0], 1}, {}),
            "the cubin has no kernel other");
  EXPECT_EQ(check_plan_kernels(plan_with({kSecond}, {}), {&cubins[0], 1}, {}), "cubin 1 has no kernel k");
  EXPECT_NE(check_plan_kernels(plan_with({kFirst}, {}), {}, {}), "");
}

TEST(PlanKernels, TakeTensorMapsWhereTheyAreParameters) {
  const auto cubins = two_cubins();
  KernelLaunch launch = launch_with(0, 192);
  const TensorMap map{.at = 64, .sizes = {64}, .strides = {}, .box = {64}};
  launch.tensor_maps = {map};
  EXPECT_EQ(check_plan_kernels(plan_with({kSecond}, {launch}), cubins, {}), "");
  launch.tensor_maps[0].at = 0;
  EXPECT_EQ(check_plan_kernels(plan_with({kSecond}, {launch}), cubins, {}),
            "a tensor map at 0 of the arguments of k, which takes none there");
  const std::vector<Cubin> narrow{cubin_with("k", {{0, 8}, {64, 64}, {128, 64}})};
  launch.tensor_maps[0].at = 64;
  EXPECT_EQ(check_plan_kernels(plan_with({kFirst}, {launch}), narrow, {}),
            "a tensor map at 64 of the arguments of k, which takes none there");
}

TEST(PlanKernels, OfAlternativesAreCheckedToo) {
  const auto cubins = two_cubins();
  LaunchPlan plan = plan_with({kFirst, kSecond}, {});
  plan.choices = {{0, 0, {{0, "", {launch_with(0, 12)}}, {1, "", {launch_with(1, 192)}}}}};
  EXPECT_EQ(check_plan_kernels(plan, cubins, {}), "");
  std::get<KernelLaunch>(plan.choices[0].alternatives[1].steps[0]).block = {2048, 1, 1};
  EXPECT_EQ(check_plan_kernels(plan, cubins, {}), "a block of (2048, 1, 1); at most 1024 threads");
}

TEST(PlanKernels, ClustersDivideTheirGridsAndCooperationFitsTheGpu) {
  const auto cubins = two_cubins();
  const auto problem = [&](const KernelLaunch& launch, const PlanKernel& kernel = kFirst) {
    return check_plan_kernels(plan_with({kernel}, {launch}), cubins, {});
  };
  KernelLaunch launch = launch_with(0, 12);
  launch.grid = {8, 1, 1};
  launch.cluster = {2, 1, 1};
  EXPECT_EQ(problem(launch), "");
  launch.cluster = {3, 1, 1};
  EXPECT_EQ(problem(launch), "a grid of (8, 1, 1) is no multiple of its cluster (3, 1, 1)");
  launch.grid = {32, 1, 1};
  launch.cluster = {16, 1, 1};
  EXPECT_NE(problem(launch).find("a cluster of 16 blocks; at most 8"), std::string::npos) << problem(launch);
  EXPECT_EQ(problem(launch, {.name = "k", .nonportable_cluster = true}), "");
  launch.cluster = {};
  launch.block = {1024, 1, 1};
  launch.cooperative = true;
  launch.grid = {264, 1, 1};
  EXPECT_EQ(problem(launch), "");
  launch.grid.x = 265;
  EXPECT_EQ(problem(launch), "a cooperative grid of 265 blocks; 264 are on the GPU at once");
}

}  // namespace
}  // namespace temper::env
