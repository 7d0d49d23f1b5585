#include "policy/bench/kernel_bench.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "policy/bench/kernel_bench_case.h"
#include "policy/ops/cuda/bias.h"

namespace temper::policy {
namespace {

using namespace cuda;

constexpr int64_t kRotated = int64_t(512) << 20;  // bytes, ten times an H200's cache
constexpr int kMostSets = 64, kRounds = 7;
constexpr DType kType = DType::kBF16;
constexpr int64_t kTableRows = 32768;

// Buffers of normal numbers in bf16; as f32 they are of the same size.
std::vector<std::vector<Memory>> buffer_sets(const Bench& bench) {
  const int64_t bytes = std::accumulate(bench.buffers.begin(), bench.buffers.end(), int64_t(0));
  std::vector<std::vector<Memory>> sets(size_t(std::clamp<int64_t>(kRotated / bytes + 1, 2, kMostSets)));
  for (std::vector<Memory>& set : sets)
    for (const int64_t size : bench.buffers) {
      set.emplace_back(size);
      if (int(set.size()) - 1 == bench.squares)
        check(cudaMemset(set.back().data(), 0x3c, size_t(size)), "kernel bench");
      else
        fill_normal(kType, set.back().data(), size / 2, 1, 1, nullptr);
    }
  return sets;
}

// A call on each set of buffers, as a graph: the host's launches are not what is measured.
cudaGraphExec_t capture(const Bench& bench, const std::vector<std::vector<Memory>>& sets,
                        cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  const auto call = [&](const std::vector<Memory>& set) {
    std::vector<void*> pointers;
    for (const Memory& memory : set) pointers.push_back(memory.data());
    bench.call(pointers.data(), stream);
  };
  call(sets.front());  // plans are made by the first call
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  for (const std::vector<Memory>& set : sets) call(set);
  check(cudaStreamEndCapture(stream, &graph), "capture");
  check(cudaGraphInstantiate(&exec, graph, 0), "capture");
  check(cudaGraphDestroy(graph), "capture");
  return exec;
}

OpTime measure(const Bench& bench, cudaStream_t stream) {
  const std::vector<std::vector<Memory>> sets = buffer_sets(bench);
  check(cudaDeviceSynchronize(), "kernel bench");
  cudaGraphExec_t graph = capture(bench, sets, stream);
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  std::vector<float> times_ms;
  for (int round = 0; round <= kRounds; ++round) {  // the first one warms up
    check(cudaEventRecord(begin, stream), "event");
    check(cudaGraphLaunch(graph, stream), bench.name.c_str());
    check(cudaEventRecord(end, stream), "event");
    check(cudaEventSynchronize(end), bench.name.c_str());
    float time_ms = 0;
    check(cudaEventElapsedTime(&time_ms, begin, end), "event");
    if (round > 0) times_ms.push_back(time_ms);
  }
  std::nth_element(times_ms.begin(), times_ms.begin() + kRounds / 2, times_ms.end());
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphExecDestroy(graph);
  return {bench.name, double(times_ms[kRounds / 2]) * 1e-3 / double(sets.size()), bench.bytes,
          bench.operations};
}

Bench copy_bench() {
  constexpr int64_t kBytes = int64_t(256) << 20;
  return {"copy", 2 * kBytes, {kBytes, kBytes}, [](void* const* b, cudaStream_t stream) {
            check(cudaMemcpyAsync(b[1], b[0], kBytes, cudaMemcpyDeviceToDevice, stream), "copy");
          }};
}

std::vector<Bench> norm_benches(int64_t rows, int64_t width) {
  const int64_t row = 2 * width, x = rows * row, partial = kNormBlocks * width * 4;
  return {{"rms_norm",
           2 * x + row,
           {x, row, x},
           [=](void* const* b, cudaStream_t s) {
             rms_norm(kType, b[0], nullptr, b[1], 1e-6, rows, width, b[2], s);
           }},
          {"rms_norm_backward",
           4 * x + row + partial,
           {x, x, row, x, partial},
           [=](void* const* b, cudaStream_t s) {
             rms_norm_backward(kType, b[0], b[1], nullptr, b[2], 1e-6, rows, width, b[3], as<float>(b[4]), s);
           }},
          {"add_blocks", partial + 8 * width, {partial, 4 * width}, [=](void* const* b, cudaStream_t s) {
             add_blocks(as<float>(b[0]), kNormBlocks, width, width, true, as<float>(b[1]), s);
           }}};
}

std::vector<Bench> swiglu_benches(int64_t rows, int64_t width) {
  const int64_t y = 2 * rows * width;
  return {{"swiglu",
           3 * y,
           {2 * y, y},
           [=](void* const* b, cudaStream_t s) { swiglu(kType, b[0], rows, width, b[1], s); }},
          {"swiglu_backward", 6 * y, {y, 2 * y, y}, [=](void* const* b, cudaStream_t s) {
             swiglu_backward(kType, b[0], b[1], rows, width, b[2], s);
           }}};
}

std::vector<Bench> bias_benches(int64_t rows, int64_t width) {
  const int64_t x = 2 * rows * width, partial = kNormBlocks * width * 4;
  return {{"add_bias_backward",
           x + 2 * partial + 8 * width,
           {x, partial, 4 * width},
           [=](void* const* b, cudaStream_t s) {
             add_bias_backward(kType, b[0], rows, width, as<float>(b[1]), true, as<float>(b[2]), s);
           }}};
}

// Ids of the backward are as many distinct ones as there are rows.
std::vector<Bench> embedding_benches(int64_t rows, int64_t width, const int32_t* ids,
                                     const int32_t* counting) {
  const int64_t x = 2 * rows * width, distinct = std::min(rows, kTableRows);
  return {{"embedding",
           2 * x,
           {kTableRows * width * 2, x},
           [=](void* const* b, cudaStream_t s) { embedding(kType, b[0], ids, rows, width, b[1], s); }},
          {"embedding_backward",
           distinct * width * 10,
           {x, kTableRows * width * 4},
           [=](void* const* b, cudaStream_t s) {
             embedding_backward(kType, b[0], counting, ids, counting, distinct, width, as<float>(b[1]), s);
           }}};
}

struct RopeInputs {
  const float* table;
  const int32_t *positions, *pages;
  int64_t max_pages;
};

std::vector<Bench> rope_benches(int64_t rows, int64_t width, const RopeInputs& in) {
  const int64_t heads = width / 128, kv_heads = std::max<int64_t>(1, heads / 4);
  const AttentionShape shape = {heads, kv_heads, 128};
  const int64_t head = 256 * rows, qk = (heads + kv_heads) * head, qkv = qk + kv_heads * head;
  const int64_t pages = kPageTokens * 2 * kv_heads * 256 * in.max_pages;
  const auto forward = [=](const Pages& p, void* const* b, cudaStream_t s) {
    qk_norm_rope(kType, shape, b[0], b[0], 1e-6, in.table, b[1], in.positions, rows, p, b[2], s);
  };
  return {
      {"qk_norm_rope", 2 * qk, {256, qkv, qk}, [=](void* const* b, cudaStream_t s) { forward({}, b, s); }},
      {"qk_norm_rope, pages",
       2 * qk + 3 * kv_heads * head,
       {256, qkv, qk, pages},
       [=](void* const* b, cudaStream_t s) {
         forward({b[3], in.pages, in.positions + rows, in.max_pages}, b, s);
       }},
      {"qk_norm_rope_backward",
       3 * qk,
       {256, qkv, qkv, kNormBlocks * 256 * 4},
       [=](void* const* b, cudaStream_t s) {
         qk_norm_rope_backward(kType, shape, b[0], b[0], 1e-6, in.table, b[1], in.positions, rows, b[2],
                               as<float>(b[3]), s);
       }}};
}

std::vector<Bench> head_benches(int64_t rows, int64_t vocab, const int32_t* targets, const Draw* draws) {
  const int64_t scored = std::min<int64_t>(rows, 4096), drawn = std::min<int64_t>(rows, 256);
  const int64_t logits = scored * vocab * 2, few = drawn * vocab * 2, column = 4 * scored;
  return {{"score_rows",
           logits,
           {logits, column, column},
           [=](void* const* b, cudaStream_t s) {
             score_rows(kType, b[0], scored, vocab, vocab, 1, targets, as<float>(b[1]), as<float>(b[2]), s);
           }},
          {"score_rows_backward",
           2 * logits,
           {logits, column, column},
           [=](void* const* b, cudaStream_t s) {
             const float *x = as<float>(b[1]), *y = as<float>(b[2]);
             score_rows_backward(kType, b[0], scored, vocab, vocab, 1, targets, x, y, x, y, s);
           }},
          {"sample_rows", few, {few, 4 * drawn, 4 * drawn}, [=](void* const* b, cudaStream_t s) {
             sample_rows(kType, b[0], vocab, vocab, draws, drawn, as<int32_t>(b[1]), as<float>(b[2]), s);
           }}};
}

std::vector<Bench> optimizer_benches(int64_t size) {
  const AdamWFactors factors = {1, 1, 0.9f, 0.999f, 1e-6f, 1, 1e-8f};
  return {{"adamw",
           34 * size,
           {4 * size, 2 * size, 4 * size, 4 * size, 4 * size},
           [=](void* const* b, cudaStream_t s) {
             adamw(kType, as<float>(b[0]), b[1], as<float>(b[2]), as<float>(b[3]), as<float>(b[4]), size,
                   factors, s);
           },
           4},
          {"squared_norm",
           4 * size,
           {4 * size, 8 * kSumBlocks, 8},
           [=](void* const* b, cudaStream_t s) {
             squared_norm(as<float>(b[0]), size, as<double>(b[1]), as<double>(b[2]), s);
           }},
          {"fill_normal", 2 * size, {2 * size}, [=](void* const* b, cudaStream_t s) {
             fill_normal(kType, b[0], size, 1, 1, s);
           }}};
}

}  // namespace

std::vector<OpTime> bench_kernels(const KernelBenchShape& shape) {
  const int64_t rows = shape.rows, width = shape.width, max_pages = (rows + kPageTokens - 1) / kPageTokens;
  // Rows of a table in an order that no cache foresees; positions in order, as of one sequence, before zeros
  // that say which.
  const Memory ids = filled<int32_t>(rows, [](int64_t i) { return i * 12345 % kTableRows; });
  const Memory counting = filled<int32_t>(rows + 1, [](int64_t i) { return i; });
  const Memory positions = filled<int32_t>(2 * rows, [&](int64_t i) { return i < rows ? i : 0; });
  const Memory pages = filled<int32_t>(max_pages, [](int64_t i) { return i; });
  const Memory targets = filled<int32_t>(rows, [&](int64_t i) { return i * 12345 % shape.vocab; });
  const Memory draws =
      filled<Draw>(rows, [](int64_t i) { return Draw{int32_t(i % 256), 0, 1, float(i % 97) / 97}; });
  std::vector<float> angles(size_t(rows * 128));
  fill_rope_table(rows, rope_frequencies({.head_dim = 128, .rope_theta = 1e6}), angles.data());
  const Memory table = filled<float>(rows * 128, [&](int64_t i) { return angles[size_t(i)]; });

  std::vector<Bench> benches = {copy_bench()};
  const auto add = [&](std::vector<Bench> more) { benches.insert(benches.end(), more.begin(), more.end()); };
  add(norm_benches(rows, width));
  add(bias_benches(rows, width));
  add(swiglu_benches(rows, 3 * width));
  add(embedding_benches(rows, width, as<int32_t>(ids.data()), as<int32_t>(counting.data())));
  add(rope_benches(
      rows, width,
      {as<float>(table.data()), as<int32_t>(positions.data()), as<int32_t>(pages.data()), max_pages}));
  add(head_benches(rows, shape.vocab, as<int32_t>(targets.data()), as<Draw>(draws.data())));
  add(optimizer_benches(rows * width));
  add(product_benches(rows, width, shape.vocab));
  add(attention_benches(rows, width));

  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  std::vector<OpTime> times;
  for (const Bench& bench : benches) times.push_back(measure(bench, stream));
  check(cudaStreamDestroy(stream), "stream");
  return times;
}

}  // namespace temper::policy
