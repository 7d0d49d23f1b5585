#include "env/oracle/draw.h"

#include <ATen/ATen.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/rng.h"
#include "env/call/draw_forms.h"

namespace temper::env {
namespace {

constexpr int64_t kNonfiniteEvery = 64;
constexpr double kSpike = 8;  // in units of the draw's magnitude

// Of AES in counter mode, so that the draws seen so far do not reveal the next; n < 2^29.
std::vector<uint32_t> random_words(uint64_t key, int64_t n) {
  constexpr unsigned char kFirst[16] = {};
  const uint64_t secret[2] = {key, mix_key({key})};
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> cipher(EVP_CIPHER_CTX_new(),
                                                                               EVP_CIPHER_CTX_free);
  std::vector<uint32_t> words(size_t(n), 0);
  auto* bytes = reinterpret_cast<unsigned char*>(words.data());
  int written = 0;
  TEMPER_CHECK(EVP_EncryptInit_ex(cipher.get(), EVP_aes_128_ctr(), nullptr,
                                  reinterpret_cast<const unsigned char*>(secret), kFirst) == 1);
  TEMPER_CHECK(EVP_EncryptUpdate(cipher.get(), bytes, &written, bytes, int(n * 4)) == 1);
  return words;
}

// Uniform in (0, 1).
at::Tensor uniform(uint64_t key, int64_t n) {
  const auto words = random_words(key, n);
  at::Tensor values = at::empty({n}, at::kFloat);
  float* out = values.mutable_data_ptr<float>();
  for (size_t i = 0; i < words.size(); ++i) out[i] = (float(int32_t(words[i] >> 9)) + 0.5f) * 0x1p-23f;
  return values;
}

// Source: Box and Muller, "A note on the generation of random normal deviates" (1958).
void draw_normal(uint64_t key, double scale, at::Tensor out) {
  const int64_t n = out.numel(), half = (n + 1) / 2;
  const at::Tensor numbers = uniform(key, 2 * half);
  const at::Tensor radius = numbers.narrow(0, 0, half).log_().mul_(-2 * scale * scale).sqrt_();
  const at::Tensor angle = numbers.narrow(0, half, half).mul_(2 * M_PI);
  out.narrow(0, 0, half).copy_(angle.cos()).mul_(radius);
  out.narrow(0, half, n - half).copy_(angle.sin_().mul_(radius).narrow(0, 0, n - half));
}

void make_nonfinite(uint64_t key, float* out, int64_t n) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  const float values[] = {std::numeric_limits<float>::quiet_NaN(), kInfinite, -kInfinite};
  Rng rng(key);
  for (int64_t i = 0; i < std::max<int64_t>(n / kNonfiniteEvery, 1); ++i)
    out[rng.below(uint64_t(n))] = values[i % 3];
}

uint64_t index_bound(const TensorSpec& input, const Shape& shape) {
  const auto it = shape.find(input.index_bound);
  return uint64_t(it != shape.end() ? it->second : std::stoll(input.index_bound));
}

void draw_indices(uint64_t key, const DrawForm& form, int32_t* out) {
  const auto words = random_words(key, form.elements);
  for (uint32_t i = 0; i < form.elements; ++i) out[i] = drawn_index(form, i, words[i]);
}

// The elements that share a stretch of cells, those with the same `first`, permute it.
class CellPermutations {
 public:
  explicit CellPermutations(uint64_t key) : key_(key) {}

  uint64_t cell(const DrawCell& where) {
    return where.count == 1 ? where.first : where.first + permutation(where)[where.place];
  }

 private:
  const std::vector<uint32_t>& permutation(const DrawCell& where) {
    if (last_ != nullptr && last_first_ == where.first) return *last_;
    auto& cells = permutations_[where.first];
    if (cells.empty()) {
      cells.resize(where.count);
      std::iota(cells.begin(), cells.end(), 0);
      Rng rng(mix_key({key_, 1, where.first}));
      for (size_t i = cells.size(); i > 1; --i) std::swap(cells[i - 1], cells[rng.below(i)]);
    }
    last_first_ = where.first;
    return *(last_ = &cells);
  }

  uint64_t key_, last_first_ = 0;
  const std::vector<uint32_t>* last_ = nullptr;
  std::map<uint64_t, std::vector<uint32_t>> permutations_;
};

// Each element its own cell of the range, somewhere in the middle half of it.
void draw_distinct(uint64_t key, const DrawForm& form, float* out) {
  const auto words = random_words(key, form.elements);
  CellPermutations permutations(key);
  for (uint32_t i = 0; i < form.elements; ++i)
    out[i] = cell_value(form, permutations.cell(drawn_cell(form, i)), 0x1p-32 * words[i]);
}

template <DrawKind kind>
void depart(DrawForm form, float* values) {
  form.kind = kind;  // known to the loop
  for (uint32_t i = 0; i < form.elements; ++i) values[i] = drawn_float(form, i, values[i]);
}

// What departs in the same way along a row, or in every row, is worked out once: it takes divisions.
void scale_rows(const DrawForm& form, float* values) {
  for (uint32_t i = 0; i < form.elements; i += form.columns) {
    const float scale = random_scale(form, i / form.columns);
    for (uint32_t j = i; j < i + form.columns; ++j) values[j] *= scale;
  }
}

void scale_columns(const DrawForm& form, float* values) {
  std::vector<float> scales;
  for (uint32_t j = 0; j < form.columns; ++j) scales.push_back(random_scale(form, j));
  for (uint32_t i = 0; i < form.elements; i += form.columns)
    for (uint32_t j = 0; j < form.columns; ++j) values[i + j] *= scales[j];
}

void offset_rows(const DrawForm& form, float* values) {
  for (uint32_t i = 0; i < form.elements; i += form.columns) {
    const float offset = offset_at(form, i);
    for (uint32_t j = i; j < i + form.columns; ++j) values[j] += offset;
  }
}

void depart_rows(const DrawForm& form, float* values) {
  for (uint32_t row = form.row; row < form.elements / form.columns; row += form.row_period)
    for (uint32_t i = row * form.columns; i < (row + 1) * form.columns; ++i)
      values[i] = drawn_float(form, i, values[i]);
}

void depart_from_plain(const DrawForm& form, float* values) {
  switch (form.kind) {
    case DrawKind::kPlain:
      return;
    case DrawKind::kSpikes:
      for (uint32_t i = form.spikes; i-- > 0;) values[form.place[i]] = form.spike[i];
      return;
    case DrawKind::kRowSpikes:
      for (uint32_t row = 0; row < form.elements / form.columns; ++row) {
        const uint32_t place = row * form.columns + spiked_column(form, row);
        values[place] = offset_at(form, place);
      }
      return;
    case DrawKind::kRun:
    case DrawKind::kLargeRow:
    case DrawKind::kSmallRow:
    case DrawKind::kZeroRow:
    case DrawKind::kInfiniteRow:
      return depart_rows(form, values);
    case DrawKind::kZeros:
      return depart<DrawKind::kZeros>(form, values);
    case DrawKind::kAllPositive:
      return depart<DrawKind::kAllPositive>(form, values);
    case DrawKind::kAllNegative:
      return depart<DrawKind::kAllNegative>(form, values);
    case DrawKind::kRise:
    case DrawKind::kFall:
    case DrawKind::kRowOffsets:
      return offset_rows(form, values);
    case DrawKind::kRowScales:
      return scale_rows(form, values);
    case DrawKind::kColumnScales:
      return scale_columns(form, values);
    default:
      for (uint32_t i = 0; i < form.elements; ++i) values[i] = drawn_float(form, i, values[i]);
  }
}

}  // namespace

void draw_input(const TensorSpec& input, const Shape& shape, double magnitude, const DrawForm& form,
                uint64_t key, void* out) {
  auto* values = static_cast<float*>(out);
  if (input.distribution == Distribution::kIndex) return draw_indices(key, form, static_cast<int32_t*>(out));
  if (input.distribution == Distribution::kDistinct) return draw_distinct(key, form, values);
  at::Tensor drawn = at::from_blob(out, {int64_t(form.elements)}, at::kFloat);
  if (input.distribution == Distribution::kUniform)
    drawn.copy_(uniform(key, form.elements).mul_(input.high - input.low).add_(input.low));
  else
    draw_normal(key, normal_scale(input, shape, magnitude), drawn);
  depart_from_plain(form, values);
  if (input.nonfinite) make_nonfinite(mix_key({key, 1}), values, form.elements);
}

void spike_input(const TensorSpec& input, const Shape& shape, double magnitude, uint64_t key, void* data) {
  Rng rng(key);
  const int64_t n = tensor_elements(input, shape);
  const uint64_t at = rng.below(uint64_t(n));
  if (input.distribution == Distribution::kIndex) {
    const uint64_t bound = index_bound(input, shape);
    auto& index = static_cast<int32_t*>(data)[at];
    if (bound > 1) index = int32_t((uint64_t(index) + 1 + rng.below(bound - 1)) % bound);
    return;
  }
  auto& value = static_cast<float*>(data)[at];
  if (input.distribution != Distribution::kNormal) {
    value = float(value < (input.low + input.high) / 2 ? input.high : input.low);
  } else {
    value = float(std::copysign(kSpike, rng.uniform() - 0.5) * normal_scale(input, shape, magnitude));
  }
}

}  // namespace temper::env
