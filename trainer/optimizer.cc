#include "trainer/optimizer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.h"
#include "policy/ops/parallel.h"
#include "policy/parameter_store.h"

namespace temper {
namespace {

constexpr int64_t kChunk = 1 << 14;  // elements; fixed, so that sums do not depend on the number of threads

double share_left(const std::string& schedule, double progress) {
  if (schedule == "linear") return 1 - progress;
  if (schedule == "cosine") return 0.5 * (1 + std::cos(std::numbers::pi * progress));
  TEMPER_CHECK(schedule == "constant", "schedule {}", schedule);
  return 1;
}

// f(begin, end) for chunks of [0, size), on any thread.
template <class F>
void for_each_chunk(int64_t size, const F& f) {
  cpu::parallel_tasks((size + kChunk - 1) / kChunk,
                      [&](int64_t i) { f(i * kChunk, std::min(size, (i + 1) * kChunk)); });
}

template <class T>
double squared_norm(const T* values, int64_t size) {
  std::vector<double> sums((size + kChunk - 1) / kChunk);
  for_each_chunk(size, [&](int64_t begin, int64_t end) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = begin; i < end; ++i) sum += double(values[i]) * double(values[i]);
    sums[size_t(begin / kChunk)] = sum;
  });
  double total = 0;
  for (double sum : sums) total += sum;
  return total;
}

// The factors of one update, the same for every element but for the decay.
struct Factors {
  double gradient_scale;  // of the clip
  double keep;            // 1 − lr · weight_decay
  double beta1, beta2;
  double step;             // lr / (1 − beta1^n)
  double root_correction;  // 1 / √(1 − beta2^n)
  double epsilon;
};

Factors factors(const OptimizerOptions& options, double lr, double norm, int64_t n) {
  return {.gradient_scale = options.clip > 0 && norm > options.clip ? options.clip / norm : 1,
          .keep = 1 - lr * options.weight_decay,
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .step = lr / (1 - std::pow(options.beta1, double(n))),
          .root_correction = 1 / std::sqrt(1 - std::pow(options.beta2, double(n))),
          .epsilon = options.epsilon};
}

// The gradients end as zeros: ATen's own zero_ would wake OpenMP's threads, which then spin beside ours.
template <class T>
void update_elements(T* weights, T* gradients, T* moment1, T* moment2, int64_t size, const Factors& f) {
  const T scale = T(f.gradient_scale), keep = T(f.keep), step = T(f.step), epsilon = T(f.epsilon);
  const T beta1 = T(f.beta1), beta2 = T(f.beta2), root_correction = T(f.root_correction);
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    const T gradient = scale * gradients[i];
    moment1[i] = beta1 * moment1[i] + (1 - beta1) * gradient;
    moment2[i] = beta2 * moment2[i] + (1 - beta2) * gradient * gradient;
    weights[i] = keep * weights[i] - step * moment1[i] / (std::sqrt(moment2[i]) * root_correction + epsilon);
    gradients[i] = 0;
  }
}

template <class T>
void update_all(ParameterStore& store, const Factors& decayed) {
  Factors plain = decayed;
  plain.keep = 1;
  T* weights = store.weights().data_ptr<T>();
  T* gradients = store.gradients().data_ptr<T>();
  T *moment1 = store.moment1().data_ptr<T>(), *moment2 = store.moment2().data_ptr<T>();
  for (const ParameterInfo& p : store.parameters())
    for_each_chunk(p.size, [&](int64_t begin, int64_t end) {
      const int64_t at = p.offset + begin;
      update_elements(weights + at, gradients + at, moment1 + at, moment2 + at, end - begin,
                      p.decays ? decayed : plain);
    });
}

}  // namespace

void OptimizerOptions::visit(OptionVisitor& v) {
  v.option("lr", lr, {.help = "peak learning rate", .min = 0});
  v.option("schedule", schedule,
           {.help = "of the learning rate after the warm-up", .choices = {"constant", "linear", "cosine"}});
  v.option("warmup", warmup, {.help = "share of the run with a rising learning rate", .min = 0, .max = 0.99});
  v.option("final_lr", final_lr, {.help = "share of lr that linear and cosine end at", .min = 0, .max = 1});
  v.option("beta1", beta1, {.help = "decay of the first moment", .min = 0, .max = 0.9999});
  v.option("beta2", beta2, {.help = "decay of the second moment", .min = 0, .max = 0.99999});
  v.option("epsilon", epsilon, {.help = "added to the root of the second moment", .min = 1e-30});
  v.option("weight_decay", weight_decay, {.help = "decoupled, per unit of lr; matrices only", .min = 0});
  v.option("clip", clip, {.help = "largest global gradient norm; 0: none", .min = 0});
}

double learning_rate(const OptimizerOptions& options, double progress) {
  if (progress < options.warmup) return options.lr * progress / options.warmup;
  const double decayed = std::clamp((progress - options.warmup) / (1 - options.warmup), 0.0, 1.0);
  return options.lr * (options.final_lr + (1 - options.final_lr) * share_left(options.schedule, decayed));
}

AdamW::AdamW(ParameterStore& parameters, OptimizerOptions options)
    : parameters_(parameters), options_(std::move(options)) {}

void AdamW::reset() {
  parameters_.moment1().zero_();
  parameters_.moment2().zero_();
  updates_ = 0;
}

double AdamW::update(double lr) {
  at::Tensor& gradients = parameters_.gradients();
  const double norm = AT_DISPATCH_FLOATING_TYPES(gradients.scalar_type(), "gradient norm", [&] {
    return std::sqrt(squared_norm(gradients.const_data_ptr<scalar_t>(), gradients.numel()));
  });
  if (!std::isfinite(norm)) {
    gradients.zero_();
    return norm;
  }
  ++updates_;
  AT_DISPATCH_FLOATING_TYPES(gradients.scalar_type(), "AdamW", [&] {
    update_all<scalar_t>(parameters_, factors(options_, lr, norm, updates_));
  });
  return norm;
}

}  // namespace temper
