// CUDA embedding and its backward against the CPU's.

#include "policy/ops/cpu/embedding.h"
#include "tests/policy/on_gpu/gpu_test.h"

namespace temper::policy {
namespace {

using GpuEmbedding = GpuOps;

constexpr int64_t kVocab = 50;
const std::pair<int64_t, int64_t> kSizes[] = {{1, 8}, {3, 40}, {1000, 128}, {129, 1000}, {33, 4096}};

// Half of the ids are the same one.
at::Tensor some_ids(int64_t rows) {
  const at::Tensor ids = at::randint(kVocab, {rows}, at::kInt);
  return at::where(at::rand({rows}) < 0.5, at::full({rows}, 7, at::kInt), ids);
}

TEST_P(GpuEmbedding, PicksRows) {
  for (const auto& [rows, width] : kSizes) {
    const at::Tensor table = random({kVocab, width}), ids = some_ids(rows), like = random({rows, width});
    const DeviceArray gtable(table), gids(ids), gx(like);
    cuda::embedding(GetParam(), gtable.data(), gids.i32(), rows, width, gx.data(), nullptr);
    EXPECT_TRUE(same_bits(gx.host(), table.index_select(0, ids).contiguous())) << rows << " x " << width;
  }
}

TEST_P(GpuEmbedding, BackwardEqualsItsTwin) {
  for (const auto& [rows, width] : kSizes) {
    const at::Tensor dx = random({rows, width}), ids = some_ids(rows), d_table = at::randn({kVocab, width});
    const at::Tensor order = std::get<1>(at::sort(ids, std::optional<bool>(true), 0)).to(at::kInt);
    const auto [distinct, inverse, counts] = at::unique_consecutive(ids.index_select(0, order), false, true);
    const at::Tensor begins = at::cat({at::zeros({1}, at::kLong), counts.cumsum(0)}).to(at::kInt);
    const DeviceArray gdx(dx), gorder(order), gids(distinct.to(at::kInt)), gbegins(begins), gtable(d_table);
    cuda::embedding_backward(GetParam(), gdx.data(), gorder.i32(), gids.i32(), gbegins.i32(),
                             distinct.numel(), width, gtable.f32(), nullptr);
    const at::Tensor dx64 = doubles(dx), size64 = dx64.abs(), expected = doubles(d_table),
                     size = doubles(d_table).abs();
    const int32_t* host_ids = ids.const_data_ptr<int32_t>();
    cpu::embedding_backward(data(dx64), host_ids, rows, width, data(expected));
    cpu::embedding_backward(data(size64), host_ids, rows, width, data(size));
    expect_close(gtable.host(), expected, size, double(rows), fmt::format("{} x {}", rows, width));
  }
}

TEMPER_BOTH_TYPES(GpuEmbedding);

}  // namespace
}  // namespace temper::policy
