#include "trainer/checkpoint/restore.h"

#include "base/error.h"
#include "policy/chat/choice.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/parameters/parameter_share.h"

namespace temper::trainer {
namespace fs = std::filesystem;

policy::NotFinite restore_policy(const Checkpoint& checkpoint, policy::Policy& policy) {
  std::vector<policy::SafetensorsFile> files;
  std::vector<policy::SavedShare> shares;
  const auto& ranks = checkpoint.manifest.ranks;
  for (const RankRecord& rank : ranks) files.emplace_back(checkpoint.dir / rank.share.name);
  for (size_t i = 0; i < files.size(); ++i) shares.push_back({files[i], ranks[i].begins});
  return policy::restore_shares(policy.parameters(), shares);
}

policy::Tokenizer tokenizer_of(const Checkpoint& checkpoint) {
  policy::Tokenizer tokenizer = policy::Tokenizer::load(checkpoint.dir);
  policy::take_kept_layout(tokenizer, checkpoint.dir);
  return tokenizer;
}

Model empty_model(const Checkpoint& checkpoint, const policy::PolicyOptions& options) {
  policy::Tokenizer tokenizer = tokenizer_of(checkpoint);
  return {policy::Policy(policy::read_model_config(checkpoint.dir), with_tokens(options, tokenizer)),
          std::move(tokenizer), policy::read_origin(checkpoint.dir)};
}

bool is_checkpoint(const fs::path& dir) { return fs::exists(dir / "manifest.json"); }

namespace {

template <class F>
auto naming(const fs::path& dir, const F& f) {
  try {
    return f();
  } catch (const ConfigError& e) {
    throw ConfigError("{}: {}", dir.string(), e.what());
  }
}

}  // namespace

void check_checkpoint(const fs::path& dir) {
  naming(dir, [&] { return read_checkpoint(dir); });
}

Model load_checkpoint(const fs::path& dir, const policy::PolicyOptions& options) {
  return naming(dir, [&] {
    const Checkpoint checkpoint = read_checkpoint(dir);
    verify_files(checkpoint);
    Model model = empty_model(checkpoint, options);
    model.not_finite = restore_policy(checkpoint, model.policy);
    return model;
  });
}

}  // namespace temper::trainer
