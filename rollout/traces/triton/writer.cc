#include "rollout/traces/triton/writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace temper::traces {
namespace {

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Whether the text has `word` by itself, and not as the name of a parameter.
bool has_word(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !in_word(text[at - 1])) && (end == text.size() || !in_word(text[end]))) return true;
  }
  return false;
}

const char* dtype_name(env::ElementType type) {
  return type == env::ElementType::kBF16  ? "bfloat16"
         : type == env::ElementType::kF16 ? "float16"
                                          : "float32";
}

}  // namespace

TritonNames::TritonNames(const env::Task& task) : taken{"tl", "torch", "triton", "launch"} {
  for (const auto* tensors : {&task.inputs, &task.outputs}) {
    for (const auto& tensor : *tensors) taken.insert(tensor.name);
  }
  taken.insert(task.dims.begin(), task.dims.end());
  i = fresh({"i", "row", "i1"});
  j = fresh({"j", "col", "j1"});
  k = fresh({"k", "at", "k1"});
  l = fresh({"l", "inner", "l1"});
  h = fresh({"h", "down", "h1"});
  begin = fresh({"begin", "begin1"});
  q = fresh({"q", "number", "q1"});
  group = fresh({"group", "group1"});
  size = fresh({"size", "size1"});
  w = fresh({"work", "work1"});
  mask = fresh({"mask", "mask1"});
  f = fresh({"first", "first1"});
  g = fresh({"second", "second1"});
  larger = fresh({"larger", "larger1"});
  for (const char* step : {"s", "t", "o", "z", "s1", "t1", "o1", "z1"}) {
    if (steps.size() < 4 && taken.insert(step).second) steps.push_back(step);
  }
  for (const char* temporary : {"v", "e", "u", "b", "a", "c", "v1", "e1", "u1", "v2", "e2", "u2"}) {
    if (taken.insert(temporary).second) scratch.push_back(temporary);
  }
}

std::string TritonNames::fresh(std::initializer_list<const char*> candidates) {
  for (const char* candidate : candidates) {
    if (taken.insert(candidate).second) return candidate;
  }
  throw ConfigError("the trace grammar has no name but '{}', which is taken", *candidates.begin());
}

std::string TritonNames::value_of(const std::string& input) {
  for (int number = 0;; ++number) {
    auto candidate = number == 0 ? input + "v" : fmt::format("{}v{}", input, number);
    if (taken.insert(candidate).second) return candidate;
  }
}

TritonWriter::TritonWriter(const Program& its_program, const Style& its_style)
    : program(its_program), style(its_style), output(program.task->outputs[0]), name(*program.task) {
  text_ = "import torch\nimport triton\nimport triton.language as tl\n\n";
}

// ---- text ----

void TritonWriter::line(const std::string& text) {
  text_ += text.empty() ? "\n" : std::string(depth_ * 4, ' ') + text + "\n";
}

void TritonWriter::open(const std::string& head) {
  line(head + ":");
  ++depth_;
  loaded_.push_back(loaded_.back());
}

void TritonWriter::close(int levels) {
  for (; levels > 0; --levels) {
    --depth_;
    loaded_.pop_back();
  }
  if (depth_ == 0) line("");
}

std::string TritonWriter::arguments() const {
  std::vector<std::string> names;
  for (const auto* tensors : {&program.task->inputs, &program.task->outputs}) {
    for (const auto& tensor : *tensors) names.push_back(tensor.name);
  }
  names.insert(names.end(), program.task->dims.begin(), program.task->dims.end());
  return fmt::format("{}", fmt::join(names, ", "));
}

void TritonWriter::open_kernel(const std::string& kernel, const Constants& constants,
                               const std::string& more) {
  std::string parameters = arguments();
  if (!more.empty()) parameters += ", " + more;
  for (const auto& constant : constants)
    parameters += ", " + constant.first + (hit(Defect::kNoConstexpr) ? "" : ": tl.constexpr");
  line("@triton.jit");
  axes_.clear();
  named_masks_.clear();
  loaded_ = {{}};
  temporaries_ = 0;
  open(fmt::format("def {}({})", kernel, parameters));
}

std::string TritonWriter::empty_output(bool zeroed) {
  const char* how = zeroed ? "zeros" : "empty";
  const auto alike = [&](const env::TensorSpec& input) {
    return input.shape == output.shape && input.type == output.type;
  };
  const auto like = std::ranges::find_if(program.task->inputs, alike);
  const bool narrow = output.type != env::ElementType::kF32;
  const bool on_host = style.defects.test(size_t(Defect::kOnHost));
  const bool preset = narrow && style.defects.test(size_t(Defect::kPresetType));
  if (like != program.task->inputs.end() && !on_host && !preset)
    return fmt::format("torch.{}_like({})", how, like->name);
  std::string type;
  if (narrow && !hit(Defect::kPresetType)) type = fmt::format(", dtype=torch.{}", dtype_name(output.type));
  // Without a type, it is f32 already: then it stands here for those that f32 is not preset for.
  if (!narrow && program.task->inputs[0].type != env::ElementType::kF32) type = ", dtype=torch.float32";
  const std::string device =
      hit(Defect::kOnHost) ? "" : fmt::format(", device={}.device", program.task->inputs[0].name);
  return fmt::format("torch.{}(({}{}){}{})", how, fmt::join(output.shape, ", "),
                     output.shape.size() == 1 ? "," : "", type, device);
}

void TritonWriter::open_launch(bool zeroed) {
  std::vector<std::string> parameters;
  for (const auto& input : program.task->inputs) parameters.push_back(input.name);
  parameters.insert(parameters.end(), program.task->dims.begin(), program.task->dims.end());
  open(fmt::format("def launch({})", fmt::join(parameters, ", ")));
  line(fmt::format("{} = {}", output.name, empty_output(zeroed)));
}

void TritonWriter::call_kernel(const std::string& kernel, const std::vector<std::string>& grid,
                               const Constants& constants, const std::string& more) {
  std::string list = arguments();
  if (!more.empty()) list += ", " + more;
  for (const auto& [constant, given] : constants) list += fmt::format(", {}={}", constant, given);
  if (style.warps > 0) list += fmt::format(", num_warps={}", style.warps);
  line(fmt::format("{}[({}{})]({})", kernel, fmt::join(grid, ", "), grid.size() == 1 ? "," : "", list));
}

void TritonWriter::close_launch() {
  if (!hit(Defect::kNoReturn))
    line("return " + (torch_call_.empty() ? output.name : fmt::format("{}({})", torch_call_, output.name)));
  --depth_;
  loaded_.pop_back();
}

std::optional<std::string> TritonWriter::finish() {
  if (style.defects.test(size_t(Defect::kNoSemicolon))) drop_bracket();
  if (style.defects.test(size_t(Defect::kUndeclared))) drop_definition();
  if (style.defects.any() && !applied_) return std::nullopt;
  return text_;
}

// Of the first load.
void TritonWriter::drop_bracket() {
  const size_t at = text_.find(")\n", text_.find("tl.load("));
  if (at == std::string::npos) return;
  text_.erase(at, 1);
  applied_ = true;
}

// The mask's line, or where an index is made.
void TritonWriter::drop_definition() {
  for (const auto& defined : {name.mask, name.j, name.k}) {
    const size_t at = text_.find(fmt::format("    {} = ", defined));
    if (at == std::string::npos) continue;
    const size_t begin = text_.rfind('\n', at) + 1;
    text_.erase(begin, text_.find('\n', at) + 1 - begin);
    applied_ = true;
    return;
  }
}

bool TritonWriter::hit(Defect defect) {
  const bool has = style.defects.test(size_t(defect));
  applied_ = applied_ || has;
  return has;
}

// ---- indices ----

void TritonWriter::axis(const std::string& variable, const std::string& bound) {
  axes_[variable] = {bound, "", "", true};
}

void TritonWriter::derived(const std::string& variable, const std::string& definition,
                           const std::string& from) {
  axes_[variable] = {"", definition, from, false};
}

void TritonWriter::define(const std::string& text) {
  for (auto& [variable, axis] : axes_) {
    if (axis.defined || !has_word(text, variable)) continue;
    axis.defined = true;
    line(fmt::format("{} = {}", variable, axis.definition));
  }
}

std::string TritonWriter::pieces(const std::string& length, const std::string& block,
                                 const std::string& first) {
  const auto end = hit(Defect::kLastTile) ? fmt::format("{0} // {1} * {1}", length, block) : length;
  return fmt::format("range({}, {}, {})", first, end, block);
}

std::string TritonWriter::condition(std::string place) {
  if (hit(Defect::kNoBounds)) return "";
  for (const auto& [variable, offset] : looked_up_) {
    if (has_word(place, variable)) place += " " + offset;
  }
  std::vector<std::string> parts;
  for (const auto& [variable, axis] : axes_) {
    const bool used = has_word(place, variable) || std::ranges::any_of(axes_, [&](const auto& other) {
                        return other.second.from == variable && has_word(place, other.first);
                      });
    if (used && !axis.bound.empty()) parts.push_back(fmt::format("{} < {}", variable, axis.bound));
  }
  if (parts.empty()) return "";
  if (parts.size() == 1) return parts[0];
  return fmt::format("({})", fmt::join(parts, ") & ("));
}

std::string TritonWriter::named(const std::string& condition) const {
  const auto known = named_masks_.find(condition);
  return known == named_masks_.end() ? condition : known->second;
}

std::string TritonWriter::masked(const std::string& place) {
  const auto text = condition(place);
  return text.empty() ? "" : ", mask=" + named(text);
}

void TritonWriter::name_mask(const std::string& place) {
  const auto text = condition(place);
  if (text.empty()) return;
  line(fmt::format("{} = {}", name.mask, text));
  named_masks_ = {{text, name.mask}};
}

// ---- elements ----

void TritonWriter::read_flat(const std::string& flat, const Indices& dims) {
  flat_ = [this, flat, dims](const env::TensorSpec& input, const Indices& at) -> std::string {
    const Indices whole = dims.size() == 1 ? Indices{flat} : Indices{name.i, name.j};
    return input.shape == dims && at == whole ? load(input, flat, false) : "";
  };
}

// In a map, where a function takes f32 alone. In a reduction, where blocks of what is narrow are added up as such.
bool TritonWriter::narrow_shows() const {
  static const std::set<std::string> wide = {"exp",   "log", "sigmoid", "silu", "gelu",     "tanh", "sqrt",
                                             "rsqrt", "sin", "cos",     "erf",  "softplus", "elu",  "log1p"};
  const auto calls_wide = [&](const Expression& e) {
    return any_part(e, [&](const auto& part) {
      return part.kind == Expression::Kind::kCall && wide.contains(part.text);
    });
  };
  if (program.skeleton == Skeleton::kMap)
    return calls_wide(*program.result) ||
           std::ranges::any_of(program.aliases, [&](const auto& alias) { return calls_wide(*alias.second); });
  const bool in_blocks = style.way == Way::kWhole || style.way == Way::kPieces ||
                         style.way == Way::kBlockColumn || style.way == Way::kOneBlock;
  return in_blocks && style.accumulate == Accumulate::kPlain && !program.softmax &&
         std::ranges::any_of(program.steps, sums) &&
         std::ranges::none_of(program.task->inputs,
                              [](const auto& x) { return x.type == env::ElementType::kF32; });
}

std::string TritonWriter::load(const env::TensorSpec& input, const std::string& offset, bool subscript) {
  define(offset);
  const auto mask = masked(offset);
  const bool integers = input.type == env::ElementType::kI32;
  std::string other;
  if (!mask.empty() && !beyond_.empty()) other = ", other=" + (integers ? "0" : beyond_);
  std::string text = fmt::format("tl.load({} + {}{}", input.name, offset, mask);
  const bool narrow = env::is_float(input.type) && env::element_size(input.type) < 4;
  const bool widened =
      !subscript && !raw && (integers || (narrow && !(narrow_shows() && hit(Defect::kNarrowSum))));
  const auto [known, fresh] = loaded_.back().try_emplace(text + (widened ? " widened" : ""));
  if (!fresh) return known->second;
  const auto variable = known->second = name.value_of(input.name);
  if (subscript) looked_up_[variable] = offset;
  line(fmt::format("{} = {}{}){}", variable, text, other, widened ? ".to(tl.float32)" : ""));
  return variable;
}

std::string TritonWriter::value(const Expression& e, const Indices& at, const Values& bound) {
  Dialect dialect;
  dialect.kind = Dialect::Kind::kTriton;
  dialect.temporaries = name.scratch;
  dialect.declared = temporaries_;
  dialect.contracted = name.l;
  dialect.load = flat_;
  dialect.read = [this](const env::TensorSpec& input, const std::string& offset, bool subscript) {
    return load(input, offset, subscript);
  };
  dialect.spelled_out = style.spelled;
  ElementWriter writer(program, style.defects, bound, dialect);
  std::string text = writer.value(e, at);
  for (const auto& statement : writer.take_statements()) {
    line(statement);
    ++temporaries_;
  }
  applied_ = applied_ || writer.defect_applied();
  return text;
}

void TritonWriter::store(const std::string& place, const std::string& value) {
  define(place);
  line(fmt::format("tl.store({} + {}, {}{})", output.name, place, value, masked(place)));
}

std::string TritonWriter::place() {
  return fmt::format("{} * {} + {}", name.i, hit(Defect::kTarget) ? output.shape[0] : output.shape[1],
                     name.j);
}

// ---- reductions ----

const std::string& TritonWriter::variable(const ReductionStep& step) const {
  return name.steps.at(size_t(&step - program.steps.data()));
}

TritonWriter::Values TritonWriter::variables() const {
  Values bound;
  for (const auto& step : program.steps) bound[step.name] = variable(step);
  return bound;
}

std::string TritonWriter::start(const ReductionStep& step) {
  if (sums(step) || hit(Defect::kZeroInit)) return "0.0";
  return step.op == "amax" ? "-float(\"inf\")" : "float(\"inf\")";
}

std::string TritonWriter::neutral_value(const ReductionStep& step, const Indices& at,
                                        const std::string& along, int axis) {
  const auto text = value(*step.value, at, variables());
  const auto& e = *step.value;
  const bool least = e.is_call("abs") || e.is_call("relu") || e.is_square();  // where it is 0
  const bool zero = sums(step) || (step.op == "amax" && least);
  const bool neutral = (zero && vanishes(e, axis)) || (step.op == "amax" && sinks(e));
  const auto inside = condition(along);
  if (neutral || inside.empty() || hit(Defect::kNoNeutral)) return text;
  const char* nothing = sums(step) ? "0.0" : step.op == "amax" ? "-float(\"inf\")" : "float(\"inf\")";
  return fmt::format("tl.where({}, {}, {})", named(inside), text, nothing);
}

std::string TritonWriter::zero_beyond(const std::string& text, const Expression& e, const std::string& along,
                                      int axis) {
  const auto inside = condition(along);
  if (vanishes(e, axis) || inside.empty() || hit(Defect::kNoNeutral)) return text;
  return fmt::format("tl.where({}, {}, 0.0)", named(inside), text);
}

std::string TritonWriter::total(const ReductionStep& step, const std::string& value, int axis, bool keep) {
  const char* function = sums(step) ? "tl.sum" : step.op == "amax" ? "tl.max" : "tl.min";
  if (hit(Defect::kWrongAxis)) axis = 1 - axis;
  return fmt::format("{}({}, axis={}{})", function, value, axis, keep ? ", keep_dims=True" : "");
}

std::string TritonWriter::combined(const ReductionStep& step, const std::string& one,
                                   const std::string& other) const {
  if (sums(step)) return fmt::format("{} + {}", one, other);
  return fmt::format("tl.{}imum({}, {})", step.op == "amax" ? "max" : "min", one, other);
}

void TritonWriter::divide(const ReductionStep& step, const std::string& count) {
  if (step.op != "mean" || hit(Defect::kNoDivide)) return;
  const bool product = count.find(' ') != std::string::npos;
  line(fmt::format("{0} = {0} / {1}", variable(step), product ? "(" + count + ")" : count));
}

// ---- sizes ----

std::string TritonWriter::elements() const { return fmt::format("{}", fmt::join(output.shape, " * ")); }

std::string TritonWriter::blocks(const std::string& count, const std::string& per) {
  const bool product = count.find(' ') != std::string::npos;
  if (hit(Defect::kShortGrid)) return fmt::format("{} // {}", product ? "(" + count + ")" : count, per);
  return fmt::format("triton.cdiv({}, {})", count, per);
}

std::string TritonWriter::block_constant(const std::string& length) {
  if (hit(Defect::kFixedBlock)) return "1024";
  return hit(Defect::kNotPower) ? length : fmt::format("triton.next_power_of_2({})", length);
}

}  // namespace temper::traces
