#include "policy/parameters/file_ranges.h"

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>

#include "base/error.h"
#include "policy/parameters/not_finite.h"
#include "policy/ranks/activity.h"
#include "policy/threads.h"

namespace temper::policy {
namespace {

constexpr int64_t kPiece = 1 << 20;  // numbers that a thread reads at once: they stay in its cache
constexpr int64_t kWidest = 8;       // bytes of a number

// A thread's own memory. What goes to a GPU lies in memory that the GPU reads by itself.
struct Staging {
  std::vector<std::byte> stored;
  at::Tensor converted;
};

struct RangePiece {
  const FileRange* range;
  int64_t begin, count;
  int64_t before;  // numbers of the ranges before this one
};

std::string text_of(const FileRange& range) {
  return fmt::format("{}: tensor '{}'", range.file->path().string(), range.name);
}

std::vector<RangePiece> pieces_of(const std::vector<FileRange>& ranges) {
  std::vector<RangePiece> pieces;
  int64_t before = 0;
  for (const FileRange& range : ranges) {
    for (int64_t begin = 0; begin < range.to.numel(); begin += kPiece)
      pieces.push_back({&range, begin, std::min(kPiece, range.to.numel() - begin), before});
    before += range.to.numel();
  }
  return pieces;
}

std::byte* data_of(const at::Tensor& tensor) { return static_cast<std::byte*>(tensor.data_ptr()); }

// Returns how many numbers are not finite.
int64_t read_piece(const RangePiece& piece, Staging& staging, TooLargeNumbers& too_large) {
  const FileRange& range = *piece.range;
  const auto stored_width = int64_t(c10::elementSize(range.type)), width = int64_t(range.to.element_size());
  const at::ScalarType type = range.to.scalar_type();
  const bool on_gpu = range.to.is_cuda();
  std::byte* to = on_gpu ? data_of(staging.converted) : data_of(range.to) + piece.begin * width;
  if (range.type != type) staging.stored.resize(size_t(kPiece * kWidest));
  std::byte* read_to = range.type == type ? to : staging.stored.data();
  range.file->read(range.begin + uint64_t(piece.begin * stored_width),
                   {read_to, size_t(piece.count * stored_width)});
  int64_t not_finite = 0;
  if (range.type == type)
    not_finite = count_not_finite(to, type, piece.count);
  else
    too_large.add(text_of(range), range.shape, piece.before - range.first, range.first + piece.begin,
                  convert_and_count(read_to, range.type, to, type, piece.count, not_finite));
  if (on_gpu) {
    const c10::DeviceGuard guard(range.to.device());
    range.to.narrow(0, piece.begin, piece.count)
        .copy_(at::from_blob(to, {piece.count}, at::TensorOptions().dtype(type)));
  }
  made_progress();
  return not_finite;
}

std::vector<Staging> stagings(int threads, bool on_gpu) {
  std::vector<Staging> all(static_cast<size_t>(threads));
  if (on_gpu)
    for (Staging& one : all)
      one.converted = at::empty({kPiece * kWidest}, at::TensorOptions().dtype(at::kByte).pinned_memory(true));
  return all;
}

}  // namespace

NotFinite read_ranges(const std::vector<FileRange>& ranges) {
  const std::vector<RangePiece> pieces = pieces_of(ranges);
  const bool on_gpu = std::ranges::any_of(ranges, [](const FileRange& r) { return r.to.is_cuda(); });
  std::vector<Staging> staging = stagings(file_threads(), on_gpu);
  std::vector<int64_t> not_finite(pieces.size(), 0);
  TooLargeNumbers too_large;
  on_threads(int64_t(pieces.size()), file_threads(), [&](int64_t i, int thread) {
    not_finite[size_t(i)] = read_piece(pieces[size_t(i)], staging[size_t(thread)], too_large);
  });
  if (!ranges.empty()) too_large.throw_if_any(ranges.front().to.scalar_type());
  NotFinite found;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (not_finite[i] > 0 && found.count == 0)
      found.where = fmt::format("{}: {} of its numbers from number {} on", text_of(*pieces[i].range),
                                not_finite[i], pieces[i].range->first + pieces[i].begin);
    found.count += not_finite[i];
  }
  return found;
}

MadeTensor made_from(const at::Tensor& values, at::ScalarType stored, PieceListener listener) {
  const at::Tensor flat = values.view({-1});
  const auto width = uint64_t(c10::elementSize(stored));
  const auto part = [flat, stored, width, listener = std::move(listener)](uint64_t begin, uint64_t size,
                                                                          std::vector<std::byte>& scratch) {
    TEMPER_CHECK(begin % width == 0 && size % width == 0);
    const auto count = int64_t(size / width);
    at::Tensor here = flat.narrow(0, int64_t(begin / width), count);
    if (here.is_cuda()) {
      const c10::DeviceGuard guard(here.device());
      here = here.cpu();
    }
    scratch.resize(std::max(scratch.size(), size_t(size)));
    int64_t not_finite = 0;
    const TooLarge too_large = convert_and_count(here.const_data_ptr(), here.scalar_type(), scratch.data(),
                                                 stored, count, not_finite);
    if (listener && (not_finite > 0 || too_large.count > 0))
      listener(int64_t(begin / width), not_finite, too_large);
    return std::span<const std::byte>(scratch).first(size);
  };
  return {stored_name(stored), values.sizes().vec(), uint64_t(flat.numel()) * width, part};
}

MadeTensor made_from(const SafetensorsFile& file, const TensorPlace& place, at::ScalarType stored,
                     PieceListener piece_listener) {
  const at::ScalarType type = float_type(place.dtype);
  const auto width = uint64_t(c10::elementSize(stored)), read_width = uint64_t(c10::elementSize(type));
  const auto part = [=, &file, at = place.begin, listener = std::move(piece_listener)](
                        uint64_t begin, uint64_t size, std::vector<std::byte>& scratch) {
    TEMPER_CHECK(begin % width == 0 && size % width == 0);
    const uint64_t first = begin / width, count = size / width;
    // What is read lies behind what is made of it, as its type wants to lie.
    const uint64_t room = type == stored ? 0 : (size + kWidest - 1) / kWidest * kWidest;
    scratch.resize(std::max(scratch.size(), size_t(room + count * read_width)));
    std::byte* const read = scratch.data() + room;
    file.read(at + first * read_width, {read, size_t(count * read_width)});
    int64_t not_finite = 0;
    TooLarge too_large;
    if (type == stored)
      not_finite = count_not_finite(scratch.data(), stored, int64_t(count));
    else
      too_large = convert_and_count(read, type, scratch.data(), stored, int64_t(count), not_finite);
    if (not_finite > 0 || too_large.count > 0) listener(int64_t(first), not_finite, too_large);
    return std::span<const std::byte>(scratch).first(size);
  };
  return {stored_name(stored), place.shape, place.bytes / read_width * width, part};
}

}  // namespace temper::policy
