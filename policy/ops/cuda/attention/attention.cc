#include "policy/ops/cuda/attention/attention.h"

#include <cudnn_frontend.h>

#include <cmath>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "policy/ops/cuda/attention/attention_groups.h"
#include "policy/ops/cuda/device/memory.h"

namespace temper::policy::cuda {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

void check_dnn(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) throw WorldError("cuDNN: {}: {}", what, cudnnGetErrorString(status));
}

void check_dnn(fe::error_t status, const char* what) {
  if (status.is_bad()) throw WorldError("cuDNN: {}: {}", what, status.get_message());
}

// Names of a graph's tensors.
enum Id : int64_t {
  kQ = 1,
  kK,
  kV,
  kOut,
  kLse,
  kDOut,
  kDQ,
  kDK,
  kDV,
  kLengthsQ,
  kLengthsK,
  kAtQk,
  kAtQkv,
  kAtOut,
  kAtLse,
  kAtKeys
};
using Pointers = std::unordered_map<int64_t, void*>;

struct PlanKey {
  bool backward;
  bool shared;  // keys are copies, of which there are more than queries
  int64_t sequences, length, keys;
  int64_t parts;  // of the heads, one a call
  auto operator<=>(const PlanKey&) const = default;
};

// One graph of cuDNN's: a packed causal attention of at most `sequences` of at most `length` rows, which are the last ones of at
// most `keys`.
class Plan {
 public:
  Plan(cudnnHandle_t handle, const AttentionShape& shape, float scale, const PlanKey& key)
      : shape_(shape), key_(key), heads_(shape.heads / key.parts), kv_heads_(shape.kv_heads / key.parts) {
    graph_.set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    lengths_q_ = index(kLengthsQ, key.sequences, fe::DataType_t::INT32);
    lengths_k_ = index(kLengthsK, key.sequences, fe::DataType_t::INT32);
    for (const auto& [id, tensor] : {std::pair{kAtQk, &at_qk_},
                                     {kAtQkv, &at_qkv_},
                                     {kAtOut, &at_out_},
                                     {kAtLse, &at_lse_},
                                     {kAtKeys, &at_keys_}})
      if (reads(id)) *tensor = index(id, key.sequences + 1, fe::DataType_t::INT64);
    key.backward ? describe_backward(scale) : describe_forward(scale);
    check_dnn(graph_.build(handle, {fe::HeurMode_t::A}), "packed attention");
    check_dnn(graph_.get_workspace_size(workspace_bytes_), "workspace");
  }

  int64_t workspace_bytes() const { return workspace_bytes_; }

  // Which lists of offsets it has: copies of keys lie apart from queries and values, their gradients too.
  bool reads(Id offsets) const {
    if (offsets == kAtKeys) return key_.shared;
    return offsets != kAtQkv || !key_.shared || key_.backward;
  }

  void run(cudnnHandle_t handle, Pointers& pointers, void* workspace) const {
    check_dnn(graph_.execute(handle, pointers, workspace), "packed attention");
  }

 private:
  Tensor index(Id id, int64_t count, fe::DataType_t type) {
    return graph_.tensor(fe::graph::Tensor_attributes()
                             .set_uid(id)
                             .set_dim({count, 1, 1, 1})
                             .set_stride({1, 1, 1, 1})
                             .set_data_type(type));
  }

  // How a tensor's rows lie: `width` numbers of each head, heads side by side, rows `row` apart.
  struct Rows {
    int64_t count, row;
    const Tensor& at;
  };
  Rows queries_in_qk() const { return {key_.length, shape_.qk_width(), at_qk_}; }
  Rows queries_in_qkv() const { return {key_.length, shape_.qkv_width(), at_qkv_}; }
  Rows queries_in_out() const { return {key_.length, shape_.q_width(), at_out_}; }
  Rows queries_in_lse() const { return {key_.length, shape_.heads, at_lse_}; }
  Rows copies() const { return {key_.keys, shape_.kv_width(), at_keys_}; }
  Rows keys() const { return key_.shared ? copies() : queries_in_qk(); }
  Rows values() const { return key_.shared ? copies() : queries_in_qkv(); }

  void lay(const Tensor& t, Id id, int64_t heads, int64_t width, const Rows& rows) const {
    t->set_uid(id).set_dim({key_.sequences, heads, rows.count, width});
    t->set_stride({rows.count * rows.row, width, rows.row, 1}).set_ragged_offset(rows.at);
  }
  Tensor matrix(Id id, int64_t heads, const Rows& rows) {
    Tensor t = graph_.tensor(fe::graph::Tensor_attributes());
    lay(t, id, heads, shape_.head_dim, rows);
    return t;
  }
  void output(const Tensor& t, Id id, int64_t heads, const Rows& rows) const {
    lay(t, id, heads, shape_.head_dim, rows);
    t->set_output(true);
  }

  template <class Attributes>
  Attributes causal(float scale) const {
    Attributes a;
    a.set_attn_scale(scale).set_padding_mask(true).set_seq_len_q(lengths_q_).set_seq_len_kv(lengths_k_);
    // A sequence's last query sees its last key.
    a.set_diagonal_alignment(key_.shared ? fe::DiagonalAlignment_t::BOTTOM_RIGHT
                                         : fe::DiagonalAlignment_t::TOP_LEFT);
    a.set_diagonal_band_right_bound(0);
    return a;
  }

  struct Inputs {
    Tensor q, k, v;
  };
  Inputs inputs() {
    return {matrix(kQ, heads_, queries_in_qk()), matrix(kK, kv_heads_, keys()),
            matrix(kV, kv_heads_, values())};
  }

  void describe_forward(float scale) {
    const auto [q, k, v] = inputs();
    auto attributes = causal<fe::graph::SDPA_attributes>(scale);
    attributes.set_generate_stats(true);
    const auto [out, lse] = graph_.sdpa(q, k, v, attributes);
    output(out, kOut, heads_, queries_in_out());
    lay(lse, kLse, heads_, 1, queries_in_lse());
    lse->set_output(true).set_data_type(fe::DataType_t::FLOAT);
  }

  void describe_backward(float scale) {
    const auto [q, k, v] = inputs();
    const Tensor out = matrix(kOut, heads_, queries_in_out());
    const Tensor d_out = matrix(kDOut, heads_, queries_in_out());
    const Tensor lse = graph_.tensor(fe::graph::Tensor_attributes().set_data_type(fe::DataType_t::FLOAT));
    lay(lse, kLse, heads_, 1, queries_in_lse());
    auto attributes = causal<fe::graph::SDPA_backward_attributes>(scale);
    attributes.set_deterministic_algorithm(true);
    const auto [dq, dk, dv] = graph_.sdpa_backward(q, k, v, out, d_out, lse, attributes);
    output(dq, kDQ, heads_, queries_in_qkv());
    output(dk, kDK, kv_heads_, values());
    output(dv, kDV, kv_heads_, values());
  }

  fe::graph::Graph graph_;
  AttentionShape shape_;
  PlanKey key_;
  int64_t heads_, kv_heads_;
  Tensor lengths_q_, lengths_k_, at_qk_, at_qkv_, at_out_, at_lse_, at_keys_;
  int64_t workspace_bytes_ = 0;
};

}  // namespace

struct PackedAttention::Impl {
  Impl(const AttentionShape& s, float x, int64_t most)
      : shape(s), scale(x != 0 ? x : 1 / std::sqrt(float(s.head_dim))), backward_bytes(most) {
    TEMPER_CHECK(is_attention_head(shape.head_dim), "head_dim {}", shape.head_dim);
    check_dnn(cudnnCreate(&handle), "cudnnCreate");
  }
  ~Impl() { cudnnDestroy(handle); }

  void set_pack(const std::vector<int32_t>& starts, cudaStream_t stream, const SharedKeys& keys) {
    tokens = starts.back();
    shared = keys.any();
    const AttentionRows rows{starts, shared ? keys.starts : starts};
    whole = whole_pack(rows);
    groups = backward_groups(rows, shape, backward_bytes);
    std::vector<std::byte> bytes;
    describe(whole, rows, shape, bytes);
    for (AttentionGroup& g : groups) describe(g, rows, shape, bytes);
    staging.upload(bytes, indices.at_least(int64_t(bytes.size()), "description of a pack"), stream);
  }

  const Plan& plan(const PlanKey& k) {
    auto& slot = plans[k];
    if (!slot) slot = std::make_unique<Plan>(handle, shape, scale, k);
    return *slot;
  }

  // pointers_of(key head): of the tensors, from that head on.
  template <class F>
  void run(const AttentionGroup& group, bool backward, const F& pointers_of, cudaStream_t stream) {
    const Plan& p = plan({backward, shared, group.sequences(), group.length, group.keys, group.parts});
    void* const space = workspace.at_least(p.workspace_bytes(), "workspace of attention");
    check_dnn(cudnnSetStream(handle, stream), "cudnnSetStream");
    for (int64_t part = 0; part < group.parts; ++part) {
      Pointers pointers = pointers_of(shape.kv_heads / group.parts * part);
      char* at = static_cast<char*>(indices.at_least(0, "")) + group.described_at;
      const int64_t list = (group.sequences() + 1) * int64_t(sizeof(int64_t));
      for (const Id id : {kAtQk, kAtQkv, kAtOut, kAtLse, kAtKeys}) {
        if (p.reads(id)) pointers[id] = at;
        at += list;
      }
      pointers[kLengthsQ] = at;
      pointers[kLengthsK] = at + group.sequences() * int64_t(sizeof(int32_t));
      p.run(handle, pointers, space);
    }
  }

  // Of the tensors that both directions have, from key head `first` on.
  Pointers pointers(const void* qk, const void* qkv, const void* keys, const void* out, const float* lse,
                    int64_t first) const {
    TEMPER_CHECK_EQ(keys != nullptr, shared);
    const auto head = [&](const void* base, int64_t index) {
      return const_cast<char*>(static_cast<const char*>(base)) + index * shape.head_dim * 2;
    };
    const int64_t first_query = first * shape.group();
    return {{kQ, head(qk, first_query)},
            {kK, keys ? head(keys, first) : head(qk, shape.heads + first)},
            {kV, keys ? head(keys, shape.kv_heads + first) : head(qkv, shape.heads + shape.kv_heads + first)},
            {kOut, head(out, first_query)},
            {kLse, const_cast<float*>(lse) + first_query}};
  }

  AttentionShape shape;
  float scale;
  int64_t backward_bytes;
  cudnnHandle_t handle = nullptr;
  std::map<PlanKey, std::unique_ptr<Plan>> plans;
  DeviceMemory workspace, indices, unwanted_lse;
  Staging staging;
  AttentionGroup whole;
  std::vector<AttentionGroup> groups;  // of the backward
  int64_t tokens = 0;
  bool shared = false;  // the pack's keys are copies
};

PackedAttention::PackedAttention(const AttentionShape& shape, float scale, int64_t backward_bytes)
    : impl_(std::make_unique<Impl>(shape, scale, backward_bytes)) {}
PackedAttention::~PackedAttention() = default;

void PackedAttention::set_pack(const std::vector<int32_t>& starts, cudaStream_t stream,
                               const SharedKeys& shared) {
  impl_->set_pack(starts, stream, shared);
}

void PackedAttention::forward(const void* qk, const void* qkv, void* out, float* lse, cudaStream_t stream,
                              const void* keys) {
  if (!lse) {
    const int64_t bytes = impl_->tokens * impl_->shape.heads * int64_t(sizeof(float));
    lse = static_cast<float*>(impl_->unwanted_lse.at_least(bytes, "log-sum-exp of attention"));
  }
  impl_->run(
      impl_->whole, false, [&](int64_t first) { return impl_->pointers(qk, qkv, keys, out, lse, first); },
      stream);
}

void PackedAttention::backward(const void* d_out, const void* qk, const void* qkv, const void* out,
                               const float* lse, void* d_qkv, cudaStream_t stream, const void* keys,
                               void* d_keys) {
  const auto pointers = [&](int64_t first) {
    Pointers result = impl_->pointers(qk, qkv, keys, out, lse, first);
    // Gradients lie as queries, keys and values do in qkv, and so does that of out as out.
    const Pointers of_gradients = impl_->pointers(d_qkv, d_qkv, d_keys, d_out, lse, first);
    result[kDQ] = of_gradients.at(kQ);
    result[kDK] = of_gradients.at(kK);
    result[kDV] = of_gradients.at(kV);
    result[kDOut] = of_gradients.at(kOut);
    return result;
  };
  for (const AttentionGroup& group : impl_->groups) impl_->run(group, true, pointers, stream);
}

int64_t PackedAttention::workspace_bytes() const {
  return impl_->workspace.bytes() + impl_->indices.bytes() + impl_->unwanted_lse.bytes();
}

int64_t PackedAttention::library_version() { return int64_t(cudnnGetVersion()); }

}  // namespace temper::policy::cuda
