// Directories of every family with a padded vocabulary.

#include "trainer/run/model.h"

#include <gtest/gtest.h>

#include "policy/hugging_face/hugging_face.h"
#include "policy/parameters/parameter_store.h"
#include "tests/policy/small_model.h"
#include "tests/policy/text/tokenizer_fixture.h"

namespace temper::trainer {
namespace {

namespace fs = std::filesystem;

TEST(Model, OfEachFamilyDrawsItsTokensAlone) {
  const fs::path dir = fs::path(testing::TempDir()) / ("families" + std::to_string(getpid()));
  const policy::Tokenizer tokenizer = policy::code_tokenizer(640);
  for (const std::string& family : policy::model_families()) {
    policy::ModelConfig config = policy::small_config();
    config.vocab_size = 704;
    config.set_family(family);
    if (family == "mistral") config.sliding_window = 7;
    policy::export_hugging_face(policy::random_policy(config, {}, 1), tokenizer, dir);
    Model model = load_model(dir);
    EXPECT_EQ(model.policy.config(), config);
    EXPECT_EQ(model.policy.options().token_count, tokenizer.vocab_size());
    EXPECT_LT(model.policy.options().token_count, config.vocab_size);

    policy::KvCache cache(config, model.policy.options(), 1, 20);
    const std::vector<int32_t> ids = {3, 14, 15, 92, 6};
    const policy::Extension extension{0, ids};
    std::vector<policy::Draw> draws;
    for (int i = 0; i < 100; ++i) draws.push_back({0, {.temperature = 3}, i / 100.0});
    for (const policy::SampledToken& token : model.policy.sample(cache, {&extension, 1}, draws))
      EXPECT_LT(token.id, tokenizer.vocab_size());
  }
  fs::remove_all(dir);
}

}  // namespace
}  // namespace temper::trainer
