#include "env/oracle/torch_names.h"

#include <torch/csrc/jit/frontend/sugared_value.h>

#include <cmath>
#include <map>

namespace temper::env {
namespace {

namespace jit = torch::jit;
using Value = std::shared_ptr<jit::SugaredValue>;

const std::map<std::string, c10::ScalarType>& dtypes() {
  static const std::map<std::string, c10::ScalarType> known{
      {"float32", c10::kFloat},     {"float", c10::kFloat},  {"float64", c10::kDouble},
      {"double", c10::kDouble},     {"float16", c10::kHalf}, {"half", c10::kHalf},
      {"bfloat16", c10::kBFloat16}, {"int32", c10::kInt},    {"int", c10::kInt},
      {"int64", c10::kLong},        {"long", c10::kLong},    {"bool", c10::kBool}};
  return known;
}

// torch, torch.nn, torch.nn.functional: all their functions are known by the same name to ATen.
struct TorchModule : jit::BuiltinModule {
  TorchModule() : BuiltinModule("aten") {}
  Value attr(const jit::SourceRange& where, jit::GraphFunction& function, const std::string& field) override {
    if (field == "nn" || field == "functional") return std::make_shared<TorchModule>();
    if (const auto type = dtypes().find(field); type != dtypes().end())
      return std::make_shared<jit::SimpleValue>(function.graph()->insertConstant(int64_t(type->second)));
    return BuiltinModule::attr(where, function, field);
  }
};

struct MathModule : jit::BuiltinModule {
  MathModule() : BuiltinModule("aten") {}
  Value attr(const jit::SourceRange& where, jit::GraphFunction& function, const std::string& field) override {
    if (field == "pi") return std::make_shared<jit::SimpleValue>(function.graph()->insertConstant(M_PI));
    if (field == "e") return std::make_shared<jit::SimpleValue>(function.graph()->insertConstant(M_E));
    return BuiltinModule::attr(where, function, field);
  }
};

struct TorchNames : jit::Resolver {
  Value resolveValue(const std::string& name, jit::GraphFunction&, const jit::SourceRange&) override {
    if (name == "torch" || name == "F") return std::make_shared<TorchModule>();
    if (name == "math") return std::make_shared<MathModule>();
    return nullptr;
  }
  c10::TypePtr resolveType(const std::string&, const jit::SourceRange&) override { return nullptr; }
};

}  // namespace

jit::ResolverPtr torch_names() { return std::make_shared<TorchNames>(); }

}  // namespace temper::env
