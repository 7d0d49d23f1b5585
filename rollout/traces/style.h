#pragma once
// How an answer is written: the choices an author of kernels has, and the mistakes he makes.

#include <bitset>
#include <string>
#include <vector>

#include "rollout/traces/program.h"

namespace temper {

enum class Order { kRows, kColumns, kFlat, kBlocked };  // the outer loop; one loop over all; rows in blocks
enum class Accumulate { kPlain, kSimd, kTwo };          // one accumulator, a simd reduction, two accumulators

enum class Defect {
  // In the element:
  kBroadcastRow,     // b[:, None] indexed by the column
  kBroadcastColumn,  // a row vector indexed by the row
  kStride,           // the row length of another dimension
  kOffset,           // a slice's offset forgotten
  kGather,           // the index looked up at the other loop's variable
  kTranspose,        // read as if not transposed
  kFlip,             // the reversed index one too far
  kClampLow,         // clamps at 0 below
  kLeakySlope,       // PyTorch's default slope
  kSigmoidSign,      // exp of the wrong sign
  kNoEpsilon,        // the epsilon forgotten
  kNoUnary,          // a function forgotten
  kWrongOperator,    // + for -, * for +
  // In the loops:
  kNoDivide,    // a mean that stays a sum
  kHalfDivide,  // a mean over everything divided by one dimension
  kZeroInit,    // a maximum or minimum that starts at 0
  kNoInit,      // an output accumulated into without a start
  kNoMaximum,   // softmax without taking the maximum off
  kShortBound,  // the last column forgotten
  kSwapBounds,  // n and m exchanged
  kTarget,      // the output's row length wrong
  // Not C++:
  kNoSemicolon,
  kUndeclared,
};
inline constexpr size_t kDefects = size_t(Defect::kUndeclared) + 1;
using Defects = std::bitset<kDefects>;

struct Style {
  Order order = Order::kRows;
  Accumulate accumulate = Accumulate::kPlain;
  bool passes = false;      // the outermost operation, or what is scanned, in a pass of its own
  bool twice = false;       // softmax: exp computed again instead of kept
  bool restricted = false;  // __restrict__ pointers
  bool fast = false;        // belongs to the fast ways
  Defects defects = {};
};

// The ways to write a program that compute the same; the commonest slow one first.
std::vector<Style> styles(const Program& program);

// One sentence naming the choices; defects are not told.
std::string plan_sentence(const Program& program, const Style& style);

}  // namespace temper
