#include "env/languages/cuda_text.h"
#include "env/languages/language.h"
#include "env/verdict/source_gate.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::env {

FUZZ_TARGET(cuda_text) {
  const std::string unit(bytes), text = host_text(unit);
  TEMPER_CHECK(text.size() <= unit.size());
  TEMPER_CHECK(host_text(text).size() <= text.size());
  for (const Language* language : {&kCpp, &kCuda, &kTriton}) gate_source(*language, unit);
}

}  // namespace temper::env
