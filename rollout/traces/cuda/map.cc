#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "rollout/traces/cuda/skeletons.h"

namespace temper::traces {

using env::TensorSpec;

namespace {

using Kind = Expression::Kind;

At whole_index(const CudaWriter& out) {
  return out.output.shape.size() == 1 ? At{out.name.k} : At{out.name.i, out.name.j};
}

// One element, at the flat index in k: y[k] = …
void element_at(CudaWriter& out, const Expression& e, const StepNames& bound = {}) {
  bool decoded = false;
  read_flat(out, out.name.k, decoded);
  std::vector<std::string> statements;
  const auto text = out.value(e, whole_index(out), bound, statements);
  const bool wrong = out.output.shape.size() == 2 && out.hit(Defect::kTarget);
  if (decoded || wrong) decode(out, out.name.k);
  out.declare_temporaries(statements);
  out.line(fmt::format("{} = {};", wrong ? out.target() : fmt::format("{}[{}]", out.output.name, out.name.k),
                       text));
}

void thread_index(CudaWriter& out) {
  out.line(fmt::format("int {} = blockIdx.x * blockDim.x + threadIdx.x;", out.name.k));
}

void flat_kernel(CudaWriter& out, const std::string& kernel, const Expression& e,
                 const StepNames& bound = {}) {
  out.open_kernel(kernel);
  thread_index(out);
  out.leave_beyond(out.name.k, out.elements());
  element_at(out, e, bound);
  out.close();
}

void launch(CudaWriter& out, const std::string& grid, const std::string& block = "256") {
  out.open_launch();
  out.call_kernel(out.name.f, grid, block);
  out.close();
}

void flat(CudaWriter& out) {
  flat_kernel(out, out.name.f, *out.program.result);
  launch(out, out.blocks(out.elements(), 256));
}

// The outermost operation in a kernel of its own.
void passes(CudaWriter& out) {
  const auto& e = *out.program.result;
  auto children = e.children;
  const auto first = std::exchange(children[0], name(kStored));
  flat_kernel(out, out.name.f, *first);
  flat_kernel(out, out.name.g, *with_children(e, children),
              {{kStored, fmt::format("{}[{}]", out.output.name, out.name.k)}});
  out.open_launch();
  const auto grid = out.blocks(out.elements(), 256);
  out.call_kernel(out.name.f, grid, "256");
  out.call_kernel(out.name.g, grid, "256");
  out.close();
}

void columns_first(CudaWriter& out) {
  const auto& n = out.output.shape[0];
  out.open_kernel(out.name.f);
  thread_index(out);
  out.leave_beyond(out.name.k, out.elements());
  out.line(fmt::format("int {0} = {2} % {3}, {1} = {2} / {3};", out.name.i, out.name.j, out.name.k, n));
  out.assign(out.target(), *out.program.result, {out.name.i, out.name.j}, {});
  out.close();
  launch(out, out.blocks(out.elements(), 256));
}

void chunks(CudaWriter& out) {
  const auto &k = out.name.k, &q = out.name.q;
  out.open_kernel(out.name.f);
  out.line(fmt::format("int {} = 32 * (blockIdx.x * blockDim.x + threadIdx.x);", q));
  const auto end = out.hit(Defect::kNoBounds) ? "" : fmt::format(" && {} < {}", k, out.elements());
  out.open(fmt::format("for (int {0} = {1}; {0} < {1} + 32{2}; ++{0})", k, q, end));
  element_at(out, *out.program.result);
  out.close(2);
  launch(out, out.blocks(out.elements(), 8192));
}

void grid_stride(CudaWriter& out) {
  const auto& k = out.name.k;
  out.open_kernel(out.name.f);
  out.open(
      fmt::format("for (int {0} = blockIdx.x * blockDim.x + threadIdx.x; {0} < {1}; {0} += gridDim.x * "
                  "blockDim.x)",
                  k, out.elements()));
  element_at(out, *out.program.result);
  out.close(2);
  launch(out, "1056");
}

void block_row(CudaWriter& out) {
  const auto &i = out.name.i, &j = out.name.j;
  const auto &n = out.output.shape[0], &m = out.output.shape[1];
  out.open_kernel(out.name.f);
  const bool thread_a_row = out.hit(Defect::kThreadARow);
  if (thread_a_row) {
    out.line(fmt::format("int {} = blockIdx.x, {} = threadIdx.x;", i, j));
  } else {
    out.line(fmt::format("int {} = blockIdx.x;", i));
    out.unroll();
    out.open(fmt::format("for (int {0} = threadIdx.x; {0} < {1}; {0} += blockDim.x)", j, out.inner_bound(m)));
  }
  out.assign(out.target(), *out.program.result, {i, j}, {});
  out.close(thread_a_row ? 1 : 2);
  launch(out, out.hit(Defect::kSwapBounds) ? m : n, thread_a_row ? m : "256");
}

// ---- 16 bytes a thread ----

// "x4[q], a[(k + q) % m]": what is read at `flat`, of each input in the order of the element's parameters.
std::string operands(const CudaWriter& out, const std::vector<std::pair<std::string, At>>& reads,
                     const std::string& flat, bool vectors) {
  std::vector<std::string> texts;
  const auto inner = out.output.shape.back();
  const auto index = flat.find(' ') == std::string::npos ? flat : "(" + flat + ")";
  for (const auto& [input, at] : reads) {
    if (at == whole_index(out))
      texts.push_back(vectors ? fmt::format("{}4[{}]", input, out.name.q)
                              : fmt::format("{}[{}]", input, flat));
    else
      texts.push_back(fmt::format("{}[{} {} {}]", input, index, at == At{out.name.i} ? "/" : "%", inner));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<std::pair<std::string, At>> write_element(CudaWriter& out) {
  std::vector<std::pair<std::string, At>> reads;
  out.read_with([&](const TensorSpec& input, const At& at) {
    const auto known = [&](const auto& read) { return read.first == input.name; };
    if (std::ranges::none_of(reads, known)) reads.emplace_back(input.name, at);
    return input.name;
  });
  std::vector<std::string> statements, parameters;
  const auto text = out.value(*out.program.result, whole_index(out), {}, statements);
  out.read_with({});
  for (const auto& read : reads) parameters.push_back("float " + read.first);
  out.open(fmt::format("__device__ float {}({})", out.name.element, fmt::join(parameters, ", ")));
  out.declare_temporaries(statements);
  out.line(fmt::format("return {};", text));
  out.close();
  return reads;
}

void vectors(CudaWriter& out) {
  const auto reads = write_element(out);
  const int width = 16 / int(env::element_size(out.output.type));
  const auto &k = out.name.k, &q = out.name.q, &y = out.output.name;
  const char* type = out.output.type == env::ElementType::kF32    ? "float"
                     : out.output.type == env::ElementType::kBF16 ? "__nv_bfloat16"
                                                                  : "__half";
  std::vector<std::string> buffers, loads;
  for (const auto& [input, at] : reads) {
    if (at != whole_index(out)) continue;
    buffers.push_back(fmt::format("{}4[{}]", input, width));
    loads.push_back(fmt::format("*(uint4*){0}4 = *(uint4*)({0} + {1});", input, k));
  }
  buffers.push_back(fmt::format("{}4[{}]", y, width));
  out.open_kernel(out.name.f);
  out.line(fmt::format("int {} = {} * (blockIdx.x * blockDim.x + threadIdx.x);", k, width));
  const bool unguarded = out.hit(Defect::kNoBounds);
  out.open(unguarded ? fmt::format("if ({} < {})", k, out.elements())
                     : fmt::format("if ({} + {} <= {})", k, width, out.elements()));
  out.line(fmt::format("alignas(16) {} {};", type, fmt::join(buffers, ", ")));
  for (const auto& load : loads) out.line(load);
  out.line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2}4[{0}] = {3}({4});", q, width, y,
                       out.name.element, operands(out, reads, fmt::format("{} + {}", k, q), true)));
  out.line(fmt::format("*(uint4*)({0} + {1}) = *(uint4*){0}4;", y, k));
  if (!unguarded && !out.hit(Defect::kLastTile)) {
    out.close();
    out.open("else");
    out.line(fmt::format("for (; {0} < {1}; ++{0}) {2}[{0}] = {3}({4});", k, out.elements(), y,
                         out.name.element, operands(out, reads, k, false)));
  }
  out.close(2);
  launch(out, out.blocks(out.elements(), 256 * width));
}

// ---- through a tile ----

void transposed(CudaWriter& out) {
  const auto& n = out.output.shape[0];
  const auto& m = out.output.shape[1];
  const auto &i = out.name.i, &j = out.name.j, &k = out.name.k, &q = out.name.q, &h = out.name.h,
             &p = out.name.p;
  const auto x = transposed_input(out.program);
  out.open_kernel(out.name.f);
  out.line(fmt::format("__shared__ float {}[32][33];", p));
  out.line(fmt::format("int {} = threadIdx.x, {} = blockIdx.x * 32, {} = blockIdx.y * 32 + {};", k, q, h, k));
  out.open(fmt::format("for (int {0} = threadIdx.y; {0} < 32; {0} += 8)", i));
  out.line(fmt::format("if ({q} + {i} < {m} && {h} < {n}) {p}[{i}][{k}] = {x}[({q} + {i}) * {n} + {h}];",
                       fmt::arg("q", q), fmt::arg("i", i), fmt::arg("m", m), fmt::arg("h", h),
                       fmt::arg("n", n), fmt::arg("p", p), fmt::arg("k", k), fmt::arg("x", x)));
  out.close();
  if (!out.hit(Defect::kNoSync)) out.line("__syncthreads();");
  out.line(fmt::format("int {} = {} + {};", j, q, k));
  out.open(fmt::format("for (int {i} = {h} - {k} + threadIdx.y; {i} < {h} - {k} + 32 && {i} < {n}; {i} += 8)",
                       fmt::arg("i", i), fmt::arg("h", h), fmt::arg("k", k), fmt::arg("n", n)));
  out.read_with([&](const TensorSpec& input, const At& at) {
    if (input.name != x || at != At{j, i}) return std::string();
    return fmt::format("{}[{}][{} - {} + {}]", p, k, i, h, k);
  });
  out.assign(out.target(), *out.program.result, {i, j}, {}, fmt::format("{} < {}", j, m));
  out.read_with({});
  out.close(2);
  launch(out, fmt::format("dim3(({} + 31) / 32, ({} + 31) / 32)", m, n), "dim3(32, 8)");
}

const TensorSpec* input_named(const env::Task& task, const std::string& name) {
  const auto it = std::ranges::find_if(task.inputs, [&](const auto& input) { return input.name == name; });
  return it == task.inputs.end() ? nullptr : &*it;
}

// Holds for the result and the named intermediates that it is made of.
bool any_part(const Program& program, const std::function<bool(const Expression&)>& holds) {
  return any_part(*program.result, holds) || std::ranges::any_of(program.aliases, [&](const auto& alias) {
           return any_part(*alias.second, holds);
         });
}

}  // namespace

void read_flat(CudaWriter& out, const std::string& flat, bool& decoded) {
  out.read_with([&out, flat, &decoded](const TensorSpec& input, const At& at) -> std::string {
    const bool matrix = input.shape.size() == 2 && input.shape == out.output.shape;
    if (matrix && at == At{out.name.i, out.name.j}) {
      const auto text = fmt::format("{}[{}]", input.name, flat);
      return env::element_size(input.type) < 4 ? "float(" + text + ")" : text;
    }
    decoded = decoded || out.output.shape.size() == 2;
    return "";
  });
}

void decode(CudaWriter& out, const std::string& flat) {
  const bool swapped = out.hit(Defect::kSwapBounds);
  out.line(fmt::format("int {} = {} {} {m}, {} = {} {} {m};", out.name.i, flat, swapped ? '%' : '/',
                       out.name.j, flat, swapped ? '/' : '%', fmt::arg("m", out.output.shape.back())));
}

bool can_be_vectors(const Program& program) {
  const auto& output = program.task->outputs[0];
  return !any_part(program, [&](const Expression& e) {
    if (e.is_call("t") || e.is_call("flip")) return true;
    if (e.kind == Kind::kIndex) return e.subscripts != At{":", "None"} || e.children[0]->kind != Kind::kName;
    if (e.kind != Kind::kName) return false;
    const auto* input = input_named(*program.task, e.text);
    if (input == nullptr) return false;
    if (input->shape.size() == 1 && output.shape.size() == 2) return false;
    return input->shape != output.shape || input->type != output.type;
  });
}

std::string transposed_input(const Program& program) {
  std::set<std::string> found;
  any_part(program, [&](const Expression& e) {
    if (!e.is_call("t")) return false;
    found.insert(e.children[0]->kind == Kind::kName ? e.children[0]->text : "");
    return false;
  });
  return found.size() == 1 && input_named(*program.task, *found.begin()) ? *found.begin() : "";
}

void write_map(CudaWriter& out) {
  if (out.style.passes) return passes(out);
  switch (out.style.way) {
    case Way::kColumnsFirst:
      return columns_first(out);
    case Way::kChunk:
      return chunks(out);
    case Way::kGridStride:
      return grid_stride(out);
    case Way::kBlockRow:
      return block_row(out);
    case Way::kVector:
      return vectors(out);
    case Way::kTransposed:
      return transposed(out);
    default:
      return flat(out);
  }
}

}  // namespace temper::traces
