#include "policy/ops/cpu/attention.h"

#include <numeric>

#include "policy/ops/cuda/attention/attention.h"
#include "policy/ops/cuda/attention/copied_keys.h"
#include "policy/ops/cuda/attention/paged_attention.h"
#include "tests/policy/on_gpu/gpu_test.h"

namespace temper::policy {
namespace {

using Lengths = std::vector<int32_t>;

std::vector<int32_t> starts_of(const Lengths& lengths) {
  std::vector<int32_t> starts{0};
  std::partial_sum(lengths.begin(), lengths.end(), std::back_inserter(starts));
  return starts;
}

struct Case {
  AttentionShape shape;
  Lengths lengths;
  double scale = 1;  // of queries and keys
};

// Around the borders of tiles and pages; 9 and 17 sequences are filled up with empty ones.
const Case kCases[] = {
    {{4, 2, 128}, {1, 127, 128, 129, 300}},
    {{4, 4, 128}, {513, 1, 90}, 0.2},
    {{8, 1, 128}, {33, 700, 257}, 4},
    {{2, 2, 128}, {1500}},
    {{16, 8, 128}, Lengths(17, 40)},
    {{8, 2, 128}, {1, 5, 127, 128, 129, 64, 300, 2, 31}},
    {{7, 1, 128}, {1, 129, 500}},
    {{28, 4, 128}, {128, 33, 300, 1}},
    {{10, 2, 128}, {5, 257, 128}},
    {{40, 8, 128}, {200, 31}},
    {{9, 3, 64}, {1, 127, 128, 129, 300, 5}},
    {{14, 2, 64}, {64, 500, 33}, 4},
    {{32, 8, 64}, {257, 1, 128, 700}},
    {{8, 8, 64}, {90, 513}, 0.2},
    {{8, 1, 64}, Lengths(9, 150)},
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.shape.heads << " heads on " << c.shape.kv_heads << ", " << c.lengths.size()
             << " sequences, x" << c.scale;
}

// The inputs of a pack, and what both directions make of them.
struct Pack {
  explicit Pack(const Case& c)
      : shape(c.shape),
        lengths(c.lengths),
        tokens(starts_of(lengths).back()),
        qk(random_bf16({tokens, shape.qk_width()}, c.scale)),
        qkv(random_bf16({tokens, shape.qkv_width()})),
        d_out(random_bf16({tokens, shape.q_width()})) {}

  // Sequence s alone.
  Pack alone(size_t s) const {
    Pack one = *this;
    const int64_t from = starts_of(lengths)[s], count = lengths[s];
    one.lengths = {lengths[s]};
    one.tokens = count;
    for (at::Tensor* t : {&one.qk, &one.qkv, &one.d_out}) *t = t->narrow(0, from, count).contiguous();
    return one;
  }

  AttentionShape shape;
  Lengths lengths;
  int64_t tokens;
  at::Tensor qk, qkv, d_out;
};

struct Results {
  at::Tensor out, lse, d_qkv;
};

Results run(cuda::PackedAttention& attention, const Pack& p) {
  const DeviceArray qk(p.qk), qkv(p.qkv), d_out(p.d_out), out(unwritten({p.tokens, p.shape.q_width()}));
  const DeviceArray lse(unwritten({p.tokens, p.shape.heads}, at::kFloat));
  const DeviceArray d_qkv(unwritten({p.tokens, p.shape.qkv_width()}));
  attention.set_pack(starts_of(p.lengths), nullptr);
  attention.forward(qk.data(), qkv.data(), out.data(), lse.f32(), nullptr);
  attention.backward(d_out.data(), qk.data(), qkv.data(), out.data(), lse.f32(), d_qkv.data(), nullptr);
  return {out.host(), lse.host(), d_qkv.host()};
}

Results twin(const Pack& p) {
  const auto starts = starts_of(p.lengths);
  const auto count = int64_t(p.lengths.size());
  const at::Tensor qk = p.qk.to(at::kFloat), qkv = p.qkv.to(at::kFloat), d_out = p.d_out.to(at::kFloat);
  const at::Tensor out = at::empty({p.tokens, p.shape.q_width()}), lse = at::empty({p.tokens, p.shape.heads});
  const at::Tensor d_qk = at::empty_like(qk), d_qkv = at::empty_like(qkv);
  cpu::attention(p.shape, qk.const_data_ptr<float>(), qkv.const_data_ptr<float>(), starts.data(), count,
                 out.data_ptr<float>(), lse.data_ptr<float>());
  cpu::attention_backward(p.shape, d_out.const_data_ptr<float>(), qk.const_data_ptr<float>(),
                          qkv.const_data_ptr<float>(), out.const_data_ptr<float>(),
                          lse.const_data_ptr<float>(), starts.data(), count, d_qk.data_ptr<float>(),
                          d_qkv.data_ptr<float>());
  d_qkv.narrow(1, 0, p.shape.qk_width()).copy_(d_qk);
  return {out, lse, d_qkv};
}

class GpuAttention : public GpuTest {};

TEST_F(GpuAttention, EqualsItsTwin) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(testing::Message() << c);
    const Pack pack(c);
    cuda::PackedAttention attention(c.shape);
    const Results got = run(attention, pack), want = twin(pack);
    EXPECT_LT(relative_error(got.out, want.out), 0.01);
    EXPECT_LT((got.lse - want.lse).abs().max().item<float>(), 1e-4);
    const int64_t k = c.shape.q_width(), v = c.shape.qk_width(), end = c.shape.qkv_width();
    for (const auto& [from, to] : {std::pair{int64_t(0), k}, {k, v}, {v, end}})
      EXPECT_LT(relative_error(got.d_qkv.slice(1, from, to), want.d_qkv.slice(1, from, to)), 0.02)
          << "columns from " << from;
  }
}

TEST_F(GpuAttention, RepeatsItsBits) {
  const Pack pack({{16, 4, 128}, {3000, 1100, 4096}});  // atomics hide in less
  cuda::PackedAttention attention(pack.shape);
  const Results first = run(attention, pack);
  for (int i = 0; i < 5; ++i) {
    const Results again = run(attention, pack);
    EXPECT_EQ(unequal_bits(again.out, first.out), 0);
    EXPECT_EQ(unequal_bits(again.lse, first.lse), 0);
    EXPECT_EQ(unequal_bits(again.d_qkv, first.d_qkv), 0);
  }
}

// Alone, a sequence is in another bucket of lengths and of their number.
TEST_F(GpuAttention, DoesNotDependOnThePack) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(testing::Message() << c);
    const Pack pack(c);
    cuda::PackedAttention attention(c.shape);
    const Results all = run(attention, pack);
    const auto starts = starts_of(c.lengths);
    for (size_t s = 0; s < std::min<size_t>(c.lengths.size(), 5); ++s) {
      const Results one = run(attention, pack.alone(s));
      EXPECT_EQ(unequal_bits(one.out, all.out.slice(0, starts[s], starts[s + 1])), 0) << "sequence " << s;
      EXPECT_EQ(unequal_bits(one.lse, all.lse.slice(0, starts[s], starts[s + 1])), 0) << "sequence " << s;
      EXPECT_EQ(unequal_bits(one.d_qkv, all.d_qkv.slice(0, starts[s], starts[s + 1])), 0) << "sequence " << s;
    }
  }
}

TEST_F(GpuAttention, BackwardInSmallCallsHasTheSameBits) {
  for (const Case& c :
       {Case{{16, 4, 128}, {100, 900, 200, 1100, 500, 700, 300}}, Case{{8, 8, 128}, {600, 1500, 40}}}) {
    const Pack pack(c);
    cuda::PackedAttention whole(c.shape), small(c.shape, 0, 1 << 20);
    const Results want = run(whole, pack), got = run(small, pack);
    EXPECT_EQ(unequal_bits(got.d_qkv, want.d_qkv), 0) << c;
    EXPECT_LT(small.workspace_bytes(), whole.workspace_bytes() / 2) << c;
  }
}

// The pack's sequences cut in pieces, each of which continues the one before it.
struct Pieces {
  std::vector<int32_t> starts{0}, prefixes;
  Pieces(const Lengths& lengths, int32_t most) {
    for (const int32_t length : lengths)
      for (int32_t from = 0; from < length; from += most) {
        starts.push_back(starts.back() + std::min(most, length - from));
        prefixes.push_back(from);
      }
  }
};

Results run_in_pieces(cuda::PackedAttention& attention, const Pack& p, const Pieces& pieces) {
  const SharedKeys shared = shared_keys(pieces.starts, pieces.prefixes);
  const auto count = int64_t(shared.rows.size());
  const DeviceArray qk(p.qk), qkv(p.qkv), d_out(p.d_out), out(unwritten({p.tokens, p.shape.q_width()}));
  const DeviceArray lse(unwritten({p.tokens, p.shape.heads}, at::kFloat));
  const DeviceArray d_qkv(unwritten({p.tokens, p.shape.qkv_width()}));
  const DeviceArray rows(ints(shared.rows)), copies(ints(shared.copies)), begins(ints(shared.begins));
  const DeviceArray keys(unwritten({count, p.shape.kv_width()})),
      d_keys(unwritten({count, p.shape.kv_width()}));
  attention.set_pack(pieces.starts, nullptr, shared);
  cuda::copy_keys(p.shape, qk.data(), qkv.data(), rows.i32(), count, keys.data(), nullptr);
  attention.forward(qk.data(), qkv.data(), out.data(), lse.f32(), nullptr, keys.data());
  attention.backward(d_out.data(), qk.data(), qkv.data(), out.data(), lse.f32(), d_qkv.data(), nullptr,
                     keys.data(), d_keys.data());
  cuda::add_key_gradients(p.shape, d_keys.data(), copies.i32(), begins.i32(), p.tokens, d_qkv.data(),
                          nullptr);
  return {out.host(), lse.host(), d_qkv.host()};
}

TEST_F(GpuAttention, BehindSharedKeysHasTheBitsOfTheWhole) {
  for (const Case& c : kCases)
    for (const int32_t most : {100, 128, 700}) {
      const Pieces pieces(c.lengths, most);
      if (!shared_keys(pieces.starts, pieces.prefixes).any()) continue;
      SCOPED_TRACE(testing::Message() << c << ", pieces of " << most);
      const Pack pack(c);
      cuda::PackedAttention attention(c.shape), small(c.shape, 0, 1 << 20);
      const Results whole = run(attention, pack), got = run_in_pieces(attention, pack, pieces);
      EXPECT_EQ(unequal_bits(got.out, whole.out), 0);
      EXPECT_EQ(unequal_bits(got.lse, whole.lse), 0);
      const Results want = twin(pack);
      const int64_t k = c.shape.q_width(), v = c.shape.qk_width(), end = c.shape.qkv_width();
      for (const auto& [from, to] : {std::pair{int64_t(0), k}, {k, v}, {v, end}})
        EXPECT_LT(relative_error(got.d_qkv.slice(1, from, to), want.d_qkv.slice(1, from, to)), 0.02)
            << "columns from " << from;
      EXPECT_EQ(unequal_bits(run_in_pieces(attention, pack, pieces).d_qkv, got.d_qkv), 0);
      EXPECT_EQ(unequal_bits(run_in_pieces(small, pack, pieces).d_qkv, got.d_qkv), 0);
      // A pack that shares nothing comes after one that does.
      EXPECT_EQ(unequal_bits(run(attention, pack).d_qkv, whole.d_qkv), 0);
    }
}

// The pack's keys and values in pages that lie in any order and hold not-a-numbers elsewhere.
struct PagedPack {
  explicit PagedPack(const Pack& p) {
    const auto sequences = int64_t(p.lengths.size());
    const int64_t most = (std::ranges::max(p.lengths) + cuda::kPageTokens - 1) / cuda::kPageTokens;
    table = at::randperm(sequences * most, at::kLong).to(at::kInt).view({sequences, most});
    memory = unwritten({sequences * most, p.shape.kv_heads * 2 * cuda::kPageTokens * p.shape.head_dim});
    for (size_t s = 0; s < p.lengths.size(); ++s)
      for (int32_t i = 0; i < p.lengths[s]; ++i) positions.push_back(i), rows.push_back(int32_t(s));
  }
  at::Tensor table, memory;
  std::vector<int32_t> positions, rows;
};

TEST_F(GpuAttention, OverPagesHasTheBitsOfThePack) {
  const Case more[] = {{{32, 8, 128}, {2047, 3, 1000}},
                       {{40, 8, 128}, {129, 640}},
                       {{12, 2, 128}, {300}, 4},
                       {{9, 3, 64}, {2047, 3, 1000}},
                       {{14, 2, 64}, {1500}}};
  std::vector<Case> cases(std::begin(kCases), std::end(kCases));
  cases.insert(cases.end(), std::begin(more), std::end(more));
  for (const Case& c : cases) {
    const Pack pack(c);
    const PagedPack paged(pack);
    const DeviceArray qk(pack.qk), qkv(pack.qkv), table(paged.table), memory(paged.memory);
    const DeviceArray positions(ints(paged.positions)), rows(ints(paged.rows));
    const DeviceArray out(unwritten({pack.tokens, c.shape.q_width()})),
        want(unwritten({pack.tokens, c.shape.q_width()}));
    const cuda::Pages pages{memory.data(), table.i32(), rows.i32(), paged.table.size(1)};
    cuda::PackedAttention attention(c.shape);
    attention.set_pack(starts_of(c.lengths), nullptr);
    attention.forward(qk.data(), qkv.data(), want.data(), nullptr, nullptr);
    cuda::write_pages(c.shape, qk.data(), qkv.data(), positions.i32(), pack.tokens, pages, nullptr);
    cuda::paged_attention(c.shape, qk.data(), positions.i32(), pack.tokens, pages, out.data(), nullptr);
    EXPECT_EQ(unequal_bits(out.host(), want.host()), 0) << c;
  }
}

// Neighbouring rows are of different sequences: a block goes from one to the next, over memory that it has
// cleared.
void expect_any_order(const Case& c) {
  const Pack pack(c);
  const PagedPack paged(pack);
  std::vector<int32_t> order(size_t(pack.tokens)), positions, rows;
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int32_t i) { return paged.positions[size_t(i)]; });
  for (int32_t i : order)
    positions.push_back(paged.positions[size_t(i)]), rows.push_back(paged.rows[size_t(i)]);
  const at::Tensor index = ints(order).to(at::kLong);
  const DeviceArray qk(pack.qk), qkv(pack.qkv), table(paged.table), memory(paged.memory);
  const DeviceArray in_place(ints(paged.positions)), of_place(ints(paged.rows));
  const DeviceArray ordered(pack.qk.index_select(0, index)), at(ints(positions)), of(ints(rows));
  cuda::Pages pages{memory.data(), table.i32(), of_place.i32(), paged.table.size(1)};
  cuda::write_pages(c.shape, qk.data(), qkv.data(), in_place.i32(), pack.tokens, pages, nullptr);
  cuda::PackedAttention attention(c.shape);
  const at::Tensor want = run(attention, pack).out.index_select(0, index);
  for (int64_t count : {pack.tokens, int64_t(500)}) {  // of the larger tile, and of the smaller
    const int64_t first = pack.tokens - count;
    pages.row = of.i32() + first;
    for (int repeat = 0; repeat < 20; ++repeat) {
      const DeviceArray out(unwritten({count, c.shape.q_width()}));
      cuda::paged_attention(c.shape, ordered.row(first), at.i32() + first, count, pages, out.data(), nullptr);
      ASSERT_EQ(unequal_bits(out.host(), want.narrow(0, first, count)), 0) << count << " rows";
    }
  }
}

TEST_F(GpuAttention, OverPagesTakesRowsInAnyOrder) {
  for (const AttentionShape& shape : {AttentionShape{32, 8, 128}, {32, 8, 64}, {9, 3, 64}, {14, 2, 64}}) {
    SCOPED_TRACE(testing::Message() << shape.heads << " heads of " << shape.head_dim);
    expect_any_order({shape, {700, 560, 645, 601}});
  }
}

// As decoding calls it: the last token of each sequence, padded with rows that are none.
void expect_one_row_a_sequence(const Case& c) {
  const Pack pack(c);
  const PagedPack paged(pack);
  const auto starts = starts_of(c.lengths);
  std::vector<int32_t> last, positions;
  for (size_t s = 0; s < c.lengths.size(); ++s)
    last.push_back(starts[s + 1] - 1), positions.push_back(c.lengths[s] - 1);
  const at::Tensor rows = ints(last).to(at::kLong);
  const at::Tensor none = unwritten({2, c.shape.qk_width()});
  positions.insert(positions.end(), {-1, -1});
  const DeviceArray all(pack.qk), qkv(pack.qkv), all_positions(ints(paged.positions)),
      all_rows(ints(paged.rows));
  const DeviceArray table(at::cat({paged.table, at::full({2, paged.table.size(1)}, -1, at::kInt)})),
      memory(paged.memory);
  cuda::Pages pages{memory.data(), table.i32(), all_rows.i32(), paged.table.size(1)};
  cuda::write_pages(c.shape, all.data(), qkv.data(), all_positions.i32(), pack.tokens, pages, nullptr);
  pages.row = nullptr;
  const DeviceArray qk(at::cat({pack.qk.index_select(0, rows), none})), at_positions(ints(positions));
  const DeviceArray out(unwritten({6, c.shape.q_width()}));
  cuda::paged_attention(c.shape, qk.data(), at_positions.i32(), 6, pages, out.data(), nullptr);
  cuda::PackedAttention attention(c.shape);
  const Results want = run(attention, pack);
  EXPECT_EQ(unequal_bits(out.host().narrow(0, 0, 4), want.out.index_select(0, rows)), 0);
  EXPECT_EQ(unequal_bits(out.host().narrow(0, 4, 2), at::zeros({2, c.shape.q_width()}, at::kBFloat16)), 0);
}

TEST_F(GpuAttention, OverPagesTakesOneRowASequence) {
  for (const AttentionShape& shape : {AttentionShape{8, 2, 128}, {9, 3, 64}, {14, 2, 64}, {32, 8, 64}}) {
    SCOPED_TRACE(testing::Message() << shape.heads << " heads of " << shape.head_dim);
    expect_one_row_a_sequence({shape, {1, 128, 300, 129}});
  }
}

}  // namespace
}  // namespace temper::policy
