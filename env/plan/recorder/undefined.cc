#include "env/plan/recorder/undefined.h"

#include <fmt/format.h>

#include <cctype>

namespace temper::env {
namespace {

struct Family {
  const char* part;  // of the name
  const char *reason, *advice;
};

constexpr const char* kGraphAdvice =
    "there are no CUDA graphs; launch the kernels, they are replayed as a plan";
constexpr const char* kEventAdvice = "there are no events; remove them, the judge does the timing";
constexpr const char* kTextureAdvice =
    "there are no textures, surfaces and arrays; read buffers, through __ldg";
constexpr const char* kSymbolAdvice =
    "variables cannot be reached from the host; pass values as kernel arguments, or initialise __constant__ "
    "where it "
    "is declared";
constexpr const char* kStreamAdvice = "there is one stream, the default one; launch everything there";
constexpr const char* kHostMemoryAdvice =
    "there is no pinned, mapped or managed memory; kernels see GPU memory alone: cudaMallocAsync";
constexpr const char* kDriverAdvice =
    "there is no driver, and so no tensor map; use cp.async or cp.async.bulk, which need none";
constexpr const char* kLibraryAdvice = "there are no libraries to call; write the kernels";

// The first that fits.
constexpr Family kFamilies[] = {
    {"cublas", "library", kLibraryAdvice},
    {"cudnn", "library", kLibraryAdvice},
    {"cufft", "library", kLibraryAdvice},
    {"curand", "library", kLibraryAdvice},
    {"cusparse", "library", kLibraryAdvice},
    {"cusolver", "library", kLibraryAdvice},
    {"Capture", "graph", kGraphAdvice},
    {"Graph", "graph", kGraphAdvice},
    {"Event", "event", kEventAdvice},
    {"Texture", "texture", kTextureAdvice},
    {"Surface", "texture", kTextureAdvice},
    {"Array", "texture", kTextureAdvice},
    {"Symbol", "symbol", kSymbolAdvice},
    {"Callback", "callback", "the host takes no part in a plan; remove it"},
    {"HostFunc", "callback", "the host takes no part in a plan; remove it"},
    {"Stream", "stream", kStreamAdvice},
    {"Host", "host_memory", kHostMemoryAdvice},
    {"Managed", "host_memory", kHostMemoryAdvice},
    {"Prefetch", "host_memory", kHostMemoryAdvice},
    {"Advise", "host_memory", kHostMemoryAdvice},
    {"DriverEntryPoint", "driver", kDriverAdvice},
    {"Library", "driver", kDriverAdvice},
    {"L2", "l2_window", "the L2 cache cannot be set aside; remove it"},
};

bool of_driver(std::string_view name) {
  return name.size() > 2 && name.starts_with("cu") && std::isupper(static_cast<unsigned char>(name[2]));
}

}  // namespace

Finding undefined_symbol(std::string_view name) {
  for (const Family& family : kFamilies) {
    if (!name.starts_with("cu") || name.find(family.part) == std::string_view::npos) continue;
    const bool library = family.advice == kLibraryAdvice;
    return {library ? VerdictKind::kRejectPolicy : VerdictKind::kFailPlan, family.reason,
            fmt::format("launch calls {}: {}", name, family.advice)};
  }
  if (of_driver(name))
    return {VerdictKind::kFailPlan, "driver", fmt::format("launch calls {}: {}", name, kDriverAdvice)};
  if (name.starts_with("cuda"))
    return {VerdictKind::kFailPlan, "runtime_call",
            fmt::format("launch calls {}, which a plan does not have; remove it", name)};
  return {VerdictKind::kFailPlan, "undefined_symbol", fmt::format("{} is used and not defined", name)};
}

}  // namespace temper::env
