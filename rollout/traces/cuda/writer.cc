#include "rollout/traces/cuda/writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace temper::traces {
namespace {

// "const float* x, float* y, int n" of the signature.
std::string parameter_list(const env::Task& task) {
  const std::string signature = task.signature();
  const size_t open = signature.find('(');
  return signature.substr(open + 1, signature.size() - open - 2);
}

// The element type of what is read, where it is narrower than float; or "".
std::string narrow_type(const env::Task& task) {
  for (const auto& input : task.inputs) {
    if (input.type == env::ElementType::kBF16) return "__nv_bfloat16";
    if (input.type == env::ElementType::kF16) return "__half";
  }
  return "";
}

}  // namespace

CudaNames::CudaNames(const env::Task& task) {
  for (const auto* tensors : {&task.inputs, &task.outputs}) {
    for (const auto& tensor : *tensors) taken.insert(tensor.name);
  }
  taken.insert(task.dims.begin(), task.dims.end());
  i = fresh({"i", "row", "i1"});
  j = fresh({"j", "col", "j1"});
  k = fresh({"k", "id", "k1"});
  l = fresh({"l", "d", "l1"});
  h = fresh({"h", "hop", "h1"});
  q = fresh({"q", "part", "q1"});
  p = fresh({"p", "tile", "p1"});
  r = fresh({"r", "rest", "r1"});
  w = fresh({"w", "work", "w1"});
  f = fresh({"f", "first", "f1"});
  g = fresh({"g", "second", "g1"});
  element = fresh({"element", "element1"});
  for (const char* step : {"s", "t", "o", "z", "s1", "t1", "o1", "z1"}) {
    if (steps.size() < 4 && taken.insert(step).second) steps.push_back(step);
  }
  for (const char* temporary : {"v", "e", "u", "b", "a", "c", "v1", "e1", "u1", "v2", "e2", "u2"}) {
    if (taken.insert(temporary).second) scratch.push_back(temporary);
  }
}

std::string CudaNames::fresh(std::initializer_list<const char*> candidates) {
  for (const char* candidate : candidates) {
    if (taken.insert(candidate).second) return candidate;
  }
  throw ConfigError("the trace grammar has no name but '{}', which is taken", *candidates.begin());
}

CudaWriter::CudaWriter(const Program& its_program, const Style& its_style)
    : program(its_program), style(its_style), output(program.task->outputs[0]), name(*program.task) {}

void CudaWriter::line(const std::string& text) {
  text_ += std::string((declared_.size() - 1) * 2, ' ') + text + "\n";
}

void CudaWriter::open(const std::string& head) {
  line(head + " {");
  declared_.push_back(declared_.back());
}

void CudaWriter::close(int levels) {
  for (; levels > 0; --levels) {
    declared_.pop_back();
    line("}");
  }
}

void CudaWriter::declare_temporaries(const std::vector<std::string>& statements) {
  for (const auto& statement : statements) line(statement);
  declared_.back() += statements.size();
}

std::string CudaWriter::parameters() const {
  std::string list = parameter_list(*program.task);
  if (!style.restricted) return list;
  for (size_t at = list.find("* "); at != std::string::npos; at = list.find("* ", at + 2)) {
    list.insert(at + 2, "__restrict__ ");
  }
  return list;
}

std::string CudaWriter::arguments() const {
  std::vector<std::string> names;
  for (const auto* tensors : {&program.task->inputs, &program.task->outputs}) {
    for (const auto& tensor : *tensors) names.push_back(tensor.name);
  }
  names.insert(names.end(), program.task->dims.begin(), program.task->dims.end());
  return fmt::format("{}", fmt::join(names, ", "));
}

void CudaWriter::open_kernel(const std::string& kernel, const std::string& more) {
  open(fmt::format("__global__ void {}({}{})", kernel, parameters(), more.empty() ? "" : ", " + more));
}

void CudaWriter::open_launch() { open(program.task->signature()); }

void CudaWriter::call_kernel(const std::string& kernel, const std::string& grid, const std::string& block,
                             const std::string& more) {
  line(fmt::format("{}<<<{}, {}>>>({}{});", kernel, grid, block, arguments(),
                   more.empty() ? "" : ", " + more));
}

void CudaWriter::unroll() {
  if (style.unrolled) line("#pragma unroll 4");
}

std::optional<std::string> CudaWriter::finish() {
  if (style.defects.test(size_t(Defect::kNoSemicolon))) drop_semicolon();
  if (style.defects.test(size_t(Defect::kUndeclared))) drop_declaration();
  if (style.defects.any() && !applied_) return std::nullopt;
  return text_;
}

void CudaWriter::drop_semicolon() {
  text_.erase(text_.find(";\n", text_.find("__global__")), 1);
  applied_ = true;
}

void CudaWriter::drop_declaration() {
  const std::string declaration = fmt::format("float {} = ", name.scratch[0]);
  const size_t at = text_.find(declaration);
  if (at == std::string::npos) return;
  text_.erase(at, 6);
  applied_ = true;
}

bool CudaWriter::hit(Defect defect) {
  const bool has = style.defects.test(size_t(defect));
  applied_ = applied_ || has;
  return has;
}

std::string CudaWriter::value(const Expression& e, const At& at, const StepNames& bound,
                              std::vector<std::string>& statements) {
  Dialect dialect;
  dialect.kind = Dialect::Kind::kCuda;
  dialect.temporaries = name.scratch;
  dialect.declared = declared_.back();
  dialect.contracted = name.l;
  dialect.load = load_;
  ElementWriter writer(program, style.defects, bound, dialect);
  std::string text = writer.value(e, at);
  statements = writer.take_statements();
  applied_ = applied_ || writer.defect_applied();
  return text;
}

std::string CudaWriter::value(const Expression& e, const At& at, const StepNames& bound) {
  std::vector<std::string> statements;
  std::string text = value(e, at, bound, statements);
  declare_temporaries(statements);
  return text;
}

void CudaWriter::assign(const std::string& to, const Expression& e, const At& at, const StepNames& bound,
                        const std::string& guard) {
  std::vector<std::string> statements;
  const std::string text = value(e, at, bound, statements);
  const bool braces = !guard.empty() && !statements.empty();
  if (braces) open(fmt::format("if ({})", guard));
  declare_temporaries(statements);
  line(fmt::format("{}{} = {};", guard.empty() || braces ? "" : fmt::format("if ({}) ", guard), to, text));
  if (braces) close();
}

std::string CudaWriter::target() {
  return fmt::format("{}[{} * {} + {}]", output.name, name.i,
                     hit(Defect::kTarget) ? output.shape[0] : output.shape[1], name.j);
}

const std::string& CudaWriter::variable(const ReductionStep& step) const {
  return name.steps.at(size_t(&step - program.steps.data()));
}

StepNames CudaWriter::variables() const {
  StepNames bound;
  for (const auto& step : program.steps) bound[step.name] = variable(step);
  return bound;
}

std::string CudaWriter::start(const ReductionStep& step) {
  if (step.op == "sum" || step.op == "mean") return "0";
  if (hit(Defect::kZeroInit)) return "0";
  return step.op == "amax" ? "-INFINITY" : "INFINITY";
}

std::string CudaWriter::accumulator_type(const ReductionStep& step) {
  const auto narrow = narrow_type(*program.task);
  const bool sums = step.op == "sum" || step.op == "mean";
  return sums && !narrow.empty() && hit(Defect::kNarrowSum) ? narrow : "float";
}

void CudaWriter::declare(const ReductionStep& step) {
  line(fmt::format("{} {} = {};", accumulator_type(step), variable(step), start(step)));
}

void CudaWriter::combine(const ReductionStep& step, const std::string& into, const std::string& text) {
  const std::string indent(into.find_first_not_of(' '), ' '), to = into.substr(indent.size());
  if (step.op == "sum" || step.op == "mean")
    line(fmt::format("{}{} += {};", indent, to, text));
  else
    line(fmt::format("{0}{1} = {2}({1}, {3});", indent, to, step.op == "amax" ? "fmaxf" : "fminf", text));
}

void CudaWriter::accumulate(const ReductionStep& step, const At& at) {
  const std::string text = value(*step.value, at, variables());
  combine(step, variable(step), text);
}

void CudaWriter::divide(const ReductionStep& step, const std::string& count) {
  if (step.op != "mean" || hit(Defect::kNoDivide)) return;
  const auto& s = variable(step);
  line(accumulator_type(step) == "float" ? fmt::format("{} /= {};", s, count)
                                         : fmt::format("{0} = float({0}) / {1};", s, count));
}

std::string CudaWriter::elements() const { return fmt::format("{}", fmt::join(output.shape, " * ")); }

std::string CudaWriter::blocks(const std::string& count, int per) {
  if (hit(Defect::kShortGrid)) return fmt::format("{} / {}", count, per);
  return fmt::format("({} + {}) / {}", count, per - 1, per);
}

std::string CudaWriter::inner_bound(const std::string& length) {
  return hit(Defect::kShortBound) ? length + " - 1" : length;
}

void CudaWriter::leave_beyond(const std::string& index, const std::string& count) {
  if (!hit(Defect::kNoBounds)) line(fmt::format("if ({} >= {}) return;", index, count));
}

}  // namespace temper::traces
