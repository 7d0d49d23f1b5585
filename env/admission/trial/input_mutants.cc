#include "env/admission/trial/input_mutants.h"

#include <fmt/format.h>

#include <algorithm>

#include "env/call/draw_forms.h"

namespace temper::env {
namespace {

constexpr double kKnownRange = 6;  // standard deviations that no plain draw leaves
constexpr double kSafeRange = 16;  // … beyond which a function may be garbage
constexpr int64_t kChunk = 8, kKept = 3;
constexpr int64_t kRoomAboveEven = 4;  // times what each bin holds where all hold the same

using Believed = std::function<at::Tensor(const at::Tensor&, const Shape&, double)>;

int64_t bound_of(const TensorSpec& input, const Shape& shape) {
  const auto it = shape.find(input.index_bound);
  return it != shape.end() ? it->second : std::stoll(input.index_bound);
}

// Of 24 bits 22.
at::Tensor two_bits_fewer(const at::Tensor& input) {
  const at::Tensor bits = input.contiguous().view(at::kInt);
  return at::bitwise_and(bits, at::scalar_tensor(-4, bits.options())).view(at::kFloat);
}

at::Tensor half_the_bits(const at::Tensor& input) {
  return input.to(input.scalar_type() == at::kFloat ? at::kBFloat16 : at::kFloat8_e4m3fn)
      .to(input.scalar_type());
}

// Scaled by its largest element to eight bits, of which three count.
at::Tensor coarse_steps(const at::Tensor& input) {
  const at::Tensor wide = input.to(at::kFloat), most = wide.abs().amax().clamp_min(1e-30);
  return (at::round(wide / most * 4) * most / 4).to(input.scalar_type());
}

at::Tensor last_column_is_the_one_before(const at::Tensor& input) {
  const int64_t size = input.dim() == 0 ? 1 : input.size(-1);
  if (size < 2) return input;
  return at::cat({input.narrow(-1, 0, size - 1), input.narrow(-1, size - 2, 1)}, -1);
}

// Of each chunk of a row all but the largest few are as good as the smallest number.
at::Tensor few_of_each_chunk(const at::Tensor& input) {
  const int64_t size = input.dim() == 0 ? 1 : input.size(-1), whole = size / kChunk * kChunk;
  if (whole == 0) return input;
  auto sizes = input.sizes().vec();
  sizes.back() = whole / kChunk;
  sizes.push_back(kChunk);
  const at::Tensor chunks = input.narrow(-1, 0, whole).reshape(sizes);
  const at::Tensor least = std::get<0>(chunks.topk(kKept, -1)).narrow(-1, kKept - 1, 1);
  const at::Tensor kept = at::where(chunks.lt(least), input.amin(), chunks);
  return at::cat({kept.reshape_as(input.narrow(-1, 0, whole)), input.narrow(-1, whole, size - whole)}, -1);
}

// Which occurrence of its value each index is, from 0.
at::Tensor occurrence(const at::Tensor& flat) {
  const auto [sorted, order] = flat.sort(true, 0, false);
  const at::Tensor place = at::arange(flat.numel(), flat.options().dtype(at::kLong));
  const at::Tensor begins = at::ones_like(sorted, at::kBool);
  if (flat.numel() > 1)
    begins.narrow(0, 1, flat.numel() - 1)
        .copy_(sorted.narrow(0, 1, flat.numel() - 1).ne(sorted.narrow(0, 0, flat.numel() - 1)));
  const at::Tensor first = std::get<0>(at::where(begins, place, at::zeros_like(place)).cummax(0));
  return at::empty_like(place).scatter_(0, order, place - first);
}

// What comes after `room` equal ones is taken for the next index.
at::Tensor overflowing(const at::Tensor& input, int64_t bound, int64_t room) {
  const at::Tensor flat = input.flatten(), too_many = occurrence(flat).ge(room);
  return at::where(too_many, (flat + 1).remainder(bound), flat).to(input.scalar_type()).reshape_as(input);
}

std::vector<std::pair<std::string, Believed>> beliefs_of_indices(const TensorSpec& spec) {
  return {{"a neighbour of an index of {}",
           [spec](const at::Tensor& input, const Shape& shape, double) {
             at::Tensor changed = input.flatten().clone();
             const at::Tensor middle = changed.narrow(0, changed.numel() / 2, 1);
             middle.copy_((middle + 1).remainder(bound_of(spec, shape)));
             return changed.reshape_as(input);
           }},
          {"the first half of {}'s range",
           [spec](const at::Tensor& input, const Shape& shape, double) {
             return input.remainder((bound_of(spec, shape) + 1) / 2);
           }},
          {"{} in order", [](const at::Tensor& input, const Shape&,
                             double) { return std::get<0>(input.flatten().sort()).reshape_as(input); }},
          {"{} without repetitions", [spec](const at::Tensor& input, const Shape& shape,
                                            double) { return overflowing(input, bound_of(spec, shape), 1); }},
          {"dropped overflow of {}", [spec](const at::Tensor& input, const Shape& shape, double) {
             const int64_t bound = bound_of(spec, shape), even = (input.numel() + bound - 1) / bound;
             return overflowing(input, bound, std::max<int64_t>(kRoomAboveEven * even, kChunk));
           }}};
}

std::vector<std::pair<std::string, Believed>> beliefs_of_floats(const TensorSpec& spec, bool picked) {
  const auto plain = [](at::Tensor (*change)(const at::Tensor&)) {
    return [change](const at::Tensor& input, const Shape&, double) { return change(input); };
  };
  std::vector<std::pair<std::string, Believed>> beliefs{
      {"half the bits of {}", plain(half_the_bits)},
      {"{} in eight steps", plain(coarse_steps)},
      {"the last column of {} ignored", plain(last_column_is_the_one_before)}};
  if (picked && spec.type == ElementType::kF32 && spec.distribution == Distribution::kDistinct)
    beliefs.emplace_back("22 bits of {}", plain(two_bits_fewer));
  if (spec.distribution == Distribution::kDistinct) {
    beliefs.emplace_back("three of each eight of {}", plain(few_of_each_chunk));
    beliefs.emplace_back("known range of {}", [spec](const at::Tensor& input, const Shape&, double) {
      return input.clamp(spec.low, spec.high);
    });
  }
  if (spec.distribution != Distribution::kNormal) return beliefs;
  const auto scale_of = [spec](const Shape& shape, double magnitude) {
    return normal_scale(spec, shape, magnitude);
  };
  beliefs.emplace_back("known range of {}",
                       [scale_of](const at::Tensor& input, const Shape& shape, double magnitude) {
                         const double most = kKnownRange * scale_of(shape, magnitude);
                         return input.clamp(-most, most);
                       });
  beliefs.emplace_back("nothing beyond 16 scales in {}",
                       [scale_of](const at::Tensor& input, const Shape& shape, double magnitude) {
                         const double most = kSafeRange * scale_of(shape, magnitude);
                         return at::where(input.abs().gt(most), at::zeros_like(input), input);
                       });
  return beliefs;
}

}  // namespace

std::vector<InputMutant> input_mutants(const Task& task, size_t input) {
  const TensorSpec& spec = task.inputs[input];
  std::vector<InputMutant> mutants;
  for (auto& [name, believed] :
       is_float(spec.type) ? beliefs_of_floats(spec, picks(task)) : beliefs_of_indices(spec))
    mutants.push_back({fmt::format(fmt::runtime(name), spec.name), std::move(believed)});
  return mutants;
}

}  // namespace temper::env
