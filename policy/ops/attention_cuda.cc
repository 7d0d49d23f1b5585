#include "policy/ops/attention_cuda.h"

#include <cudnn_frontend.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <span>
#include <unordered_map>

#include "base/error.h"
#include "policy/ops/cuda.h"

namespace temper::cuda {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

constexpr int64_t kHeadDim = 128;

// The deterministic backward keeps a whole matrix of scores a head and sequence: a pack of unequal lengths is
// taken in several calls that stay under this where a single sequence does.
constexpr int64_t kBackwardBytes = int64_t(4) << 30;

void check_dnn(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) throw WorldError("cuDNN: {}: {}", what, cudnnGetErrorString(status));
}

void check_dnn(fe::error_t status, const char* what) {
  if (status.is_bad()) throw WorldError("cuDNN: {}: {}", what, status.get_message());
}

// The next of 1, 2, 3, 4, then four steps an octave: 5, 6, 7, 8, 10, 12, …
int64_t bucket(int64_t n) {
  const int64_t step = std::max<int64_t>(1, int64_t(std::bit_floor(uint64_t(n - 1) | 1)) / 4);
  return (n + step - 1) / step * step;
}

// Few shapes, little waste: a plan takes up to a second to build, and each begun block of 256 rows costs
// time.
int64_t length_bucket(int64_t length) {
  const int64_t blocks = (length + 255) / 256;
  return 256 * (blocks <= 8 ? blocks : bucket(blocks));
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
  kAtLse
};
using Pointers = std::unordered_map<int64_t, void*>;

struct PlanKey {
  bool backward;
  int64_t sequences, length, tokens;  // tokens: most of a pack, only of backward
  auto operator<=>(const PlanKey&) const = default;
};

// A call's sequences, each where it lies in the pack.
struct Group {
  std::vector<int32_t> members;
  int64_t length = 0;  // bucket of the longest
  int64_t sequences() const { return bucket(int64_t(members.size())); }
  size_t device_at = 0;  // in the uploaded bytes
};

// One graph of cuDNN's: a packed causal attention of at most `sequences` of at most `length` rows.
class Plan {
 public:
  Plan(cudnnHandle_t handle, const HeadShape& shape, float scale, const PlanKey& key)
      : shape_(shape), key_(key) {
    graph_.set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    lengths_q_ = index(kLengthsQ, key.sequences, fe::DataType_t::INT32);
    lengths_k_ = index(kLengthsK, key.sequences, fe::DataType_t::INT32);
    at_qk_ = index(kAtQk, key.sequences + 1, fe::DataType_t::INT64);
    at_qkv_ = index(kAtQkv, key.sequences + 1, fe::DataType_t::INT64);
    at_out_ = index(kAtOut, key.sequences + 1, fe::DataType_t::INT64);
    at_lse_ = index(kAtLse, key.sequences + 1, fe::DataType_t::INT64);
    key.backward ? describe_backward(scale) : describe_forward(scale);
    check_dnn(graph_.build(handle, {fe::HeurMode_t::A}), "packed attention");
    check_dnn(graph_.get_workspace_size(workspace_bytes_), "workspace");
  }

  int64_t workspace_bytes() const { return workspace_bytes_; }

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

  void lay(const Tensor& t, Id id, int64_t heads, int64_t width, int64_t row, const Tensor& at) const {
    t->set_uid(id).set_dim({key_.sequences, heads, key_.length, width});
    t->set_stride({key_.length * row, width, row, 1}).set_ragged_offset(at);
  }
  Tensor matrix(Id id, int64_t heads, int64_t row, const Tensor& at) {
    Tensor t = graph_.tensor(fe::graph::Tensor_attributes());
    lay(t, id, heads, kHeadDim, row, at);
    return t;
  }
  void output(const Tensor& t, Id id, int64_t heads, int64_t row, const Tensor& at) const {
    lay(t, id, heads, kHeadDim, row, at);
    t->set_output(true);
  }

  template <class Attributes>
  Attributes causal(float scale) const {
    Attributes a;
    a.set_attn_scale(scale).set_padding_mask(true).set_seq_len_q(lengths_q_).set_seq_len_kv(lengths_k_);
    a.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
    return a;
  }

  struct Inputs {
    Tensor q, k, v;
  };
  Inputs inputs() {
    return {matrix(kQ, shape_.heads, shape_.qk_width(), at_qk_),
            matrix(kK, shape_.kv_heads, shape_.qk_width(), at_qk_),
            matrix(kV, shape_.kv_heads, shape_.qkv_width(), at_qkv_)};
  }

  void describe_forward(float scale) {
    const auto [q, k, v] = inputs();
    auto attributes = causal<fe::graph::SDPA_attributes>(scale);
    attributes.set_generate_stats(true);
    const auto [out, lse] = graph_.sdpa(q, k, v, attributes);
    output(out, kOut, shape_.heads, shape_.q_width(), at_out_);
    lay(lse, kLse, shape_.heads, 1, shape_.heads, at_lse_);
    lse->set_output(true).set_data_type(fe::DataType_t::FLOAT);
  }

  void describe_backward(float scale) {
    const auto [q, k, v] = inputs();
    const Tensor out = matrix(kOut, shape_.heads, shape_.q_width(), at_out_);
    const Tensor d_out = matrix(kDOut, shape_.heads, shape_.q_width(), at_out_);
    const Tensor lse = graph_.tensor(fe::graph::Tensor_attributes().set_data_type(fe::DataType_t::FLOAT));
    lay(lse, kLse, shape_.heads, 1, shape_.heads, at_lse_);
    auto attributes = causal<fe::graph::SDPA_backward_attributes>(scale);
    attributes.set_deterministic_algorithm(true);
    attributes.set_max_total_seq_len_q(key_.tokens).set_max_total_seq_len_kv(key_.tokens);
    const auto [dq, dk, dv] = graph_.sdpa_backward(q, k, v, out, d_out, lse, attributes);
    output(dq, kDQ, shape_.heads, shape_.qkv_width(), at_qkv_);
    output(dk, kDK, shape_.kv_heads, shape_.qkv_width(), at_qkv_);
    output(dv, kDV, shape_.kv_heads, shape_.qkv_width(), at_qkv_);
  }

  fe::graph::Graph graph_;
  HeadShape shape_;
  PlanKey key_;
  Tensor lengths_q_, lengths_k_, at_qk_, at_qkv_, at_out_, at_lse_;
  int64_t workspace_bytes_ = 0;
};

// Device memory that grows. Freeing waits for what still uses it.
class Memory {
 public:
  ~Memory() { cudaFree(data_); }
  void* at_least(int64_t bytes, const char* what) {
    if (bytes <= bytes_) return data_;
    check(cudaFree(std::exchange(data_, nullptr)), what);
    bytes_ = 0;
    check(cudaMalloc(&data_, size_t(bytes)), what);
    bytes_ = bytes;
    return data_;
  }
  int64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

// Host memory from which copies run on their own; each of two waits for its copy before it is written again.
class Staging {
 public:
  ~Staging() {
    for (auto& slot : slots_) {
      cudaFreeHost(slot.data);
      if (slot.copied) cudaEventDestroy(slot.copied);
    }
  }
  void upload(std::span<const std::byte> bytes, void* to, cudaStream_t stream) {
    Slot& slot = slots_[next_++ % slots_.size()];
    if (!slot.copied)
      check(cudaEventCreateWithFlags(&slot.copied, cudaEventDisableTiming), "cudaEventCreate");
    check(cudaEventSynchronize(slot.copied), "upload of a pack");
    if (slot.size < bytes.size()) {
      check(cudaFreeHost(std::exchange(slot.data, nullptr)), "cudaFreeHost");
      check(cudaMallocHost(&slot.data, bytes.size()), "cudaMallocHost");
      slot.size = bytes.size();
    }
    std::memcpy(slot.data, bytes.data(), bytes.size());
    check(cudaMemcpyAsync(to, slot.data, bytes.size(), cudaMemcpyHostToDevice, stream), "upload of a pack");
    check(cudaEventRecord(slot.copied, stream), "cudaEventRecord");
  }

 private:
  struct Slot {
    void* data = nullptr;
    size_t size = 0;
    cudaEvent_t copied = nullptr;
  };
  std::array<Slot, 2> slots_;
  size_t next_ = 0;
};

int64_t score_bytes(int64_t sequences, int64_t length, int64_t heads) {
  return bucket(sequences) * heads * length * length * 2;
}

// Sequences by length, the longest first, as many to a call as the workspace takes.
std::vector<Group> backward_groups(const std::vector<int32_t>& starts, int64_t heads) {
  const auto length = [&](int32_t s) { return starts[size_t(s) + 1] - starts[size_t(s)]; };
  std::vector<int32_t> order(starts.size() - 1);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), length);
  std::vector<Group> groups;
  for (const int32_t s : order) {
    if (groups.empty() ||
        score_bytes(int64_t(groups.back().members.size()) + 1, groups.back().length, heads) > kBackwardBytes)
      groups.emplace_back().length = length_bucket(length(s));
    groups.back().members.push_back(s);
  }
  for (Group& g : groups) std::ranges::sort(g.members);
  return groups;
}

template <class T>
T* offset(T* base, int64_t bytes) {
  using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
  return static_cast<T*>(static_cast<Byte*>(base) + bytes);
}

}  // namespace

struct PackedAttention::Impl {
  Impl(const HeadShape& s, float x) : shape(s), scale(x != 0 ? x : 1 / std::sqrt(float(kHeadDim))) {
    TEMPER_CHECK_EQ(shape.head_dim, kHeadDim);
    check_dnn(cudnnCreate(&handle), "cudnnCreate");
  }
  ~Impl() { cudnnDestroy(handle); }

  // Elements from the pack's first row to row `row`, in the order of kAtQk …
  std::array<int64_t, 4> offsets(int64_t row) const {
    return {row * shape.qk_width(), row * shape.qkv_width(), row * shape.q_width(), row * shape.heads};
  }

  // Behind each other for each group: four lists of offsets, then lengths. Sequences that fill up a bucket
  // are empty and lie at the end.
  void describe(Group& group, const std::vector<int32_t>& starts, std::vector<std::byte>& bytes) const {
    group.device_at = bytes.size();
    const size_t n = size_t(group.sequences());
    std::vector<int64_t> at(4 * (n + 1));
    std::vector<int32_t> lengths(n + n % 2);  // the next group's offsets stay aligned
    for (size_t i = 0; i <= n; ++i) {
      const bool filled = i < group.members.size();
      const size_t s = filled ? size_t(group.members[i]) : starts.size() - 1;
      const auto here = offsets(starts[s]);
      for (size_t list = 0; list < here.size(); ++list) at[list * (n + 1) + i] = here[list];
      if (filled) lengths[i] = starts[s + 1] - starts[s];
    }
    const auto append = [&](const auto& list) {
      const auto piece = std::as_bytes(std::span(list));
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    };
    append(at);
    append(lengths);
  }

  void set_pack(const std::vector<int32_t>& starts, cudaStream_t stream) {
    TEMPER_CHECK(starts.size() >= 2 && starts.front() == 0, "{} starts", starts.size());
    tokens = starts.back();
    whole = {};
    int64_t longest = 0;
    for (size_t s = 0; s + 1 < starts.size(); ++s) {
      TEMPER_CHECK(starts[s] < starts[s + 1], "sequence {} is empty", s);
      longest = std::max<int64_t>(longest, starts[s + 1] - starts[s]);
      whole.members.push_back(int32_t(s));
    }
    whole.length = length_bucket(longest);
    groups = backward_groups(starts, shape.heads);
    std::vector<std::byte> bytes;
    describe(whole, starts, bytes);
    for (Group& g : groups) describe(g, starts, bytes);
    staging.upload(bytes, indices.at_least(int64_t(bytes.size()), "description of a pack"), stream);
  }

  // A larger pack than any before makes plans for that size; smaller ones use them too.
  PlanKey key(const Group& group, bool backward, cudaStream_t stream) {
    if (!backward) return {false, group.sequences(), group.length, 0};
    if (tokens > most_tokens) {
      check(cudaStreamSynchronize(stream), "packed attention");
      std::erase_if(plans, [](const auto& p) { return p.first.backward; });
      most_tokens = 1024 * bucket((tokens + 1023) / 1024);
    }
    return {true, group.sequences(), group.length, most_tokens};
  }

  const Plan& plan(const PlanKey& k) {
    auto& slot = plans[k];
    if (!slot) slot = std::make_unique<Plan>(handle, shape, scale, k);
    return *slot;
  }

  void run(const Group& group, bool backward, Pointers pointers, cudaStream_t stream) {
    const Plan& p = plan(key(group, backward, stream));
    char* at = static_cast<char*>(indices.at_least(0, "")) + group.device_at;
    const int64_t list = (group.sequences() + 1) * int64_t(sizeof(int64_t));
    for (const Id id : {kAtQk, kAtQkv, kAtOut, kAtLse}) pointers[id] = std::exchange(at, at + list);
    pointers[kLengthsQ] = pointers[kLengthsK] = at;
    check_dnn(cudnnSetStream(handle, stream), "cudnnSetStream");
    p.run(handle, pointers, workspace.at_least(p.workspace_bytes(), "workspace of attention"));
  }

  Pointers inputs(const void* qk, const void* qkv, const void* out, const float* lse) const {
    const auto writable = [](const void* p) { return const_cast<void*>(p); };
    return {{kQ, writable(qk)},
            {kK, writable(offset(qk, shape.q_width() * 2))},
            {kV, writable(offset(qkv, shape.qk_width() * 2))},
            {kOut, writable(out)},
            {kLse, writable(lse)}};
  }

  HeadShape shape;
  float scale;
  cudnnHandle_t handle = nullptr;
  std::map<PlanKey, std::unique_ptr<Plan>> plans;
  Memory workspace, indices, unwanted_lse;
  Staging staging;
  Group whole;
  std::vector<Group> groups;  // of the backward
  int64_t tokens = 0, most_tokens = 0;
};

PackedAttention::PackedAttention(const HeadShape& shape, float scale)
    : impl_(std::make_unique<Impl>(shape, scale)) {}
PackedAttention::~PackedAttention() = default;

void PackedAttention::set_pack(const std::vector<int32_t>& starts, cudaStream_t stream) {
  impl_->set_pack(starts, stream);
}

void PackedAttention::forward(const void* qk, const void* qkv, void* out, float* lse, cudaStream_t stream) {
  if (!lse) {
    const int64_t bytes = impl_->tokens * impl_->shape.heads * int64_t(sizeof(float));
    lse = static_cast<float*>(impl_->unwanted_lse.at_least(bytes, "log-sum-exp of attention"));
  }
  impl_->run(impl_->whole, false, impl_->inputs(qk, qkv, out, lse), stream);
}

void PackedAttention::backward(const void* d_out, const void* qk, const void* qkv, const void* out,
                               const float* lse, void* d_qkv, cudaStream_t stream) {
  const HeadShape& s = impl_->shape;
  Pointers pointers = impl_->inputs(qk, qkv, out, lse);
  pointers[kDOut] = const_cast<void*>(d_out);
  pointers[kDQ] = d_qkv;
  pointers[kDK] = offset(d_qkv, s.q_width() * 2);
  pointers[kDV] = offset(d_qkv, s.qk_width() * 2);
  for (const Group& group : impl_->groups) impl_->run(group, true, pointers, stream);
}

int64_t PackedAttention::workspace_bytes() const {
  return impl_->workspace.bytes() + impl_->indices.bytes() + impl_->unwanted_lse.bytes();
}

int64_t PackedAttention::library_version() { return int64_t(cudnnGetVersion()); }

}  // namespace temper::cuda
