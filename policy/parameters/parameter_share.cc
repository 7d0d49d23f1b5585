#include "policy/parameters/parameter_share.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/error.h"
#include "policy/parameters/file_ranges.h"
#include "policy/parameters/flat.h"

namespace temper::policy {
namespace {

struct Kind {
  const char* name;
  at::Tensor ParameterPart::*tensor;
};
constexpr std::array kKinds = {Kind{"master", &ParameterPart::master},
                               Kind{"moment1", &ParameterPart::moment1},
                               Kind{"moment2", &ParameterPart::moment2}};

const char* stored_dtype(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? "F64" : "F32";
}

// What of elements [begin, begin + to.numel()) a saved share holds; how many of them.
int64_t add_saved(const std::string& kind, const std::string& name, int64_t begin, const SavedShare& share,
                  const at::Tensor& to, std::vector<FileRange>& ranges) {
  const auto place = share.begins.find(name);
  const auto found = share.file.tensors().find(kind + "." + name);
  if (place == share.begins.end() || found == share.file.tensors().end()) return 0;
  const TensorPlace& stored = found->second;
  if (stored.dtype != stored_dtype(to))
    throw ConfigError("{} of {} is {}, expected {}", kind, name, stored.dtype, stored_dtype(to));
  const auto width = int64_t(to.element_size());
  const int64_t saved = place->second, saved_end = saved + int64_t(stored.bytes) / width;
  const int64_t first = std::max(begin, saved), end = std::min(begin + to.numel(), saved_end);
  if (first >= end) return 0;
  ranges.push_back({&share.file,
                    stored.begin + uint64_t((first - saved) * width),
                    to.scalar_type(),
                    to.narrow(0, first - begin, end - first),
                    kind + "." + name,
                    {},
                    first});
  return end - first;
}

}  // namespace

void ShareCopy::take(ParameterStore& store) {
  std::vector<ParameterPart> parts;
  if (store.replicas().rank() == 0) parts = store.parts();
  pieces_.clear();
  refers_ = store.offloads();
  if (!refers_) reserve(store, parts);
  int64_t at = 0;
  for (const ParameterPart& part : parts) {
    Piece& piece = pieces_.emplace_back(part.parameter.name, part.begin);
    for (size_t i = 0; i < kKinds.size(); ++i) {
      const at::Tensor& there = part.*kKinds[i].tensor;
      piece.numbers[i] = refers_ ? there : memory_.narrow(0, at, there.numel());
      if (!refers_) copy_bytes(piece.numbers[i], there);
      at += there.numel();
    }
  }
}

void ShareCopy::reserve(ParameterStore& store, const std::vector<ParameterPart>& parts) {
  int64_t all = 0;
  for (const ParameterPart& part : parts) all += part.master.numel() * int64_t(kKinds.size());
  if (!memory_.defined() || memory_.numel() != all) memory_ = allocate_host_zeros(all, store.state_options());
}

std::map<std::string, StoredTensor> ShareCopy::tensors() const {
  std::map<std::string, StoredTensor> tensors;
  for (const Piece& piece : pieces_)
    for (size_t i = 0; i < kKinds.size(); ++i) {
      const at::Tensor& numbers = piece.numbers[i];
      TEMPER_CHECK(numbers.is_cpu());
      tensors[fmt::format("{}.{}", kKinds[i].name, piece.name)] = {
          stored_dtype(numbers),
          {numbers.numel()},
          {static_cast<const std::byte*>(numbers.const_data_ptr()), numbers.nbytes()}};
    }
  return tensors;
}

ShareBegins ShareCopy::begins() const {
  ShareBegins begins;
  for (const Piece& piece : pieces_) begins[piece.name] = piece.begin;
  return begins;
}

NotFinite restore_shares(ParameterStore& store, const std::vector<SavedShare>& shares) {
  const std::vector<ParameterPart> parts = store.parts();
  std::vector<FileRange> ranges;
  for (const ParameterPart& part : parts)
    for (const Kind& kind : kKinds) {
      const at::Tensor& tensor = part.*kind.tensor;
      int64_t found = 0;
      for (const SavedShare& share : shares)
        found += add_saved(kind.name, part.parameter.name, part.begin, share, tensor, ranges);
      if (found != tensor.numel())
        throw ConfigError("{} of {}: {} of elements {} to {} are there", kind.name, part.parameter.name,
                          found, part.begin, part.begin + tensor.numel());
    }
  const NotFinite mine = read_ranges(ranges);
  for (const ParameterPart& part : parts)
    if (part.weights.scalar_type() == at::kBFloat16) copy_in_pieces(part.weights, part.master);
  store.gather_weights();
  return over_ranks(mine, store.shard());
}

}  // namespace temper::policy
