#include "env/plan/planner.h"

#include "base/process.h"
#include "env/call/case.h"
#include "env/languages/language.h"
#include "env/verdict/message.h"
#include "env/verdict/source_gate.h"

namespace temper::env {
namespace {

Found compile_and_gate(const Task& task, const std::string& source, CudaToolchains& tools,
                       const CompileQuota& quota, uid_t user, const HostHalf& known, Planned& planned) {
  const Language& language = find_language(task.language);
  if (Found rejected = gate_source(language, source)) return rejected;
  const std::string unit = language.translation_unit(task.parameters(), source);
  auto [compiled, host, made] = compile_cuda(tools.of(unit), unit, known, quota, user);
  planned.host = host;
  planned.made = std::move(made);
  if (!compiled.ok) {
    const bool missing = compiled.reason == "no_entry_point";
    const bool tells = compiled.reason == "compile_error";
    return Finding{missing ? VerdictKind::kFailParse : VerdictKind::kFailCompile, compiled.reason,
                   tells ? first_compiler_error(compiled.diagnostics) : "",
                   compile_failure_details(compiled, quota, source)};
  }
  Cubin cubin;
  if (const std::string problem = read_cubin(compiled.cubin, cubin); !problem.empty())
    return Finding{VerdictKind::kFailCompile, "cubin", problem};
  planned.object = std::move(compiled.object);
  planned.cubin = std::move(compiled.cubin);
  for (const CubinGlobal& table : tables_of(cubin, compiled.ptx)) make_visible(planned.cubin, table);
  return gate_cubin(cubin, compiled.ptx);
}

Found record_all(const Task& task, const std::vector<Shape>& shapes, const GpuTarget& target,
                 RecorderProcess& recorder, std::chrono::nanoseconds budget, Planned& planned) {
  recorder.wait_ready();
  if (auto failure = recorder.load(planned.object, planned.cubin, target, budget)) return failure;
  for (const Shape& shape : shapes) {
    planned.plans.emplace_back();
    if (auto failure =
            recorder.record(plan_buffers(task, shape), dim_arguments(task, shape), planned.plans.back()))
      return failure;
  }
  return std::nullopt;
}

}  // namespace

PlanBuffers plan_buffers(const Task& task, const Shape& shape) {
  PlanBuffers buffers;
  for (const TensorSpec& input : task.inputs) buffers.inputs.push_back(tensor_bytes(input, shape));
  for (const TensorSpec& output : task.outputs) buffers.outputs.push_back(tensor_bytes(output, shape));
  return buffers;
}

Planned plan_candidate(const Task& task, const std::string& source, const std::vector<Shape>& shapes,
                       CudaToolchains& tools, const CompileQuota& quota, uid_t user, const GpuTarget& target,
                       RecorderProcess& recorder, std::chrono::nanoseconds budget, const HostHalf& known) {
  Planned planned;
  const double start = now_s();
  planned.failure = compile_and_gate(task, source, tools, quota, user, known, planned);
  const double compiled = now_s();
  planned.compile_ms = (compiled - start) * 1e3;
  if (!planned.failure) planned.failure = record_all(task, shapes, target, recorder, budget, planned);
  planned.plan_ms = (now_s() - compiled) * 1e3;
  return planned;
}

}  // namespace temper::env
