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
  ranges.push_back({&share.file, stored.begin + uint64_t((first - saved) * width), to.scalar_type(),
                    to.narrow(0, first - begin, end - first), kind + "." + name});
  return end - first;
}

}  // namespace

void ShareCopy::take(ParameterStore& store) {
  std::vector<ParameterPart> parts;
  if (store.replicas().rank() == 0) parts = store.parts();
  int64_t all = 0;
  for (const ParameterPart& part : parts) all += part.master.numel() * int64_t(kKinds.size());
  if (!memory_.defined() || memory_.numel() != all) {
    const auto& like = store.moment1();
    memory_ = at::empty({all}, like.options().device(at::kCPU).pinned_memory(like.is_cuda()));
  }
  pieces_.clear();
  int64_t at = 0;
  for (const ParameterPart& part : parts) {
    const int64_t size = part.master.numel();
    pieces_.push_back({part.parameter.name, part.begin, size});
    for (const Kind& kind : kKinds) copy_bytes(memory_.narrow(0, at, size), part.*kind.tensor), at += size;
  }
}

std::map<std::string, StoredTensor> ShareCopy::tensors() const {
  std::map<std::string, StoredTensor> tensors;
  const auto* at = static_cast<const std::byte*>(memory_.const_data_ptr());
  for (const Piece& piece : pieces_)
    for (const Kind& kind : kKinds) {
      const auto bytes = size_t(piece.size) * memory_.element_size();
      tensors[fmt::format("{}.{}", kind.name, piece.name)] = {
          stored_dtype(memory_), {piece.size}, {at, bytes}};
      at += bytes;
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
    if (part.weights.scalar_type() == at::kBFloat16) part.weights.copy_(part.master);
  store.gather_weights();
  return over_ranks(mine, store.shard());
}

}  // namespace temper::policy
