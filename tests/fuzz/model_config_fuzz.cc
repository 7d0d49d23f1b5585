#include "policy/hugging_face/config.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::policy {

FUZZ_TARGET(model_config) {
  fuzz::taken([&] {
    const ModelConfig config = parse_model_config(bytes, "config.json");
    TEMPER_CHECK(config.parameter_count() > 0);
    for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) config.window_of(layer);
    for (const double frequency : rope_frequencies(config)) TEMPER_CHECK(frequency >= 0);
  });
}

}  // namespace temper::policy
