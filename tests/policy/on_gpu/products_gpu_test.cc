#include "policy/ops/cuda/products/products.h"

#include "tests/policy/on_gpu/gpu_test.h"

namespace temper::policy {
namespace {

class GpuProducts : public GpuTest {};

struct Shape {
  int64_t rows, k, n;
};
// Odd numbers of rows too: gradients of weights sum over all tokens of a pack. The last ones share an
// algorithm.
const Shape kShapes[] = {{32, 256, 384}, {96, 1024, 640},  {33, 128, 96},    {1, 64, 64},
                         {77, 200, 72},  {1000, 512, 256}, {1003, 512, 256}, {897, 512, 256}};

constexpr double kHalfUnit = 0x1p-8;  // of a bf16, beside the largest value

TEST_F(GpuProducts, EqualTheirsInDouble) {
  cuda::Products products;
  for (const auto& [rows, k, n] : kShapes) {
    SCOPED_TRACE(testing::Message() << rows << " rows, k " << k << ", n " << n);
    const at::Tensor x = random_bf16({rows, k}), w = random_bf16({n, k}), residual = random_bf16({rows, n});
    const at::Tensor dy = random_bf16({rows, n}), dw = at::randn({n, k}, at::kFloat);
    const at::Tensor x64 = x.to(at::kDouble), w64 = w.to(at::kDouble), dy64 = dy.to(at::kDouble);
    const DeviceArray gx(x), gw(w), gresidual(residual), gdy(dy), gy(unwritten({rows, n}));
    const DeviceArray gdx(unwritten({rows, k})), gdw(dw);

    products.linear(gx.data(), gw.data(), nullptr, nullptr, rows, k, n, gy.data(), nullptr);
    EXPECT_LT(relative_error(gy.host(), x64.mm(w64.t())), kHalfUnit);
    products.linear(gx.data(), gw.data(), nullptr, gresidual.data(), rows, k, n, gy.data(), nullptr);
    EXPECT_LT(relative_error(gy.host(), x64.mm(w64.t()) + residual.to(at::kDouble)), kHalfUnit);
    products.linear_backward_input(gdy.data(), gw.data(), rows, k, n, gdx.data(), nullptr);
    EXPECT_LT(relative_error(gdx.host(), dy64.mm(w64)), kHalfUnit);
    for (int times = 1; times <= 2; ++times) {
      products.linear_backward_weight(gdy.data(), gx.data(), rows, k, n, true, gdw.f32(), nullptr);
      EXPECT_LT(relative_error(gdw.host(), dw.to(at::kDouble) + times * dy64.t().mm(x64)), 1e-5);
    }
    const DeviceArray zeros(at::zeros({n, k}, at::kFloat)), anew(at::full({n, k}, NAN, at::kFloat));
    products.linear_backward_weight(gdy.data(), gx.data(), rows, k, n, true, zeros.f32(), nullptr);
    products.linear_backward_weight(gdy.data(), gx.data(), rows, k, n, false, anew.f32(), nullptr);
    EXPECT_TRUE(at::equal(anew.host(), zeros.host()));
  }
}

// Of small integers all sums are exact in f32. A product that was rounded before its bias came would lose
// what 256 and 1/2 differ by, so this tells one rounding from two.
TEST_F(GpuProducts, AddTheBiasBeforeTheyRound) {
  cuda::Products products;
  for (const auto& [rows, k, n] : kShapes) {
    const auto integers = [](at::IntArrayRef sizes) {
      return at::randint(-4, 5, sizes, at::kFloat).to(at::kBFloat16);
    };
    const at::Tensor x = integers({rows, k}), w = integers({n, k}), residual = integers({rows, n});
    const at::Tensor bias = (integers({n}).to(at::kFloat) / 8).to(at::kBFloat16);
    const at::Tensor sum = x.to(at::kDouble).mm(w.to(at::kDouble).t()) + bias.to(at::kDouble);
    const DeviceArray gx(x), gw(w), gbias(bias), gresidual(residual), gy(unwritten({rows, n}));
    products.linear(gx.data(), gw.data(), gbias.data(), nullptr, rows, k, n, gy.data(), nullptr);
    EXPECT_EQ(unequal_bits(gy.host(), sum.to(at::kBFloat16)), 0) << rows << " rows, k " << k << ", n " << n;
    products.linear(gx.data(), gw.data(), gbias.data(), gresidual.data(), rows, k, n, gy.data(), nullptr);
    EXPECT_EQ(unequal_bits(gy.host(), (sum + residual.to(at::kDouble)).to(at::kBFloat16)), 0)
        << rows << " rows, k " << k << ", n " << n << " and a residual";
  }
}

TEST_F(GpuProducts, AddToTheResidualInPlace) {
  for (const auto& [rows, k, n] : kShapes) {
    cuda::Products products;  // so that the first product of a shape, which is tried out, is the one in place
    const DeviceArray x(random_bf16({rows, k})), w(random_bf16({n, k})), apart(unwritten({rows, n}));
    const at::Tensor residual = random_bf16({rows, n});
    const DeviceArray in_place(residual), kept(residual), bias(random_bf16({n}));
    products.linear(x.data(), w.data(), bias.data(), in_place.data(), rows, k, n, in_place.data(), nullptr);
    products.linear(x.data(), w.data(), bias.data(), kept.data(), rows, k, n, apart.data(), nullptr);
    EXPECT_EQ(unequal_bits(in_place.host(), apart.host()), 0) << rows << " rows, k " << k << ", n " << n;
    EXPECT_EQ(unequal_bits(kept.host(), residual), 0);
  }
}

// With the row counts of decoding, of prefill and of training; long sums, where splitting them would tempt
// most.
TEST_F(GpuProducts, RowsDoNotDependOnTheirNumber) {
  cuda::Products products;
  constexpr int64_t kMost = 8192;
  for (const auto& [k, n] : {std::pair<int64_t, int64_t>{4096, 6144},
                             {4096, 4096},
                             {12288, 4096},
                             {1024, 512},
                             {576, 960},
                             {1536, 576},
                             {4864, 896},
                             {896, 9728},
                             {8192, 2048}}) {
    const DeviceArray x(random_bf16({kMost, k})), w(random_bf16({n, k}, 0.02)),
        residual(random_bf16({kMost, n}));
    const DeviceArray y(unwritten({kMost, n})), bias(random_bf16({n}));
    for (const auto& [adds, biased] : {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
      const void* const b = biased ? bias.data() : nullptr;
      products.linear(x.data(), w.data(), b, adds ? residual.data() : nullptr, kMost, k, n, y.data(),
                      nullptr);
      const at::Tensor all = y.host();
      for (const int64_t rows : {32, 64, 96, 128, 256, 512, 1024, 4064})
        for (const int64_t from : {int64_t(0), kMost - rows}) {
          products.linear(x.row(from), w.data(), b, adds ? residual.row(from) : nullptr, rows, k, n, y.data(),
                          nullptr);
          EXPECT_EQ(unequal_bits(y.host().narrow(0, 0, rows), all.narrow(0, from, rows)), 0)
              << rows << " rows from " << from << ", k " << k << ", n " << n << ", residual " << adds
              << ", bias " << biased;
        }
    }
  }
}

// Large products prefer other algorithms than small ones: it must not matter which.
TEST_F(GpuProducts, GradientsHaveTheSameBitsWhateverTheAlgorithm) {
  constexpr int64_t kRows = 8192, kFew = 1024, kK = 4096, kN = 6144;
  cuda::Products products;
  const DeviceArray dy(random_bf16({kRows, kN})), x(random_bf16({kRows, kK})), w(random_bf16({kN, kK}, 0.02));
  const DeviceArray dx(unwritten({kRows, kK})), dw(at::zeros({kN, kK}, at::kFloat));
  products.linear_backward_input(dy.data(), w.data(), kRows, kK, kN, dx.data(), nullptr);
  products.linear_backward_weight(dy.data(), x.data(), kRows, kK, kN, true, dw.f32(), nullptr);
  const at::Tensor all = dx.host(), chosen = dw.host();
  for (const int64_t rows : {int64_t(64), kFew}) {
    products.linear_backward_input(dy.data(), w.data(), rows, kK, kN, dx.data(), nullptr);
    EXPECT_EQ(unequal_bits(dx.host().narrow(0, 0, rows), all.narrow(0, 0, rows)), 0) << rows;
  }
  // Rows of dw by themselves are a small product, which takes the library's first choice.
  const DeviceArray few_dy(dy.host().narrow(1, 0, kFew / 32).contiguous());
  const DeviceArray few_dw(at::zeros({kFew / 32, kK}, at::kFloat));
  products.linear_backward_weight(few_dy.data(), x.data(), kRows, kK, kFew / 32, true, few_dw.f32(), nullptr);
  EXPECT_EQ(unequal_bits(few_dw.host(), chosen.narrow(0, 0, kFew / 32)), 0);
}

TEST_F(GpuProducts, RunInAGraph) {
  constexpr int64_t kRows = 64, kK = 256, kN = 512;
  cuda::Products products;
  const DeviceArray x(random_bf16({kRows, kK})), w(random_bf16({kN, kK})), y(unwritten({kRows, kN}));
  const DeviceArray replayed(unwritten({kRows, kN}));
  cudaStream_t stream;
  cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  cudaGraph_t graph;
  cudaGraphExec_t runnable;
  cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  products.linear(x.data(), w.data(), nullptr, nullptr, kRows, kK, kN, replayed.data(),
                  stream);  // the first of its shape
  cuda::check(cudaStreamEndCapture(stream, &graph), "capture");
  cuda::check(cudaGraphInstantiate(&runnable, graph, 0), "graph");
  cuda::check(cudaGraphLaunch(runnable, stream), "graph");
  cuda::check(cudaStreamSynchronize(stream), "graph");
  products.linear(x.data(), w.data(), nullptr, nullptr, kRows, kK, kN, y.data(), stream);
  cuda::check(cudaStreamSynchronize(stream), "product");
  EXPECT_EQ(unequal_bits(replayed.host(), y.host()), 0);
  cudaGraphExecDestroy(runnable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

}  // namespace
}  // namespace temper::policy
