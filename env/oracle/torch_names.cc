#include "env/oracle/torch_names.h"

#include <torch/csrc/jit/frontend/sugared_value.h>

#include <cmath>

namespace temper {
namespace {

namespace jit = torch::jit;
using Value = std::shared_ptr<jit::SugaredValue>;

// torch, torch.nn, torch.nn.functional: all their functions are known by the same name to ATen.
struct TorchModule : jit::BuiltinModule {
  TorchModule() : BuiltinModule("aten") {}
  Value attr(const jit::SourceRange& where, jit::GraphFunction& function, const std::string& field) override {
    if (field == "nn" || field == "functional") return std::make_shared<TorchModule>();
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

}  // namespace temper
