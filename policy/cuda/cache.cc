#include "policy/cuda/cache.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.h"
#include "policy/cuda/device.h"

namespace temper::policy {
namespace {

int64_t pages_for(int64_t tokens) { return (tokens + cuda::kPageTokens - 1) / cuda::kPageTokens; }

uint64_t next_id() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

// A cache of the same size gets the previous rollout's memory back, so that captured graphs stay valid. For any other
// size that memory is released first.
void make_room(int64_t numbers) {
  static int64_t before = 0;
  if (std::exchange(before, numbers) != numbers) cuda::give_back_unused();
}

}  // namespace

GpuCache::GpuCache(const ModelConfig& config, int64_t slots, int64_t most)
    : CacheStorage(slots, most),
      id_(next_id()),
      edits_(size_t(slots), 0),
      max_pages_(pages_for(most)),
      pages_(size_t(slots)) {
  const int64_t pages = slots * max_pages_;
  const std::vector<int64_t> shape = {config.num_hidden_layers, pages + 1,      config.num_key_value_heads, 2,
                                      cuda::kPageTokens,        config.head_dim};
  make_room(c10::multiply_integers(shape));
  pool_ = at::empty(shape, at::TensorOptions().dtype(at::kBFloat16).device(at::kCUDA));
  // Masked keys are multiplied by zero, which a stray NaN would survive.
  pool_.zero_();
  users_.resize(size_t(pages), 0);
  for (int64_t page = pages; page-- > 0;) free_.push_back(int32_t(page));
}

int32_t GpuCache::take_page() {
  TEMPER_CHECK(!free_.empty());
  const int32_t page = free_.back();
  free_.pop_back();
  users_[size_t(page)] = 1;
  return page;
}

void GpuCache::drop_page(int32_t page) {
  if (--users_[size_t(page)] == 0) free_.push_back(page);
}

void GpuCache::keep_pages(int64_t slot, size_t count) {
  auto& pages = pages_[size_t(slot)];
  for (; pages.size() > count; pages.pop_back()) drop_page(pages.back());
}

void GpuCache::copy_page(int32_t from, int32_t to) { pool_.select(1, to).copy_(pool_.select(1, from)); }

void GpuCache::truncate(int64_t slot, int64_t length) {
  ++edits_[size_t(slot)];
  keep_pages(slot, size_t(pages_for(length)));
  lengths[size_t(slot)] = length;
}

void GpuCache::copy_prefix(int64_t from, int64_t to, int64_t length) {
  ++edits_[size_t(to)];
  keep_pages(to, 0);
  const auto& source = pages_[size_t(from)];
  auto& target = pages_[size_t(to)];
  target.assign(source.begin(), source.begin() + pages_for(length));
  for (int32_t page : target) ++users_[size_t(page)];
  lengths[size_t(to)] = length;
}

void GpuCache::reserve(int64_t slot, int64_t length) {
  auto& pages = pages_[size_t(slot)];
  const auto first_written = size_t(lengths[size_t(slot)] / cuda::kPageTokens);
  for (size_t i = first_written; i < pages.size(); ++i) {
    if (users_[size_t(pages[i])] == 1) continue;
    const int32_t own = take_page();
    copy_page(pages[i], own);
    drop_page(pages[i]);
    pages[i] = own;
  }
  while (int64_t(pages.size()) < pages_for(length)) pages.push_back(take_page());
}

void GpuCache::grow(int64_t slot, int64_t length) {
  reserve(slot, length);
  lengths[size_t(slot)] = length;
}

void GpuCache::fill_row(int64_t slot, int32_t* row) const {
  fill_spare_row(row);
  std::ranges::copy(pages_[size_t(slot)], row);
}

void GpuCache::fill_spare_row(int32_t* row) const { std::fill_n(row, max_pages_, int32_t(users_.size())); }

cuda::Pages GpuCache::layer(int64_t index, const int32_t* table, const int32_t* row) const {
  auto* base = static_cast<at::BFloat16*>(pool_.data_ptr()) + index * pool_.stride(0);
  return {.base = base, .table = table, .row = row, .max_pages = max_pages_};
}

}  // namespace temper::policy
