#include "policy/parameters/part_updates.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "policy/parameters/parameter_share.h"
#include "tests/policy/on_gpu/gpu_test.h"
#include "tests/policy/updates.h"

namespace temper::policy {
namespace {

class GpuPartUpdates : public GpuTest {};

// Of 60 million parameters, so that copies take longer than kernels, and whoever does not wait for them is found out.
ModelConfig wide_shape() {
  ModelConfig c;
  c.vocab_size = 8192, c.hidden_size = 1024, c.intermediate_size = 3072, c.num_hidden_layers = 4;
  c.num_attention_heads = 8, c.num_key_value_heads = 2, c.head_dim = 128;
  return c;
}

void expect_equal(ParameterStore& one, ParameterStore& other) {
  EXPECT_TRUE(at::equal(one.weights(), other.weights()));
  const std::vector<ParameterPart> a = one.parts(), b = other.parts();
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(at::equal(a[i].master.cpu(), b[i].master.cpu())) << a[i].parameter.name;
    EXPECT_TRUE(at::equal(a[i].moment1.cpu(), b[i].moment1.cpu())) << a[i].parameter.name;
    EXPECT_TRUE(at::equal(a[i].moment2.cpu(), b[i].moment2.cpu())) << a[i].parameter.name;
  }
}

TEST_F(GpuPartUpdates, HaveTheSameBitsWhereverTheStateLies) {
  ParameterStore here(wide_shape(), DType::kBF16, at::kCUDA);
  ParameterStore there(wide_shape(), DType::kBF16, at::kCUDA, alone(), 0, 0, true);
  for (ParameterStore* store : {&here, &there}) store->init_random(3);
  int number = 0;
  for (const int64_t piece : {int64_t(1) << 18, int64_t(1) << 20, kUpdatePiece})
    for (int repeat = 0; repeat < 3; ++repeat) {
      update(here, number, piece), update(there, number, piece);
      ++number;
    }
  EXPECT_TRUE(there.moment1().is_cpu() && there.moment1().is_pinned());
  expect_equal(there, here);
}

// What is written of a store with its state on the host is that state, without a copy.
TEST_F(GpuPartUpdates, OffloadedStateIsSavedFromWhereItLies) {
  ParameterStore here(wide_shape(), DType::kBF16, at::kCUDA);
  ParameterStore there(wide_shape(), DType::kBF16, at::kCUDA, alone(), 0, 0, true);
  for (ParameterStore* store : {&here, &there}) store->init_random(3), update(*store, 1);
  ShareCopy copy, reference;
  copy.take(here), reference.take(there);
  EXPECT_FALSE(copy.refers());
  EXPECT_TRUE(reference.refers());
  const auto copied = copy.tensors(), referred = reference.tensors();
  ASSERT_EQ(copied.size(), referred.size());
  for (const auto& [name, tensor] : copied)
    EXPECT_TRUE(std::ranges::equal(tensor.data, referred.at(name).data)) << name;
}

}  // namespace
}  // namespace temper::policy
