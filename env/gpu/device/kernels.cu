// The judge's own kernels. They are loaded anew with every candidate: device code can reach the memory that
// code lies in.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "env/gpu/fill.h"
#include "env/gpu/specs.h"

namespace temper::env {
namespace {

constexpr float kSpike = 8;  // in units of the draw's scale
constexpr float kInf = INFINITY;

struct Four {
  uint32_t word[4];
};

// As one instruction: from the product in C++ nvcc makes two.
__device__ uint64_t wide_product(uint32_t a, uint32_t b) {
#ifdef __CUDA_ARCH__
  uint64_t product;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
  return product;
#else
  return uint64_t(a) * b;
#endif
}

// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011), Philox4x32-7: the fewest
// rounds that pass BigCrush. Drawing is most of what a short kernel's verdict costs the GPU. Who would find
// the key (tests/gallery/cuda/draw_key_in_*.cu) must make the same draws.
__device__ Four philox(uint64_t key, uint64_t counter, uint32_t stream) {
  uint32_t c0 = uint32_t(counter), c1 = uint32_t(counter >> 32), c2 = stream, c3 = 0;
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
#pragma unroll
  for (int round = 0; round < 7; ++round) {
    const uint64_t p0 = wide_product(c0, 0xD2511F53), p1 = wide_product(c2, 0xCD9E8D57);
    c0 = uint32_t(p1 >> 32) ^ c1 ^ k0;
    c1 = uint32_t(p1);
    c2 = uint32_t(p0 >> 32) ^ c3 ^ k1;
    c3 = uint32_t(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{c0, c1, c2, c3}};
}

__device__ float unit(uint32_t word) { return (float(word >> 9) + 0.5f) * 0x1p-23f; }  // in (0, 1)

// Source: Box and Muller, "A note on the generation of random normal deviates" (1958). By the hardware's own
// functions: a draw is made three times for each timed pair, and need not be exact.
__device__ void normals(const DrawSpec& spec, const Four& random, float* out) {
  constexpr float kTurn = 6.2831853f, kLeast = 0x1p-24f;
#pragma unroll
  for (int pair = 0; pair < 2; ++pair) {
    const float square = fmaxf(-2 * __logf(unit(random.word[2 * pair])), kLeast);
    const float radius = spec.scale * square * rsqrtf(square);
    __sincosf(kTurn * (unit(random.word[2 * pair + 1]) - 0.5f), &out[2 * pair + 1], &out[2 * pair]);
    out[2 * pair] *= radius;
    out[2 * pair + 1] *= radius;
  }
}

__device__ float nonfinite(uint32_t word, float otherwise) {
  if (word % 64 != 0) return otherwise;
  const uint32_t which = (word >> 6) % 3;
  return which == 0 ? __int_as_float(0x7FFFFFFF) : which == 1 ? kInf : -kInf;
}

__device__ float spiked(const DrawSpec& spec, uint32_t word, float value) {
  if (spec.distribution != Distribution::kNormal)
    return value < spec.form.low + spec.form.width / 2 ? spec.form.low + spec.form.width : spec.form.low;
  return word % 2 ? kSpike * spec.scale : -kSpike * spec.scale;
}

__device__ void floats(const DrawSpec& spec, int64_t group, float* out) {
  const Four random = philox(spec.key, group, 0);
  if (spec.distribution == Distribution::kUniform) {
    for (int i = 0; i < 4; ++i) out[i] = spec.form.low + spec.form.width * unit(random.word[i]);
  } else {
    normals(spec, random, out);
  }
  if (spec.form.kind != DrawKind::kPlain)
    for (int i = 0; i < 4; ++i) out[i] = drawn_float(spec.form, uint32_t(4 * group + i), out[i]);
  if (!spec.nonfinite && spec.spike / 4 != group) return;
  const Four more = philox(spec.key, group, 1);
  for (int i = 0; i < 4; ++i) {
    if (spec.nonfinite) out[i] = nonfinite(more.word[i], out[i]);
    if (spec.spike == 4 * group + i) out[i] = spiked(spec, more.word[i], out[i]);
  }
}

__device__ void indices(const DrawSpec& spec, int64_t group, int32_t* out) {
  const Four random = philox(spec.key, group, 0), more = philox(spec.key, group, 1);
  for (int i = 0; i < 4; ++i) {
    out[i] = drawn_index(spec.form, uint32_t(4 * group + i), random.word[i]);
    const uint32_t bound = spec.form.bound;
    if (spec.spike == 4 * group + i && bound > 1)
      out[i] = int32_t((uint64_t(out[i]) + 1 + more.word[i] % (bound - 1)) % bound);
  }
}

__device__ uint32_t bits(float value, ElementType type) {
  if (type == ElementType::kBF16) return __bfloat16_as_ushort(__float2bfloat16_rn(value));
  if (type == ElementType::kF16) return __half_as_ushort(__float2half_rn(value));
  return __float_as_uint(value);
}

__device__ uint64_t mixed(uint64_t word) {
  word = (word ^ (word >> 31)) * 0x7FB5D329728EA185;
  word = (word ^ (word >> 27)) * 0x81DADEF4BC2DD44D;
  return word ^ (word >> 33);
}

// Source: Luby and Rackoff, "How to construct pseudorandom permutations from pseudorandom functions" (1988);
// Black and Rogaway, "Ciphers with arbitrary finite domains" (2002): out of [0, count) means once more.
__device__ uint64_t shuffled(uint64_t key, uint64_t count, uint64_t place) {
  int half = 1;
  while (uint64_t(1) << (2 * half) < count) ++half;
  const uint64_t mask = (uint64_t(1) << half) - 1;
  do {
    for (uint64_t round = 0; round < 6; ++round) {
      const uint64_t left = place >> half, right = place & mask;
      place = right << half | (left ^ (mixed(key + mixed(right + (round << 32))) & mask));
    }
  } while (place >= count);
  return place;
}

// Each element its own cell of the range, somewhere in the middle half of it.
__device__ void distinct(const DrawSpec& spec, int64_t group, float* out) {
  const Four random = philox(spec.key, group, 0), more = philox(spec.key, group, 1);
  for (int i = 0; i < 4 && 4 * group + i < spec.elements; ++i) {
    const DrawCell where = drawn_cell(spec.form, uint32_t(4 * group + i));
    const uint64_t among = where.count > 1 ? shuffled(spec.key + where.first, where.count, where.place) : 0;
    out[i] = cell_value(spec.form, where.first + among, double(unit(random.word[i])));
    if (spec.spike == 4 * group + i) out[i] = spiked(spec, more.word[i], out[i]);
  }
}

// The four elements of a group as bits, those of short floats in the low half.
__device__ Four drawn(const DrawSpec& spec, int64_t group) {
  Four result;
  if (spec.distribution == Distribution::kIndex) {
    indices(spec, group, reinterpret_cast<int32_t*>(result.word));
    return result;
  }
  float values[4] = {};
  if (spec.distribution == Distribution::kDistinct)
    distinct(spec, group, values);
  else
    floats(spec, group, values);
  for (int i = 0; i < 4; ++i) result.word[i] = bits(values[i], spec.type);
  return result;
}

__device__ bool is_short(ElementType type) { return type == ElementType::kBF16 || type == ElementType::kF16; }

// A group in memory. Buffers are aligned to whole ones.
__device__ void store(const DrawSpec& spec, int64_t group, const Four& four, void* out) {
  const uint32_t* const word = four.word;
  if (4 * group + 4 > spec.elements) {
    for (int i = 0; i < 4 && 4 * group + i < spec.elements; ++i) {
      if (is_short(spec.type))
        static_cast<uint16_t*>(out)[4 * group + i] = uint16_t(word[i]);
      else
        static_cast<uint32_t*>(out)[4 * group + i] = word[i];
    }
  } else if (is_short(spec.type)) {
    static_cast<uint2*>(out)[group] = uint2{word[0] | word[1] << 16, word[2] | word[3] << 16};
  } else {
    static_cast<uint4*>(out)[group] = uint4{word[0], word[1], word[2], word[3]};
  }
}

__device__ bool stored(const DrawSpec& spec, int64_t group, const Four& four, const void* data) {
  const uint32_t* const word = four.word;
  if (4 * group + 4 > spec.elements) {
    bool same = true;
    for (int i = 0; i < 4 && 4 * group + i < spec.elements; ++i)
      same &= word[i] == (is_short(spec.type) ? static_cast<const uint16_t*>(data)[4 * group + i]
                                              : static_cast<const uint32_t*>(data)[4 * group + i]);
    return same;
  }
  if (is_short(spec.type)) {
    const uint2 there = static_cast<const uint2*>(data)[group];
    return there.x == (word[0] | word[1] << 16) && there.y == (word[2] | word[3] << 16);
  }
  const uint4 there = static_cast<const uint4*>(data)[group];
  return there.x == word[0] && there.y == word[1] && there.z == word[2] && there.w == word[3];
}

__device__ int64_t first_index() { return blockIdx.x * int64_t(blockDim.x) + threadIdx.x; }
__device__ int64_t stride() { return int64_t(gridDim.x) * blockDim.x; }

// Of the zone of this block row. Groups are whole ones of memory, the first and the last may hold less of it.
__device__ uint64_t groups_of(uint64_t begin, uint64_t end) { return (end + 15) / 16 - begin / 16; }
__device__ FilledGroup zone_group(const Zones& zones, uint64_t group) {
  const uint32_t zone = blockIdx.y;
  const bool front = 32 * group < zones.end[zone] - zones.begin[zone];
  return filled_group(front ? zones.front[zone] : zones.back[zone], zones.key[zone], zones.call, group);
}
__device__ uint8_t byte_of(const FilledGroup& four, uint64_t place) {
  return uint8_t(four.word[place / 4] >> (8 * (place % 4)));
}

// The reference's value as an output of that type would hold it.
__device__ double rounded(double value, ElementType type) {
  if (type == ElementType::kBF16) return __bfloat162float(__double2bfloat16(value));
  if (type == ElementType::kF16) return __half2float(__double2half(value));
  return float(value);
}

// How far outside its bound an element is: ≤ 1 is inside, and NaN is not.
__device__ float excess(double got, double expected, const CompareSpec& spec) {
  const double in_type = rounded(expected, spec.type);
  if (!isfinite(in_type)) {
    if (spec.all_finite) return kInf;
    const bool same = isnan(in_type) ? isnan(got) : got == in_type;
    return same || spec.finite_only ? 0 : kInf;
  }
  if (spec.finite_only && !isfinite(got)) return 0;
  const double ratio = fabs(got - expected) / (spec.relative * (fabs(expected) + spec.scale) + 0x1p-126);
  return isnan(ratio) ? kInf : float(ratio);
}

// Whether it is inside its bound by more than what is lost in rounding: most elements are, and that is seen
// sooner than how far.
template <class Real>
__device__ bool surely_inside(float got, Real expected, const CompareSpec& spec) {
  constexpr Real kSurely = 0.999f;
  const Real most =
      spec.type == ElementType::kF16 ? Real(65504) : Real(0x1.FEp127);  // bf16's, and less than f32's
  const Real size = expected < 0 ? -expected : expected, off = Real(got) - expected;
  const Real bound = kSurely * Real(spec.relative) * (size + Real(spec.scale));
  return size <= most && off <= bound && -off <= bound;
}

// What a thread has found among its elements.
struct Seen {
  unsigned long long wrong = 0, worst = 0;
  __device__ void add(float ratio, int64_t i) {
    wrong += ratio > 1;
    const unsigned long long mine = (uint64_t(__float_as_uint(ratio)) << 32) | uint32_t(~uint32_t(i));
    worst = mine > worst ? mine : worst;
  }
};

template <class Type>
struct alignas(4 * sizeof(Type) > 16 ? 16 : 4 * sizeof(Type)) FourOf {
  Type at[4];
};

__device__ float real(float value) { return value; }
__device__ double real(double value) { return value; }
__device__ float real(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ float real(__half value) { return __half2float(value); }

// Reads groups of four where both tensors are aligned to them.
template <class Got, class Right>
__device__ void compare_with(const CompareSpec& spec, const Got* got, const Right* expected, Seen& seen) {
  const auto weigh = [&](int64_t i) {
    if (surely_inside(real(got[i]), real(expected[i]), spec) && spec.finite_only == 0) return;
    const float ratio = excess(real(got[i]), real(expected[i]), spec);
    if (ratio > 1 || spec.finite_only != 0) seen.add(ratio, i);
  };
  const bool aligned = (reinterpret_cast<uint64_t>(got) | reinterpret_cast<uint64_t>(expected)) % 16 == 0;
  const int64_t groups = aligned ? spec.elements / 4 : 0;
  for (int64_t group = first_index(); group < groups; group += stride()) {
    const auto mine = reinterpret_cast<const FourOf<Got>*>(got)[group];
    const auto right = reinterpret_cast<const FourOf<Right>*>(expected)[group];
    bool inside = spec.finite_only == 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) inside &= surely_inside(real(mine.at[i]), real(right.at[i]), spec);
    if (inside) continue;
    for (int64_t i = 4 * group; i < 4 * group + 4; ++i) weigh(i);
  }
  for (int64_t i = 4 * groups + first_index(); i < spec.elements; i += stride()) weigh(i);
}

template <class Got>
__device__ void compare_floats(const CompareSpec& spec, const void* got, const void* expected, Seen& seen) {
  if (spec.narrow != 0)
    compare_with(spec, static_cast<const Got*>(got), static_cast<const Got*>(expected), seen);
  else
    compare_with(spec, static_cast<const Got*>(got), static_cast<const double*>(expected), seen);
}

__device__ void report(const Seen& seen, CompareResult* result) {
  if (seen.wrong > 0) atomicAdd(&result->wrong, seen.wrong);
  if (seen.worst > *static_cast<volatile unsigned long long*>(&result->worst))
    atomicMax(&result->worst, seen.worst);
}

}  // namespace

// A block row per tensor.
extern "C" __global__ void temper_draw(const __grid_constant__ Draws draws) {
  const DrawSpec& spec = draws.spec[blockIdx.y];
  void* const out = reinterpret_cast<void*>(draws.at[blockIdx.y]);
  for (int64_t group = first_index(); 4 * group < spec.elements; group += stride())
    store(spec, group, drawn(spec, group), out);
}

// Sets *changed where the data is not what temper_draw had written.
extern "C" __global__ void temper_check_draws(const __grid_constant__ Draws draws, uint32_t* changed) {
  const DrawSpec& spec = draws.spec[blockIdx.y];
  const void* const data = reinterpret_cast<const void*>(draws.at[blockIdx.y]);
  bool same = true;
  for (int64_t group = first_index(); 4 * group < spec.elements; group += stride())
    same &= stored(spec, group, drawn(spec, group), data);
  if (!same) *changed = 1;
}

// Fills each zone. A block row per zone.
extern "C" __global__ void temper_fill_zones(const __grid_constant__ Zones zones) {
  const uint64_t begin = zones.begin[blockIdx.y], end = zones.end[blockIdx.y];
  for (uint64_t group = first_index(); group < groups_of(begin, end); group += stride()) {
    const FilledGroup four = zone_group(zones, group);
    const uint64_t at = begin / 16 * 16 + 16 * group;
    if (at >= begin && at + 16 <= end) {
      *reinterpret_cast<uint4*>(at) = uint4{four.word[0], four.word[1], four.word[2], four.word[3]};
      continue;
    }
    for (uint64_t byte = at > begin ? at : begin; byte < at + 16 && byte < end; ++byte)
      *reinterpret_cast<uint8_t*>(byte) = byte_of(four, byte - at);
  }
}

// Sets *broken where a zone does not hold any more what it was filled with.
extern "C" __global__ void temper_check_zones(const __grid_constant__ Zones zones, uint32_t* broken) {
  const uint64_t begin = zones.begin[blockIdx.y], end = zones.end[blockIdx.y];
  bool same = true;
  for (uint64_t group = first_index(); group < groups_of(begin, end); group += stride()) {
    const FilledGroup four = zone_group(zones, group);
    const uint64_t at = begin / 16 * 16 + 16 * group;
    if (at >= begin && at + 16 <= end) {
      const uint4 there = *reinterpret_cast<const uint4*>(at);
      same &= there.x == four.word[0] && there.y == four.word[1] && there.z == four.word[2] &&
              there.w == four.word[3];
      continue;
    }
    for (uint64_t byte = at > begin ? at : begin; byte < at + 16 && byte < end; ++byte)
      same &= *reinterpret_cast<const uint8_t*>(byte) == byte_of(four, byte - at);
  }
  if (!same) *broken = 1;
}

// A sum over words, each mixed with the key and its place; what is read for it is what is copied, unless
// `copy` is null. Both are aligned to pairs of words.
extern "C" __global__ void temper_digest(uint64_t key, const void* data, void* copy, int64_t bytes,
                                         unsigned long long* sum) {
  const int64_t pairs = bytes / 16;
  const auto sealed = [key](uint64_t word, int64_t place) { return mixed(mixed(word + key) + key + place); };
  unsigned long long mine = 0;
  for (int64_t i = first_index(); i < pairs; i += stride()) {
    const ulonglong2 two = static_cast<const ulonglong2*>(data)[i];
    if (copy != nullptr) static_cast<ulonglong2*>(copy)[i] = two;
    mine += sealed(two.x, 2 * i) + sealed(two.y, 2 * i + 1);
  }
  for (int64_t i = 16 * pairs; i < bytes && first_index() == 0; ++i) {
    const uint8_t byte = static_cast<const uint8_t*>(data)[i];
    if (copy != nullptr) static_cast<uint8_t*>(copy)[i] = byte;
    mine += sealed(byte, 2 * pairs + i);
  }
  for (int step = warpSize / 2; step > 0; step /= 2) mine += __shfl_xor_sync(~0u, mine, step);
  if (threadIdx.x % warpSize == 0) atomicAdd(sum, mine);
}

// Reads memory that nobody writes: what lay in the L2 cache makes room, and nothing has to be written back
// later.
extern "C" __global__ void temper_flush(const uint4* memory, int64_t count, uint32_t* never) {
  uint32_t seen = 0;
  for (int64_t i = first_index(); i < count; i += stride()) {
    const uint4 four = memory[i];
    seen |= four.x | four.y | four.z | four.w;
  }
  if (seen == 0x12345678) *never = seen;
}

extern "C" __global__ void temper_wait(int64_t cycles) {
  for (const int64_t begin = clock64(); clock64() - begin < cycles;) __nanosleep(500);
}

extern "C" __global__ void temper_compare(const __grid_constant__ CompareSpec spec, const void* got,
                                          const void* expected, CompareResult* result) {
  Seen seen;
  if (spec.type == ElementType::kBF16)
    compare_floats<__nv_bfloat16>(spec, got, expected, seen);
  else if (spec.type == ElementType::kF16)
    compare_floats<__half>(spec, got, expected, seen);
  else
    compare_floats<float>(spec, got, expected, seen);
  report(seen, result);
}

extern "C" __global__ void temper_compare_integers(CompareSpec spec, const int32_t* got, const void* expected,
                                                   CompareResult* result) {
  Seen seen;
  for (int64_t i = first_index(); i < spec.elements; i += stride())
    if (got[i] !=
        (spec.narrow ? static_cast<const int32_t*>(expected)[i] : static_cast<const int64_t*>(expected)[i]))
      seen.add(2, i);
  report(seen, result);
}

}  // namespace temper::env
