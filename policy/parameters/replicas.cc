#include "policy/parameters/replicas.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/error.h"
#include "base/rng.h"

namespace temper::policy {
namespace {

constexpr int64_t kPieceWords = 1 << 20;
constexpr uint64_t kPrime = 0x9e3779b97f4a7c15;

// Odd, so that no bit of a word is lost in the product.
at::Tensor place_factors(at::Device device) {
  at::Tensor factors = at::empty({kPieceWords}, at::kLong);
  auto* to = reinterpret_cast<uint64_t*>(factors.data_ptr<int64_t>());
  for (int64_t i = 0; i < kPieceWords; ++i) to[i] = mix_key({0x7265706c69636173, uint64_t(i)}) | 1;
  return factors.to(device);
}

const at::Tensor& factors_on(at::Device device) {
  static at::Tensor factors;  // of the main thread's one device
  if (!factors.defined() || factors.device() != device) factors = place_factors(device);
  return factors;
}

struct SummedPiece {
  at::Tensor words, factors;
};

std::vector<SummedPiece> summed_pieces(const at::Tensor& flat) {
  TEMPER_CHECK(flat.is_contiguous() && flat.nbytes() % 8 == 0);
  const at::Tensor words = flat.view(at::kLong);
  std::vector<SummedPiece> pieces;
  for (int64_t begin = 0; begin < words.numel(); begin += kPieceWords) {
    const int64_t size = std::min(kPieceWords, words.numel() - begin);
    pieces.push_back({words.narrow(0, begin, size), factors_on(flat.device()).narrow(0, 0, size)});
  }
  return pieces;
}

uint64_t begin_digest(const at::Tensor& flat) { return uint64_t(flat.nbytes()); }

// Not by ATen: that would wake OpenMP's threads, which then spin beside ours.
uint64_t sum_on_cpu(const at::Tensor& words, const at::Tensor& factors) {
  const auto* word = reinterpret_cast<const uint64_t*>(words.const_data_ptr<int64_t>());
  const auto* factor = reinterpret_cast<const uint64_t*>(factors.const_data_ptr<int64_t>());
  uint64_t sum = 0;
  for (int64_t i = 0; i < words.numel(); ++i) sum += word[i] * factor[i];
  return sum;
}

// Of each unit. Those of a share are digested together with those of the other shares.
void add_digests(const ParameterStore& store, const at::Tensor& flat, const char* what,
                 std::vector<uint64_t>& digests) {
  const int64_t shares = store.size() / flat.numel();
  std::vector<uint64_t> mine;
  for (const ParameterUnit& unit : store.units())
    mine.push_back(word_digest(flat.narrow(0, unit.offset / shares, unit.size / shares)));
  if (shares > 1) {
    const auto all = store.shard().all_gather(mine, what);
    std::ranges::fill(mine, 0);
    for (const auto& of_rank : all)
      for (size_t unit = 0; unit < mine.size(); ++unit) mine[unit] = mine[unit] * kPrime + of_rank[unit];
  }
  digests.insert(digests.end(), mine.begin(), mine.end());
}

// Of the units' digests one behind the other: the weights', then the reference's.
std::string digest_name(const std::vector<ParameterUnit>& units, size_t digest) {
  const std::string& unit = units[digest % units.size()].name;
  return digest < units.size() ? unit : unit + " of the reference policy";
}

// The rank whose digests agree with the fewest others; the last one if there are several.
size_t odd_one(const std::vector<std::vector<uint64_t>>& all) {
  size_t odd = 0;
  int64_t fewest = std::ssize(all) + 1;
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (const int64_t alike = std::ranges::count(all, all[rank]); alike <= fewest) odd = rank, fewest = alike;
  return odd;
}

std::string units_that_differ(const std::vector<ParameterUnit>& units, const std::vector<uint64_t>& a,
                              const std::vector<uint64_t>& b) {
  std::string first;
  size_t more = 0;
  for (size_t digest = 0; digest < a.size(); ++digest) {
    if (a[digest] == b[digest]) continue;
    more += !first.empty();
    if (first.empty()) first = digest_name(units, digest);
  }
  return more == 0 ? first : fmt::format("{} and {} more units", first, more);
}

}  // namespace

uint64_t word_digest(const at::Tensor& flat) {
  if (!flat.is_cpu()) return word_digest_by_tensors(flat);
  uint64_t digest = begin_digest(flat);
  for (const SummedPiece& piece : summed_pieces(flat))
    digest = digest * kPrime + sum_on_cpu(piece.words, piece.factors);
  return digest;
}

uint64_t word_digest_by_tensors(const at::Tensor& flat) {
  uint64_t digest = begin_digest(flat);
  std::vector<at::Tensor> sums;
  for (const SummedPiece& piece : summed_pieces(flat)) sums.push_back((piece.words * piece.factors).sum());
  if (sums.empty()) return digest;
  const at::Tensor on_host = at::stack(sums).cpu();
  for (int64_t i = 0; i < on_host.numel(); ++i)
    digest = digest * kPrime + uint64_t(on_host.const_data_ptr<int64_t>()[i]);
  return digest;
}

void check_replicas(const ParameterStore& store, const char* what, const at::Tensor* reference) {
  Communicator& ranks = store.ranks();
  if (ranks.size() == 1) return;
  std::vector<uint64_t> digests;
  add_digests(store, store.held(), what, digests);
  if (reference) add_digests(store, *reference, what, digests);
  const auto all = ranks.all_gather(digests, what);
  const size_t odd = odd_one(all);
  const auto other = std::ranges::find_if(all, [&](const auto& its) { return its != all[odd]; });
  if (other == all.end()) return;
  const std::string units = units_that_differ(store.units(), all[odd], *other);
  if (int(odd) != ranks.rank()) throw LostRanks("rank {} holds other weights in {}", odd, units);
  throw WorldError(
      "its weights are not those of {}: {} differs; a collective was left out, or memory is damaged",
      ranks.size() == 2 ? "rank 0" : "the other ranks", units);
}

}  // namespace temper::policy
