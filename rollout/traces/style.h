#pragma once
// How an answer is written: the choices an author of kernels has, and the mistakes he makes.

#include <bitset>
#include <string>
#include <vector>

namespace temper::traces {

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
  // In what threads do (CUDA):
  kNoBounds,    // threads beyond the end compute too
  kShortGrid,   // the blocks rounded down
  kThreadARow,  // a block of as many threads as a row is long
  kNoSync,      // a barrier forgotten
  kNoGuard,     // every thread adds what one should
  kHalfWarp,    // a reduction of 16 lanes
  kWarpOnly,    // of a block's warps only the own
  kHalfBlock,   // half of the partial results left out
  kNoRescale,   // an online softmax whose sum keeps the old maximum
  kNoCarry,     // a scan that begins anew in each chunk
  kNarrowSum,   // added up in bf16 or f16
  kLastTile,    // the rest of the inner dimension left out
  // In what blocks do (Triton):
  kNoNeutral,    // what lies beyond the end counted in a reduction
  kWrongAxis,    // a reduction along the other axis
  kFixedBlock,   // a whole row in a block of 1,024, however long it is
  kNotPower,     // a block as long as the row
  kNoConstexpr,  // a block's size that is an argument like any other
  kTf32,         // a product of f32 in the precision that is preset
  // In what the launcher does (Triton):
  kNoReturn,    // the output forgotten
  kPresetType,  // an output of f32, as none was named
  kOnHost,      // an output where no device was named
  kInTorch,     // the last operation left to torch
  // Not the language:
  kNoSemicolon,  // Triton: a bracket
  kUndeclared,
};
inline constexpr size_t kDefects = size_t(Defect::kUndeclared) + 1;
using Defects = std::bitset<kDefects>;

// How a CUDA kernel deals work to threads, and a Triton kernel to programs, which stand for CUDA's blocks. The comment says
// which programs of traces it is for.
enum class Way {
  kNone,          // C++
  kFlat,          // map: a thread an element
  kColumnsFirst,  // map: likewise, neighbours in a column
  kChunk,         // map: a thread 32 neighbours
  kGridStride,    // map, full: a fixed number of blocks
  kBlockRow,      // map: a block a row
  kVector,        // map: 16 bytes a thread
  kTransposed,    // map: through a tile in shared memory
  kThreadRow,     // row, scan along rows: a thread a row
  kBlockTree,     // row, full: a block, a tree in shared memory
  kBlock,         // row, scan: a block, warps and then their results
  kWarp,          // row, scan: a warp
  kOnline,        // softmax: maximum and sum in one pass, a warp
  kThreadColumn,  // column, scan down columns: a thread a column
  kBlockColumn,   // column, scan down columns: a block a column
  kTile,          // column: 32 columns a block; product: tiles in shared memory
  kAtomic,        // column, full: blocks add to the output
  kWorkspace,     // column, full: blocks write partial results, a second kernel
  kOneBlock,      // full: one block
  kElement,       // product: a thread an element
  kRegisters,     // product: tiles in shared memory, 4 × 4 elements a thread
  // Triton:
  kWhole,       // map, row, scan: a program a row, the row one block
  kPieces,      // row, scan: a program a row or column, one block after another
  kSeveral,     // row, scan: a program several rows, or all of them down 32 columns
  kNoDot,       // product: sums of columns times rows
  kGrouped,     // product: tiles in an order that reads less
  kPersistent,  // product: as many programs as multiprocessors
};

struct Style {
  Way way = Way::kNone;
  Order order = Order::kRows;
  Accumulate accumulate = Accumulate::kPlain;
  bool passes = false;      // the outermost operation, or what is scanned, in a pass of its own
  bool twice = false;       // softmax: exp computed again instead of kept
  bool restricted = false;  // __restrict__ pointers
  bool unrolled = false;    // CUDA: the inner loop
  int block = 0;            // Triton: elements of a block, or rows and columns of a tile
  int warps = 0;            // Triton: of a program; 0: not said
  bool spelled = false;     // Triton: exp as a power of two, sigmoid by exp
  bool fast = false;        // belongs to the fast ways
  Defects defects = {};
};

}  // namespace temper::traces
