#pragma once
// How a draw of an input departs from a plain one: spikes, offsets, other scales, crowded indices, sorted
// values. If inputs always had the same distribution, a policy could learn kernels that are right for that
// distribution alone; a family of draws leaves only the task itself to be learned.
//
// The form of a draw is made on the host (env/call/draw_forms.h) from the draw's key. The functions here turn an
// element's plain random value into the drawn one, on the host and on the GPU. They keep no state: each element
// is a function of the form, its index and its plain value.

#include <cstdint>

#ifdef __CUDACC__
#define TEMPER_ON_BOTH __host__ __device__ inline
#else
#define TEMPER_ON_BOTH inline
#endif

namespace temper::env {

enum class DrawKind : uint32_t {
  kPlain = 0,
  // Normal inputs. Rows and columns are those of the last axis.
  kSpikes,        // a handful of elements alone, 8 to 10^4 times the scale
  kRowSpikes,     // one element of each row alone
  kRun,           // elements side by side, far from the others in the same direction
  kZeros,         // a share of the elements is zero, of either sign
  kAllPositive,   // each element in its plain size
  kAllNegative,   // the same
  kRise,          // the same added to all
  kFall,          // the same taken from all
  kRowOffsets,    // each row has its own offset, of either sign
  kRowScales,     // each row times its own power of two
  kColumnScales,  // each column times its own power of two
  kLargeRow,      // one or several rows are far larger than the others
  kSmallRow,      // one or several rows are far smaller than the others
  kZeroRow,       // one or several rows are zero
  kInfiniteRow,   // one or several rows are infinite; only for inputs declared nonfinite
  kDenormals,     // a share is denormal or zero of either sign; only for inputs declared nonfinite
  // Uniform inputs: crowded at ends of the range, the closer the smaller the factor.
  kLowEnd,
  kHighEnd,
  kBothEnds,
  // Inputs of distinct elements.
  kAscending,
  kDescending,
  kLargestTogether,  // each row's largest elements are one run of it
  // Indices.
  kEqual,
  kSorted,
  kReversed,
  kZipf,
  kFirstAndLast,
  kStride,   // a permutation of the range, over and over
  kCrowded,  // most are equal
};
inline constexpr int kDrawKinds = 30;

inline constexpr uint32_t kFormSpikes = 8;

// One draw of one input. Elements number fewer than 2^32.
struct DrawForm {
  DrawKind kind = DrawKind::kPlain;
  uint32_t elements = 1;
  uint32_t columns = 1;              // size of the last axis
  uint32_t row = 0, row_period = 1;  // rows with index % row_period == row depart; offset_at
  uint32_t begin = 0, length = 0;    // the columns [begin, begin + length) of these rows depart
  uint32_t share = 0;                // the share of elements that depart, in units of 2^-32
  uint32_t power = 0;                // scales are 2^-power … 2^power, in offset_at 2^-power … 1
  uint32_t bound = 1;                // indices: [0, bound)
  uint32_t value = 0, stride = 1;    // indices: the one that many are; from one to the next
  uint64_t key = 0;
  float factor = 1, offset = 0;
  float low = 0, width = 1;  // range of uniform and distinct inputs; a distinct draw has a range of its own
  uint32_t spikes = 0;
  uint32_t place[kFormSpikes] = {};
  float spike[kFormSpikes] = {};
};
static_assert(sizeof(DrawForm) <= 144);

// Where a distinct element's cell of the range is found: cell = first + the image of `place` under a random
// permutation of [0, count). Two runs of places with the same `first` have the same `count`.
struct DrawCell {
  uint64_t first = 0, count = 1, place = 0;
};

// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014), the finaliser.
TEMPER_ON_BOTH uint64_t scattered(uint64_t key, uint64_t place) {
  uint64_t word = key + 0x9E3779B97F4A7C15 * (place + 1);
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
  return word ^ (word >> 31);
}

// A power of two, or its inverse, between 2^-power and 2^power.
TEMPER_ON_BOTH float random_scale(const DrawForm& form, uint32_t place) {
  const int power = int(scattered(form.key, place) % (2 * form.power + 1)) - int(form.power);
  return power < 0 ? 1 / float(1u << uint32_t(-power)) : float(1u << uint32_t(power));
}

// The offset that is added to an element, or is the spike of its row. Without a power it is the same for the whole
// tensor. With a power each row has its own, of either sign, between 2^-power times the form's offset and the whole of
// it. The form's row has the whole of it and the next row the same downwards, so that a tensor of few rows cannot miss
// either by chance.
TEMPER_ON_BOTH float offset_at(const DrawForm& form, uint32_t place) {
  const uint32_t row = place / form.columns;
  if (form.power == 0 || row == form.row) return form.offset;
  if (row == (form.row + 1) % (form.elements / form.columns)) return -form.offset;
  const uint64_t word = scattered(form.key, row);
  const float size = form.offset / float(1u << uint32_t(word % (form.power + 1)));
  return word >> 63 == 0 ? size : -size;
}

TEMPER_ON_BOTH bool in_special_row(const DrawForm& form, uint32_t place) {
  return place / form.columns % form.row_period == form.row;
}

TEMPER_ON_BOTH bool in_run(const DrawForm& form, uint32_t place) {
  return in_special_row(form, place) && place % form.columns - form.begin < form.length;
}

TEMPER_ON_BOTH float spiked_value(const DrawForm& form, uint32_t place, float plain) {
  for (uint32_t i = 0; i < form.spikes; ++i)
    if (form.place[i] == place) return form.spike[i];
  return plain;
}

// Where the only spike of a row is.
TEMPER_ON_BOTH uint32_t spiked_column(const DrawForm& form, uint32_t row) {
  return uint32_t(scattered(~form.key, row) % form.columns);
}

// Makes a share of the elements zero, of either sign. If the form has a factor, most of that share is multiplied
// by it instead.
TEMPER_ON_BOTH float thinned_value(const DrawForm& form, uint32_t place, float plain) {
  const uint64_t word = scattered(form.key, place);
  if (uint32_t(word) >= form.share) return plain;
  if (form.factor != 0 && word >> 62 != 0) return plain * form.factor;
  return (word >> 32) % 2 == 0 ? 0.0f : -0.0f;
}

// A share of the elements stands at an end itself. The form has such a share only where what is right there is known.
TEMPER_ON_BOTH float crowded_value(const DrawForm& form, uint32_t place, float plain) {
  const float share = (plain - form.low) / form.width, rest = 1 - share;
  const uint64_t word = scattered(form.key, place);
  const bool low = form.kind == DrawKind::kLowEnd || (form.kind == DrawKind::kBothEnds && word % 2 == 0);
  if (uint32_t(word >> 32) < form.share) return low ? form.low : form.low + form.width;
  const float from_end = low ? share : rest;
  const float squared = from_end * from_end,
              crowded = form.factor * from_end + (1 - form.factor) * squared * squared * squared;
  return form.low + form.width * (low ? crowded : 1 - crowded);
}

// The element of a normal or uniform input at flat index `place`, whose plain draw is `plain`.
TEMPER_ON_BOTH float drawn_float(const DrawForm& form, uint32_t place, float plain) {
  switch (form.kind) {
    case DrawKind::kSpikes:
      return spiked_value(form, place, plain);
    case DrawKind::kRowSpikes:
      return place % form.columns == spiked_column(form, place / form.columns) ? offset_at(form, place)
                                                                               : plain;
    case DrawKind::kRun:
      return in_run(form, place) ? plain + form.offset : plain;
    case DrawKind::kZeros:
    case DrawKind::kDenormals:
      return thinned_value(form, place, plain);
    case DrawKind::kAllPositive:
      return plain < 0 ? -plain : plain;
    case DrawKind::kAllNegative:
      return plain < 0 ? plain : -plain;
    case DrawKind::kRise:
    case DrawKind::kFall:
    case DrawKind::kRowOffsets:
      return plain + offset_at(form, place);
    case DrawKind::kRowScales:
      return plain * random_scale(form, place / form.columns);
    case DrawKind::kColumnScales:
      return plain * random_scale(form, place % form.columns);
    case DrawKind::kLargeRow:
    case DrawKind::kSmallRow:
    case DrawKind::kZeroRow:
      return in_special_row(form, place) ? plain * form.factor : plain;
    case DrawKind::kInfiniteRow:
      return !in_special_row(form, place) ? plain : plain < 0 ? -__builtin_inff() : __builtin_inff();
    case DrawKind::kLowEnd:
    case DrawKind::kHighEnd:
    case DrawKind::kBothEnds:
      return crowded_value(form, place, plain);
    default:
      return plain;
  }
}

// Few values often, many seldom: as likely in each octave of the range.
TEMPER_ON_BOTH uint32_t zipf_index(const DrawForm& form, uint32_t place, uint32_t word) {
  uint32_t octaves = 1;
  while (octaves < 32 && (uint64_t(1) << octaves) < form.bound) ++octaves;
  const uint64_t width = uint64_t(1) << (1 + scattered(form.key, place) % octaves);
  const uint64_t rank = (word * (width < form.bound ? width : form.bound)) >> 32;
  return uint32_t((rank + form.value) % form.bound);
}

// The element of an index input at flat index `place`, computed from a random word.
TEMPER_ON_BOTH int32_t drawn_index(const DrawForm& form, uint32_t place, uint32_t word) {
  const uint32_t plain = uint32_t((uint64_t(word) * form.bound) >> 32);
  switch (form.kind) {
    case DrawKind::kEqual:
      return int32_t(form.value);
    case DrawKind::kSorted:
      return int32_t(uint64_t(place) * form.bound / form.elements);
    case DrawKind::kReversed:
      return int32_t(uint64_t(form.elements - 1 - place) * form.bound / form.elements);
    case DrawKind::kZipf:
      return int32_t(zipf_index(form, place, word));
    case DrawKind::kFirstAndLast:
      return word % 2 == 0 ? 0 : int32_t(form.bound - 1);
    case DrawKind::kStride:
      return int32_t((form.value + uint64_t(place) * form.stride) % form.bound);
    case DrawKind::kCrowded:
      return int32_t(uint32_t(scattered(form.key, place)) < form.share ? form.value : plain);
    default:
      return int32_t(plain);
  }
}

// The cell of the element at flat index `place` of an input of distinct elements.
TEMPER_ON_BOTH DrawCell drawn_cell(const DrawForm& form, uint32_t place) {
  if (form.kind == DrawKind::kAscending) return {place, 1, 0};
  if (form.kind == DrawKind::kDescending) return {uint64_t(form.elements) - 1 - place, 1, 0};
  if (form.kind != DrawKind::kLargestTogether) return {0, form.elements, place};
  const uint32_t row = place / form.columns, column = place % form.columns;
  const uint64_t together = uint64_t(form.elements / form.columns) * form.length;
  const uint64_t others = form.elements - together;
  if (column - form.begin < form.length)
    return {others, together, uint64_t(row) * form.length + (column - form.begin)};
  const uint32_t before = column < form.begin ? column : column - form.length;
  return {0, others, uint64_t(row) * (form.columns - form.length) + before};
}

// The value in a cell, `unit` in (0, 1) of its middle half: no two cells' values are equal.
TEMPER_ON_BOTH float cell_value(const DrawForm& form, uint64_t cell, double unit) {
  return float(form.low + double(form.width) * ((double(cell) + 0.25 + 0.5 * unit) / double(form.elements)));
}

}  // namespace temper::env
