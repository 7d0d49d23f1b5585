// Files in the safetensors format, written piece by piece on several threads.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "policy/hugging_face/safetensors.h"
#include "policy/parameters/piece_digest.h"
#include "policy/ranks/activity.h"
#include "policy/threads.h"

namespace temper::policy {
namespace {

using Scratch = std::vector<std::byte>;

constexpr uint64_t kMostAtOnce = 16 << 20;  // bytes that are made in scratch memory

std::string header_of(const std::map<std::string, MadeTensor>& tensors) {
  nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t at = 0;
  for (const auto& [name, t] : tensors) {
    header[name] = {{"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {at, at + t.bytes}}};
    at += t.bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

MadeTensor made_from(std::string dtype, std::vector<int64_t> shape, std::span<const std::byte> data) {
  return {std::move(dtype), std::move(shape), data.size(),
          [data](uint64_t begin, uint64_t size, Scratch&) { return data.subspan(begin, size); }};
}

// The file as a row of sources, cut into pieces that are written and hashed apart.
class PieceWriter {
 public:
  explicit PieceWriter(const std::filesystem::path& path) : file_(path) {}
  void add(const MadeTensor& source) {
    starts_.push_back(bytes_);
    sources_.push_back(&source);
    bytes_ += source.bytes;
  }
  std::string write(int threads, bool digest) {
    std::vector<std::string> digests((bytes_ + kDigestPieceBytes - 1) / kDigestPieceBytes);
    std::vector<Scratch> scratch(size_t(std::max(threads, 1)));
    on_threads(int64_t(digests.size()), threads, [&](int64_t piece, int thread) {
      Sha256 sum;
      write_piece(uint64_t(piece) * kDigestPieceBytes, digest ? &sum : nullptr, scratch[size_t(thread)]);
      digests[size_t(piece)] = sum.hex();
    });
    file_.close();
    return digest ? digest_of_pieces(digests) : "";
  }

 private:
  void write_piece(uint64_t at, Sha256* digest, Scratch& scratch) {
    const uint64_t end = std::min(at + kDigestPieceBytes, bytes_);
    size_t i = size_t(std::ranges::upper_bound(starts_, at) - starts_.begin()) - 1;
    for (; at < end; ++i) {
      const MadeTensor& source = *sources_[i];
      while (at < end && at < starts_[i] + source.bytes) {
        const uint64_t size = std::min({end - at, starts_[i] + source.bytes - at, kMostAtOnce});
        const auto part = source.part(at - starts_[i], size, scratch);
        file_.write_at(at, part.data(), size);
        if (digest) digest->add(part.data(), size);
        made_progress();
        at += size;
      }
    }
  }

  OutputFile file_;
  std::vector<uint64_t> starts_;
  std::vector<const MadeTensor*> sources_;
  uint64_t bytes_ = 0;
};

}  // namespace

std::string write_safetensors(const std::filesystem::path& path,
                              const std::map<std::string, MadeTensor>& tensors, int threads, bool digest) {
  const std::string header = header_of(tensors);
  const uint64_t length = header.size();
  const MadeTensor length_source = made_from("", {}, std::as_bytes(std::span(&length, 1))),
                   header_source = made_from("", {}, std::as_bytes(std::span(header)));
  PieceWriter writer(path);
  writer.add(length_source);
  writer.add(header_source);
  for (const auto& [name, tensor] : tensors) writer.add(tensor);
  return writer.write(threads, digest);
}

std::string write_safetensors(const std::filesystem::path& path,
                              const std::map<std::string, StoredTensor>& tensors, int threads, bool digest) {
  std::map<std::string, MadeTensor> made;
  for (const auto& [name, t] : tensors) made[name] = made_from(t.dtype, t.shape, t.data);
  return write_safetensors(path, made, threads, digest);
}

}  // namespace temper::policy
