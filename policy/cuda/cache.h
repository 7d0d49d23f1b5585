#pragma once
// Keys and values of the sequences being generated, in pages of 128 tokens; sequences share the whole pages
// of a common prefix.

#include <ATen/core/Tensor.h>

#include "policy/cache_storage.h"
#include "policy/ops/cuda/ops.h"

namespace temper::policy {

class GpuCache : public CacheStorage {
 public:
  GpuCache(const ModelConfig& config, int64_t slots, int64_t max_tokens);

  void truncate(int64_t slot, int64_t length) override;
  void copy_prefix(int64_t from, int64_t to, int64_t length) override;

  // Makes room for tokens up to `length`, none of it shared.
  void reserve(int64_t slot, int64_t length);
  // Reserves room up to `length` and sets the slot's length to it.
  void grow(int64_t slot, int64_t length);

  // `id` is unique in the process. `edits` is incremented by every change to a slot except appending, so that a step
  // queued earlier can tell that it is stale.
  uint64_t id() const { return id_; }
  uint64_t edits(int64_t slot) const { return edits_[size_t(slot)]; }

  // A row of a page table: the slot's pages, then spare ones. row [max_pages]
  void fill_row(int64_t slot, int32_t* row) const;
  // A row of a page table for rows that only pad a batch. All its entries are a page that is never read.
  void fill_spare_row(int32_t* row) const;
  int64_t max_pages() const { return max_pages_; }

  cuda::Pages layer(int64_t index, const int32_t* table, const int32_t* row) const;
  // The facts on which captured graphs depend. Another cache may get the same memory and divide it differently.
  struct Layout {
    const void* pool = nullptr;
    int64_t numbers = 0, max_pages = 0;
    bool operator==(const Layout&) const = default;
  };
  Layout layout() const { return {pool_.data_ptr(), pool_.numel(), max_pages_}; }

 private:
  int32_t take_page();
  void drop_page(int32_t page);
  void keep_pages(int64_t slot, size_t count);
  void copy_page(int32_t from, int32_t to);

  uint64_t id_;
  std::vector<uint64_t> edits_;              // by slot
  int64_t max_pages_;                        // per slot
  at::Tensor pool_;                          // [L, pages + 1, K, 2, kPageTokens, hd] bf16; the last is spare
  std::vector<std::vector<int32_t>> pages_;  // by slot
  std::vector<int32_t> users_;               // by page
  std::vector<int32_t> free_;
};

}  // namespace temper::policy
