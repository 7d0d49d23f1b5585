#pragma once
// Checks whether rollout and training can agree to the last bit on this device: products must not depend on the
// number of rows, and packed attention must have the arithmetic that paged_attention repeats. Both properties were
// measured on certain versions of NVIDIA's libraries, and a newer version may lack them.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

#include "policy/ops/attention_shape.h"
#include "policy/ops/cuda/attention/attention.h"
#include "policy/ops/cuda/products/products.h"

namespace temper::policy::cuda {

struct Exactness {
  bool exact;
  std::string text;  // which part of which library's version, and how many numbers were unequal
};

struct ProductShape {
  int64_t k, n;
  bool residual;
  // [n, k] bf16, the weights that will be used; if null, random ones are made for the check.
  const void* w = nullptr;
  const void* bias = nullptr;  // [n] bf16; null: none
};

// Compares each product of 32 and 96 rows with the same rows among 1,024, and each row of packed sequences
// with paged_attention, if asked also behind shared keys. Waits for the stream. Holds 2 KiB·(k + n) a product while it runs, and weights where
// it makes them; `attention` must be of shape `heads`, and forgets its pack.
Exactness check_exactness(const AttentionShape& heads, const std::vector<ProductShape>& shapes,
                          bool shares_keys, Products& products, PackedAttention& attention,
                          cudaStream_t stream);

// Adds to *count, on the device, how many of `size` 16-bit numbers have unequal bits.
void count_unequal(const void* a, const void* b, int64_t size, uint32_t* count, cudaStream_t stream);

}  // namespace temper::policy::cuda
