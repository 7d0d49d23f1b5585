#include <fmt/format.h>

#include <algorithm>

#include "rollout/traces/cuda/skeletons.h"

namespace temper::traces {
namespace {

struct Helper {
  const char* name;
  ReductionStep step;  // its operation
  bool repeated;       // called more than once
};

bool sums(const ReductionStep& step) { return step.op == "sum" || step.op == "mean"; }

std::vector<Helper> helpers(const Program& program) {
  std::vector<Helper> all = {{"total", {"", "sum", nullptr, 1}, false},
                             {"largest", {"", "amax", nullptr, 1}, false},
                             {"least", {"", "amin", nullptr, 1}, false}};
  std::erase_if(all, [&](Helper& helper) {
    const auto uses = std::ranges::count_if(program.steps, [&](const ReductionStep& step) {
      return sums(step) ? sums(helper.step) : step.op == helper.step.op;
    });
    helper.repeated = uses > 1;
    return uses == 0;
  });
  return all;
}

void across_lanes(CudaWriter& out, const Helper& helper) {
  const char* first = out.hit(Defect::kHalfWarp) ? "8" : "16";
  out.line(fmt::format("for (int h = {}; h; h /= 2)", first));
  out.combine(helper.step, "  v", "__shfl_xor_sync(~0u, v, h)");
}

// Warps, then the results of the eight of them.
void across_warps(CudaWriter& out, const Helper& helper) {
  const bool warp_only = out.hit(Defect::kWarpOnly);
  if (!warp_only) out.line("__shared__ float p[8];");
  across_lanes(out, helper);
  if (!warp_only) {
    if (helper.repeated) out.line("__syncthreads();");
    out.line("if (threadIdx.x % 32 == 0) p[threadIdx.x / 32] = v;");
    if (!out.hit(Defect::kNoSync)) out.line("__syncthreads();");
    out.line("v = p[0];");
    out.line("for (int h = 1; h < 8; ++h)");
    out.combine(helper.step, "  v", "p[h]");
  }
  out.line("return v;");
}

void tree(CudaWriter& out, const Helper& helper) {
  out.line("__shared__ float p[256];");
  out.line("int k = threadIdx.x;");
  if (helper.repeated) out.line("__syncthreads();");
  out.line("p[k] = v;");
  out.open(fmt::format("for (int h = {}; h; h /= 2)", out.hit(Defect::kHalfBlock) ? "64" : "128"));
  if (!out.hit(Defect::kNoSync)) out.line("__syncthreads();");
  out.line("if (k < h)");
  out.combine(helper.step, "  p[k]", "p[k + h]");
  out.close();
  out.line("__syncthreads();");
  out.line("return p[0];");
}

}  // namespace

void write_helpers(CudaWriter& out, bool warps) {
  for (const auto& helper : helpers(out.program)) {
    out.open(fmt::format("__device__ float {}(float v)", helper.name));
    if (warps) {
      across_lanes(out, helper);
      out.line("return v;");
    } else if (out.style.way == Way::kBlockTree) {
      tree(out, helper);
    } else {
      across_warps(out, helper);
    }
    out.close();
  }
}

std::string reduced(const ReductionStep& step, const std::string& value) {
  return fmt::format("{}({})", sums(step) ? "total" : step.op == "amax" ? "largest" : "least", value);
}

}  // namespace temper::traces
