// Outputs against what is right, on a GPU: bound after bound, each of which costs more than the one before.

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "env/oracle/compare.h"
#include "env/oracle/gpu_oracle.h"
#include "env/oracle/tolerance.h"

namespace temper::env {
namespace {

constexpr uint64_t kRoundingSeed = 0x7E3;  // no secret
constexpr int64_t kReportElements = int64_t{1} << 22;
constexpr int64_t kUnwrittenNear = 16;

CUdeviceptr address_of(const at::Tensor& tensor) { return CUdeviceptr(tensor.data_ptr()); }

// The bits of elements on the host, those of short floats in the low half.
std::vector<uint32_t> bits_of(const at::Tensor& elements) {
  std::vector<uint32_t> bits(size_t(elements.numel()));
  const auto* at = static_cast<const uint8_t*>(elements.const_data_ptr());
  const size_t size = elements.element_size();
  for (size_t i = 0; i < bits.size(); ++i) std::memcpy(&bits[i], at + size * i, size);
  return bits;
}

// For reports: the bits of elements as f32, or as integers, where nobody has written them, and others
// elsewhere.
std::vector<uint32_t> unwritten_bits(const std::vector<bool>& alone, const at::Tensor& elements) {
  std::vector<uint32_t> bits = bits_of(elements);
  for (size_t i = 0; i < bits.size(); ++i)
    if (!alone[i]) bits[i] = ~bits[i];
  return bits;
}

// What is too large for an output's type is right as an infinity.
at::Tensor rounded_where_infinite(const at::Tensor& expected, at::ScalarType type) {
  const at::Tensor wide = expected.to(at::kDouble), rounded = wide.to(type).to(at::kDouble);
  return at::where(rounded.isfinite(), wide, rounded).contiguous();
}

}  // namespace

CompareResult GpuOracle::compare_with(const CompareSpec& spec, CUdeviceptr got, const at::Tensor& right) {
  result_.zero_();
  tools_.compare(spec, got, address_of(right), address_of(result_));
  CompareResult found;
  TEMPER_GPU(cuMemcpyDtoH, &found, address_of(result_), sizeof found);
  return found;
}

CompareSpec GpuOracle::strict_spec(const Case& drawn, size_t output) {
  const Task& task = tasks_[task_];
  const GpuDraw& draw = drawn.draw;
  const at::Tensor got = exchanged(drawn, output);
  CompareSpec spec{.elements = got.numel(), .type = task.outputs[output].type};
  if (!is_float(task.outputs[output].type)) return spec;
  spec.scale = scales({task_, draw.shape, draw.magnitude})[output];
  spec.relative = strict_error(task, output, shape_of(task, draw.shape));
  return spec;
}

Movements& GpuOracle::movements(const Case& drawn, Right& right) const {
  if (!right.movements) {
    const Task& task = tasks_[task_];
    const RoundingErrors errors =
        drawn.draw.plain() ? kLossesAlone : rounding_errors(task, shape_of(task, drawn.draw.shape));
    const auto rounded = [&inputs = drawn.inputs, &reference = references_[task_], errors](uint64_t key) {
      return in_widest([&](at::ScalarType type) { return reference.rounded(inputs, errors, key, type); });
    };
    right.movements.emplace(rounded, right.expected, kRoundingSeed);
  }
  return *right.movements;
}

// What was given, with what is right where that is off by no more than the bound and what the reference moves
// as its inputs are rounded once more (sensitivity.h).
at::Tensor GpuOracle::excused(const Case& drawn, size_t output, const at::Tensor& right,
                              const at::Tensor& movement, const CompareSpec& spec) const {
  const at::Tensor got = exchanged(drawn, output), wanted = right.to(at::kDouble);
  const at::Tensor moved = kMovements * movement.to(at::kDouble);
  const at::Tensor allowed =
      spec.relative * (wanted.abs() + spec.scale) + at::where(moved.isfinite(), moved, 0.0);
  const at::Tensor inside = wanted.isfinite() & ((got.to(at::kDouble) - wanted).abs() <= allowed);
  return at::where(inside, wanted.to(got.scalar_type()), got).contiguous();
}

// The most that a baseline's elements are off, in units of |expected| and the output's scale.
double GpuOracle::error_of(const at::Tensor& baseline, const at::Tensor& wanted, CompareSpec spec) {
  constexpr ElementType kTypes[] = {ElementType::kF32, ElementType::kBF16, ElementType::kF16};
  spec.type = *std::ranges::find_if(
      kTypes, [&](ElementType type) { return dtype_of(type) == baseline.scalar_type(); });
  spec.relative = 1;
  spec.finite_only = 1;
  return std::bit_cast<float>(uint32_t(compare_with(spec, address_of(baseline), wanted).worst >> 32));
}

CompareResult GpuOracle::compare_output(Case& drawn, size_t output, Right& right, CompareSpec& spec) {
  const ElementType type = tasks_[task_].outputs[output].type;
  const at::Tensor& wanted = right.expected[output];
  const CUdeviceptr got = address_of(exchanged(drawn, output));
  spec = strict_spec(drawn, output);
  const CompareResult strict = compare_with(spec, got, wanted);
  if (strict.wrong == 0 || !is_float(type) || unwritten(drawn, output, strict)) return strict;
  // Only now is it worth asking how wrong the baseline is on this very draw.
  const double eager = error_of(results(drawn)[output], wanted, spec);
  double single = eager;
  if (type != ElementType::kF32) {
    const at::Tensor wide = references_[task_].wide(drawn.inputs, at::kFloat)[output];
    single = error_of(wide.to(at::kFloat).contiguous(), wanted, spec);
  }
  spec.relative = allowed_error(spec.relative, type, single, eager);
  CompareResult found = compare_with(spec, got, wanted);
  if (found.wrong == 0) return found;
  movements(drawn, right).explain(output, [&](const at::Tensor& movement) {
    const at::Tensor others = excused(drawn, output, wanted, movement, spec);
    found = compare_with(spec, address_of(others), wanted);
    return double(found.wrong) / double(wanted.numel());
  });
  return found;
}

// On the host, of a part of a large output: that of its first elements, or where the worst one lies.
OutputReport GpuOracle::report(const Case& drawn, size_t output, const at::Tensor& right,
                               const CompareSpec& spec, const CompareResult& found) const {
  const int64_t worst = int64_t(~uint32_t(found.worst)), first = worst / kReportElements * kReportElements;
  const int64_t n = std::min(right.numel() - first, kReportElements);
  const auto part = [&](const at::Tensor& whole) {
    return whole.flatten().narrow(0, first, n).cpu().contiguous();
  };
  const at::Tensor got = part(exchanged(drawn, output)), expected = part(right);
  const auto alone =
      left_alone(spec.type, filled_elements(fill_of(drawn.draw), output, spec.type, first, n), bits_of(got));
  OutputReport report;
  if (spec.type == ElementType::kI32) {
    const at::Tensor wide = expected.to(at::kLong);
    report = report_i32(got.const_data_ptr<int32_t>(), wide.const_data_ptr<int64_t>(), n, first,
                        unwritten_bits(alone, got).data());
  } else {
    const at::Tensor narrow = got.to(at::kFloat).contiguous(),
                     wide = rounded_where_infinite(expected, got.scalar_type());
    report = report_f32(narrow.const_data_ptr<float>(), wide.const_data_ptr<double>(), n,
                        {spec.relative, spec.scale}, first, unwritten_bits(alone, narrow).data());
  }
  report.wrong = int64_t(found.wrong);
  return report;
}

// Names the first output that is wrong, and reports all.
bool GpuOracle::compare(Case& drawn, GpuOracleReply& reply) {
  Right right{exact(drawn), std::nullopt};
  bool all_right = true;
  for (size_t output = 0; output < right.expected.size(); ++output) {
    CompareSpec spec;
    const at::Tensor& wanted = right.expected[output];
    const CompareResult found = compare_output(drawn, output, right, spec);
    if (found.wrong == 0) continue;
    reply.report.output[output] = report(drawn, output, wanted, spec, found);
    if (!std::exchange(all_right, false)) continue;
    reply.tensor = int32_t(output);
    reply.wrong = int64_t(found.wrong);
    reply.index = int64_t(~uint32_t(found.worst));
    reply.got = exchanged(drawn, output).flatten()[reply.index].item<double>();
    reply.expected = wanted.flatten()[reply.index].item<double>();
    reply.unwritten = unwritten(drawn, output, found);
  }
  // Inputs far from plain ones part a right answer from the baseline, and say nothing of the next draw.
  if (all_right && !drawn.baseline.empty() && drawn.draw.plain()) near_ = false;
  return all_right;
}

// Whether the worst element is.
bool GpuOracle::unwritten(const Case& drawn, size_t output, const CompareResult& found) const {
  const auto index = int64_t(~uint32_t(found.worst));
  const at::Tensor all = exchanged(drawn, output).flatten();
  const int64_t first = std::max<int64_t>(index - kUnwrittenNear, 0),
                count = std::min(index + kUnwrittenNear + 1, all.numel()) - first;
  const ElementType type = tasks_[task_].outputs[output].type;
  return left_alone(type, filled_elements(fill_of(drawn.draw), output, type, first, count),
                    bits_of(all.narrow(0, first, count).cpu()))[size_t(index - first)];
}

}  // namespace temper::env
