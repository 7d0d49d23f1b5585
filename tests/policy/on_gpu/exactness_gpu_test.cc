#include "policy/ops/cuda/exactness.h"

#include "tests/policy/on_gpu/gpu_test.h"

namespace temper::policy {
namespace {

constexpr AttentionShape kHeads{8, 2, 128};

class GpuExactness : public GpuTest {};

TEST_F(GpuExactness, HoldsOnThisDevice) {
  cuda::Products products;
  cuda::PackedAttention attention(kHeads);
  const DeviceArray w(random_bf16({4096, 12288}, 0.02));
  for (const bool shared_keys : {false, true}) {
    const auto result = cuda::check_exactness(kHeads, {{4096, 6144, false}, {12288, 4096, true, w.data()}},
                                              shared_keys, products, attention, nullptr);
    EXPECT_TRUE(result.exact) << result.text;
  }
}

// Groups of 1, 5, 7 and 8, then those of small published models.
TEST_F(GpuExactness, HoldsForOtherGroups) {
  for (const AttentionShape& heads : {AttentionShape{4, 4, 128},
                                      {10, 2, 128},
                                      {28, 4, 128},
                                      {8, 1, 128},
                                      {9, 3, 64},
                                      {14, 2, 64},
                                      {32, 8, 64},
                                      {8, 8, 64}}) {
    cuda::Products products;
    cuda::PackedAttention attention(heads);
    const auto result =
        cuda::check_exactness(heads, {{3584, heads.qkv_width(), false}}, true, products, attention, nullptr);
    EXPECT_TRUE(result.exact) << heads.heads << " heads on " << heads.kv_heads << ": " << result.text;
  }
}

TEST_F(GpuExactness, NamesWhatDisagrees) {
  cuda::Products products;
  cuda::PackedAttention attention(kHeads, 0.0884f);  // in place of 0.088388
  const auto result = cuda::check_exactness(kHeads, {{512, 256, false}}, false, products, attention, nullptr);
  EXPECT_FALSE(result.exact);
  EXPECT_NE(result.text.find("cuDNN, packed attention"), std::string::npos) << result.text;
  EXPECT_EQ(result.text.find("cuBLASLt, product"), std::string::npos) << result.text;
}

TEST_F(GpuExactness, CountsUnequalBits) {
  const at::Tensor a = random_bf16({1000}), b = a.clone();
  for (const int64_t i : {0, 255, 256, 999}) b[i] += 1;
  const DeviceArray x(a), y(b), count(at::full({1}, 3, at::kInt));
  cuda::count_unequal(x.data(), y.data(), 1000, static_cast<uint32_t*>(count.data()), nullptr);
  EXPECT_EQ(count.host().item<int32_t>(), 3 + 4);
}

}  // namespace
}  // namespace temper::policy
