#pragma once
// What tests of Triton candidates share: a task, and a box where Python has torch and triton.

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "base/error.h"
#include "env/plan/planner.h"
#include "env/plan/triton/box.h"

namespace temper::env {

// Another one in each process, as limits of processes count by user: tests run side by side.
inline const uid_t kTritonTestUser = 65'600 + uid_t(::getpid()) % 1'000;

// Nothing where there is no such Python; `why` says so.
inline const TritonBoxOptions* triton_options(std::string* why = nullptr) {
  static std::string problem;
  static auto options = []() -> std::optional<TritonBoxOptions> {
    try {
      TritonBoxOptions found = triton_box_options("");
      found.user = kTritonTestUser;
      found.wall = std::chrono::minutes(2);  // what compiles is not asked how long it takes on a busy machine
      return found;
    } catch (const WorldError& e) {
      problem = e.what();
      return std::nullopt;
    }
  }();
  if (why != nullptr) *why = problem;
  return options ? &*options : nullptr;
}

#define SKIP_WITHOUT_TRITON()                                      \
  do {                                                             \
    std::string why_;                                              \
    if (!temper::env::triton_options(&why_)) GTEST_SKIP() << why_; \
  } while (0)

inline TritonBox& triton_box() {
  static TritonBox box(*triton_options());
  return box;
}

inline Task triton_scale_task() {
  return parse_tasks(
             "{name: scale, language: triton, reference: x * 2 + 1, inputs: {x: [n]}, outputs: {y: [n]}, "
             "check: [{n: 7}], timed: {n: 4096}}",
             "triton_boxes.h")
      .front();
}

inline constexpr const char* kTritonScale = R"(
import torch
import triton
import triton.language as tl

@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2 + 1, mask=at < n)

def launch(x, n):
    y = torch.empty_like(x)
    scale[(triton.cdiv(n, 256),)](x, y, n, BLOCK=256)
    return y
)";

}  // namespace temper::env
