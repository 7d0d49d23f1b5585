#pragma once
// How queries, keys and values lie in a row of the fused projection: H query heads, K key heads, K value
// heads.

#include <cstdint>

namespace temper::policy {

struct AttentionShape {
  int64_t heads;     // H
  int64_t kv_heads;  // K
  int64_t head_dim;  // hd

  int64_t group() const { return heads / kv_heads; }  // query heads of one key head
  int64_t q_width() const { return heads * head_dim; }
  int64_t qk_width() const { return (heads + kv_heads) * head_dim; }
  int64_t qkv_width() const { return (heads + 2 * kv_heads) * head_dim; }
  int64_t kv_width() const { return 2 * kv_heads * head_dim; }  // of a copied key with its value
};

}  // namespace temper::policy
