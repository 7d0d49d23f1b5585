#include "env/call/draw_forms.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/rng.h"

namespace temper::env {
namespace {

constexpr double kSmallestSpike = 8, kLargestSpike = 1e4;  // in units of the draw's scale
constexpr double kLargestF16 = 65504;
constexpr uint32_t kLongestRun = 16;
constexpr double kMostScalePower = 6;  // rows, columns, ranges of distinct elements
constexpr uint32_t kRowOffsetPower = 3;
constexpr double kToldApart =
    0x1p21;  // cells of a range as wide as it is far from 0, with a bit to spare in f32
// A plain sum of more terms has too few digits left on any draw.
constexpr double kMostTerms = 0x1p16;
// So many terms · 2^-25 are under half the tolerance of nearly all tasks.
constexpr double kEqualTerms = 128;
constexpr double kNearestEnd = 0x1p-10;
constexpr double kAtAnEnd = 8;  // one element in so many

// Numbers of a form, from its key alone.
struct FormMaker {
  const TensorSpec& input;
  double scale;  // of a plain draw
  double far;
  Rng rng;
  int outermost;  // of this sign; 0: anywhere
  double terms;   // of the longest sum, kMostTerms at most
  DrawForm form;

  double uniform(double low, double high) { return low + (high - low) * rng.uniform(); }
  double log_uniform(double low, double high) {
    return outermost != 0 ? high : low * std::pow(high / low, rng.uniform());
  }
  double sign() { return outermost != 0 ? outermost : rng.below(2) == 0 ? 1 : -1; }
  uint32_t rows() const { return form.elements / form.columns; }

  // Elements that differ by this much of themselves differ by eight last places of their sum.
  double least_spread() const { return std::min(1.0, terms * 0x1p-20); }
  double equal_share() const { return std::min(1.0, kEqualTerms / terms); }

  // A size that the type holds beside what is drawn plainly.
  double held(double size) const {
    return input.type == ElementType::kF16 ? std::min(size, kLargestF16 / 16 / std::max(scale, 1e-3)) : size;
  }
  double spike_size() {
    return log_uniform(kSmallestSpike, std::max(kSmallestSpike, held(kLargestSpike * far)));
  }

  // One row of all, or one of some.
  void choose_rows() {
    constexpr uint32_t kPeriods[] = {3, 8};
    const uint64_t choice = outermost != 0 ? 2 : rng.below(4);
    form.row_period =
        choice < 2 ? std::max(rows(), 1u) : std::min(kPeriods[choice - 2], std::max(rows(), 1u));
    form.row = uint32_t(rng.below(form.row_period));
  }

  void spikes() {
    const uint32_t most = std::clamp(form.elements / 8, 1u, kFormSpikes);
    form.spikes = outermost != 0 ? most : std::min(most, 2 + uint32_t(rng.below(most)));
    const bool one_row = rng.below(2) == 0;
    const uint32_t row = uint32_t(rng.below(rows()));
    for (uint32_t i = 0; i < form.spikes; ++i) {
      form.place[i] = one_row ? row * form.columns + uint32_t(rng.below(form.columns))
                              : uint32_t(rng.below(form.elements));
      form.spike[i] = float(sign() * spike_size() * scale);
    }
    if (outermost == 0 && form.spikes > 1) form.spike[1] = std::copysign(form.spike[1], -form.spike[0]);
    spike_an_edge(one_row, row);
  }

  // A few spikes may all lie where a wrong maximum looks, such as in every other column. One in each row cannot all do so.
  void spike_rows() {
    const double most = std::max(kSmallestSpike, held(kLargestSpike * far)),
                 size = log_uniform(std::max(kSmallestSpike, most / 4), most);
    form.offset = float(sign() * size * scale);
    form.row = uint32_t(rng.below(rows()));
    if (outermost == 0) form.power = std::max(1u, uint32_t(std::log2(size / kSmallestSpike)));
  }

  // The largest of all stands where loops forget to go: in the last column, the last row, the last place.
  void spike_an_edge(bool one_row, uint32_t row) {
    const uint32_t last_row = form.elements - form.columns, last_column = form.columns - 1;
    const uint32_t edges[] = {row * form.columns + last_column, last_row + uint32_t(rng.below(form.columns)),
                              last_row + last_column};
    form.place[0] = edges[one_row ? 0 : rng.below(3)];
    for (uint32_t i = 1; i < form.spikes; ++i)
      if (std::abs(form.spike[i]) > std::abs(form.spike[0])) std::swap(form.spike[i], form.spike[0]);
  }

  // At the row's head, its tail, within one chunk of eight, or anywhere.
  void run() {
    const uint32_t longest = std::clamp(form.columns / 2, 1u, kLongestRun);
    form.length = outermost != 0 ? longest : 1 + uint32_t(rng.below(longest));
    form.begin = uint32_t(rng.below(form.columns - form.length + 1));
    const uint64_t where = rng.below(6);
    if (where == 0) form.begin = 0;
    if (where <= 3 && where > 0) form.begin = form.columns - form.length;
    if (where == 4 && form.columns >= 8) {
      form.length = std::min(form.length, 8u);
      form.begin = 8 * uint32_t(rng.below(form.columns / 8));
    }
    choose_rows();
    if (rng.below(2) == 0) form.row = 0, form.row_period = 1;
    form.offset = float(sign() * spike_size() * scale);
  }

  // As far as half the digits of the type go.
  void add_offset(double direction) {
    const double most = input.type == ElementType::kBF16 ? 16 : input.type == ElementType::kF16 ? 64 : 1024;
    const double largest = std::max(1.0, std::min(most * far, 1 / least_spread()));
    form.offset = float(direction * log_uniform(std::max(1.0, largest / 4), largest) * scale);
  }

  void offset_rows() {
    add_offset(sign());
    form.power = kRowOffsetPower;
    form.row = uint32_t(rng.below(rows()));
  }

  // Reaches an end only at the outermost, for what is right there may be undefined.
  void crowd() {
    form.factor = float(std::max(kNearestEnd, least_spread()));
    if (far == 1) form.share = uint32_t(0x1p32 * equal_share() / kAtAnEnd);
  }

  void thin_out() { form.share = uint32_t(0x1p32 * equal_share() * uniform(1.0 / 16, 15.0 / 16)); }

  void denormals() {
    thin_out();
    form.factor = float((input.type == ElementType::kF16 ? 0x1p-16 : 0x1p-130) / scale);
  }

  void scale_rows() {
    const double power = std::min(kMostScalePower * (1 + std::log2(far) / 9), -std::log2(least_spread()));
    form.power = uint32_t(std::max(1.0, std::round(power)));
  }

  void scale_some_rows(double factor) {
    choose_rows();
    form.factor = float(factor);
  }

  // The range that distinct elements take this time. What is all of one sign stays so.
  void choose_range() {
    const double low = input.low, high = input.high;
    const double ratio = std::max(std::abs(low), std::abs(high)) / (high - low);
    const double powers = kMostScalePower * far;
    const double width =
        (high - low) * std::exp2(outermost != 0 ? outermost * powers : uniform(-powers, powers));
    const double most = std::max(ratio, std::pow(kToldApart / form.elements, far));
    double first = low / (high - low) * width;
    if (low < 0 && high > 0 && far > 0)
      first = width * (sign() * log_uniform(std::min(ratio, most), most) - 0.5);
    form.low = float(first);
    form.width = float(width);
  }

  void largest_together() {
    const uint32_t longest = std::clamp(form.columns / 2, 1u, kLongestRun);
    form.length = 1 + uint32_t(rng.below(longest));
    form.begin = uint32_t(rng.below(form.columns - form.length + 1));
    if (form.columns >= 16 && rng.below(2) == 0) {
      form.length = std::min(form.length, 8u);
      form.begin = 8 * uint32_t(rng.below(form.columns / 8));
    }
  }

  void choose_indices() {
    form.value = uint32_t(rng.below(form.bound));
    form.share = uint32_t(0x1p32 * uniform(0.55, 0.95));
    do form.stride = 1 + uint32_t(rng.below(form.bound));
    while (std::gcd(form.stride, form.bound) != 1);
  }

  void make(DrawKind kind);
};

void FormMaker::make(DrawKind kind) {
  form.kind = kind;
  switch (kind) {
    case DrawKind::kSpikes:
      return spikes();
    case DrawKind::kRowSpikes:
      return spike_rows();
    case DrawKind::kRun:
      return run();
    case DrawKind::kZeros:
      return thin_out(), void(form.factor = 0);
    case DrawKind::kDenormals:
      return denormals();
    case DrawKind::kRise:
      return add_offset(1);
    case DrawKind::kFall:
      return add_offset(-1);
    case DrawKind::kRowOffsets:
      return offset_rows();
    case DrawKind::kRowScales:
    case DrawKind::kColumnScales:
      return scale_rows();
    case DrawKind::kLargeRow:
      return scale_some_rows(spike_size());
    case DrawKind::kSmallRow:
      return scale_some_rows(1 / log_uniform(4, std::max(4.0, std::min(1024 * far, 1 / least_spread()))));
    case DrawKind::kZeroRow:
      return scale_some_rows(0);
    case DrawKind::kInfiniteRow:
      return choose_rows();
    case DrawKind::kLargestTogether:
      return largest_together();
    case DrawKind::kLowEnd:
    case DrawKind::kHighEnd:
    case DrawKind::kBothEnds:
      return crowd();
    default:
      return;
  }
}

uint32_t bound_of(const TensorSpec& input, const Shape& shape) {
  const auto it = shape.find(input.index_bound);
  return uint32_t(it != shape.end() ? it->second : std::stoll(input.index_bound));
}

std::vector<DrawKind> normal_kinds(const TensorSpec& input, uint32_t rows, uint32_t columns, bool ties) {
  using enum DrawKind;
  std::vector<DrawKind> kinds{kPlain, kSpikes, kAllPositive, kAllNegative};
  const auto add = [&](bool can, std::initializer_list<DrawKind> more) {
    if (can) kinds.insert(kinds.end(), more);
  };
  add(ties, {kZeros, kRise, kFall});
  add(columns > 1, {kRun, kColumnScales});
  add(true, {kLargeRow, kSmallRow});
  add(rows > 1, {kRowScales});
  add(rows > 1 && ties, {kZeroRow, kRowOffsets});
  add(rows > 1 && columns > 1 && ties, {kRowSpikes});
  add(input.nonfinite && ties, {kInfiniteRow, kDenormals});
  return kinds;
}

DrawForm make_form(const TensorSpec& input, const Shape& shape, double magnitude, DrawKind kind, double far,
                   uint64_t key, double terms, int outermost) {
  const auto sizes = tensor_sizes(input, shape);
  const int64_t elements = tensor_elements(input, shape);
  TEMPER_CHECK(elements > 0 && elements < int64_t{1} << 32, "{} elements", elements);
  FormMaker maker{input,     normal_scale(input, shape, magnitude), far, Rng({key, uint64_t(kind)}),
                  outermost, std::min(terms, kMostTerms),           {}};
  maker.form.elements = uint32_t(elements);
  maker.form.columns = sizes.empty() ? 1 : uint32_t(sizes.back());
  maker.form.key = mix_key({key, 2});
  maker.form.low = float(input.low);
  maker.form.width = float(input.high - input.low);
  if (input.distribution == Distribution::kDistinct && !input.plain) maker.choose_range();
  if (input.distribution == Distribution::kIndex) {
    maker.form.bound = bound_of(input, shape);
    maker.choose_indices();
  }
  maker.make(kind);
  return maker.form;
}

// Whether a form of the kind can be nearer or farther.
bool has_distance(DrawKind kind) {
  using enum DrawKind;
  constexpr DrawKind kDistant[] = {kSpikes,     kRowSpikes,       kRun,      kRise,     kFall,    kRowOffsets,
                                   kRowScales,  kColumnScales,    kLargeRow, kSmallRow, kPlain,   kAscending,
                                   kDescending, kLargestTogether, kLowEnd,   kHighEnd,  kBothEnds};
  return std::ranges::count(kDistant, kind) != 0;
}

}  // namespace

bool picks(const Task& task) {
  return std::ranges::any_of(task.outputs, [](const TensorSpec& output) { return !is_float(output.type); });
}

std::vector<DrawKind> draw_kinds(const Task& task, size_t input, const Shape& shape) {
  using enum DrawKind;
  const TensorSpec& spec = task.inputs[input];
  const auto sizes = tensor_sizes(spec, shape);
  const int64_t elements = tensor_elements(spec, shape);
  const int64_t columns = sizes.empty() ? 1 : sizes.back();
  if (spec.plain) return {kPlain};
  if (spec.distribution == Distribution::kUniform) return {kPlain, kLowEnd, kHighEnd, kBothEnds};
  if (spec.distribution == Distribution::kDistinct) {
    if (columns < 2) return {kPlain, kAscending, kDescending};
    return {kPlain, kAscending, kDescending, kLargestTogether};
  }
  if (spec.distribution == Distribution::kIndex) {
    if (bound_of(spec, shape) < 2) return {kPlain};
    return {kPlain, kEqual, kSorted, kReversed, kZipf, kFirstAndLast, kStride, kCrowded};
  }
  return normal_kinds(spec, uint32_t(elements / columns), uint32_t(columns), !picks(task));
}

double terms_of_output(const Task& task, size_t output, const Shape& shape) {
  double largest = 1;
  for (const auto& input : task.inputs) largest = std::max(largest, double(tensor_elements(input, shape)));
  return std::max(1.0, largest / double(tensor_elements(task.outputs[output], shape)));
}

double longest_sum(const Task& task, const Shape& shape) {
  double longest = 1;
  for (const auto& input : task.inputs)
    for (const int64_t size : tensor_sizes(input, shape)) longest = std::max(longest, double(size));
  for (size_t i = 0; i < task.outputs.size(); ++i)
    longest = std::max(longest, terms_of_output(task, i, shape));
  return longest;
}

DrawForm draw_form(const TensorSpec& input, const Shape& shape, double magnitude, DrawKind kind, double far,
                   uint64_t key, double terms) {
  return make_form(input, shape, magnitude, kind, far, key, terms, 0);
}

std::vector<DrawForm> outermost_forms(const Task& task, const Shape& shape, double magnitude, uint64_t seed,
                                      int input, DrawKind kind, double far) {
  std::vector<DrawForm> forms;
  const double terms = longest_sum(task, shape);
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    const auto kinds = draw_kinds(task, i, shape);
    const bool can = (input == kAlike || size_t(input) == i) && std::ranges::count(kinds, kind) != 0;
    forms.push_back(make_form(task.inputs[i], shape, magnitude, can ? kind : DrawKind::kPlain, can ? far : 0,
                              mix_key({seed, i}), terms, seed % 2 == 0 ? 1 : -1));
  }
  return forms;
}

bool sets_times(DrawKind kind) {
  return kind == DrawKind::kAscending || kind == DrawKind::kDescending || kind >= DrawKind::kEqual;
}

bool singles_out(DrawKind kind) {
  return kind == DrawKind::kSpikes || kind == DrawKind::kRowSpikes || kind == DrawKind::kRun ||
         kind == DrawKind::kLargeRow || kind == DrawKind::kRowScales || kind == DrawKind::kColumnScales;
}

double farthest(DrawKind kind, const std::function<bool(double far, uint64_t seed)>& right) {
  const auto holds = [&right](double far) { return right(far, 0) && right(far, 1); };
  if (holds(kFarSteps[0])) return kFarSteps[0];
  if (!has_distance(kind)) return 0;
  size_t wrong = 0, nearest = std::size(kFarSteps);  // what is found to hold, or one past the end
  while (nearest - wrong > 1) {
    const size_t middle = (wrong + nearest) / 2;
    (holds(kFarSteps[middle]) ? nearest : wrong) = middle;
  }
  return nearest == std::size(kFarSteps) ? 0 : kFarSteps[nearest];
}

}  // namespace temper::env
