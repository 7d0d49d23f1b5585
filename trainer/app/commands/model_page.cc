#include "trainer/app/commands/model_page.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "base/error.h"
#include "policy/chat/chat_format.h"
#include "policy/cuda/plan.h"
#include "policy/hugging_face/folder.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/hugging_face/weight_choice.h"
#include "policy/text/tokenizer.h"
#include "trainer/checkpoint/restore.h"
#include "trainer/config/device.h"
#include "trainer/plan/plan.h"

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::json;
using policy::ModelConfig;

// Rows and sequences for which the plans of this page are made.
constexpr int64_t kRowTokens = 8192, kSequences = 32;

std::string count_text(int64_t count) {
  return count < 1'000'000'000 ? fmt::format("{:.1f} million", double(count) * 1e-6)
                               : fmt::format("{:.2f} billion", double(count) * 1e-9);
}

// What an error says is what there is to know of the part.
ModelPart part(const std::string& name, const std::function<void(ModelPart&)>& look) {
  ModelPart found{.name = name};
  try {
    look(found);
  } catch (const ConfigError& e) {
    found.refused = e.what();
  }
  return found;
}

std::string choice_among(const std::string& word, bool there) { return there ? ", " + word : ""; }

void look_at_folder(const fs::path& dir, ModelPart& part) {
  const bool own = is_checkpoint(dir);
  part.found = fmt::format("{}, {}", dir.string(), own ? "a checkpoint of a run" : "a Hugging Face folder");
  part.facts = {{"path", dir.string()}, {"checkpoint", own}};
  if (own)
    check_checkpoint(dir);
  else
    policy::check_model_folder(dir);
}

void look_at_shape(const ModelConfig& c, ModelPart& part) {
  part.found = fmt::format(
      "{}: {} blocks of width {}, {} heads of {} on {} of keys and values, feed-forward of {}, {} rows of "
      "the "
      "vocabulary{}{}{}{}{}",
      c.model_type, c.num_hidden_layers, c.hidden_size, c.num_attention_heads, c.head_dim,
      c.num_key_value_heads, c.intermediate_size, c.vocab_size,
      choice_among("the head is the embedding", c.tie_word_embeddings),
      choice_among("norms of queries and keys", c.qk_norm), choice_among("biases of q, k and v", c.qkv_bias),
      choice_among("a bias behind attention", c.o_bias),
      choice_among("biases of the feed-forward layer", c.mlp_bias));
  part.facts = {{"family", c.model_type},
                {"num_hidden_layers", c.num_hidden_layers},
                {"hidden_size", c.hidden_size},
                {"num_attention_heads", c.num_attention_heads},
                {"num_key_value_heads", c.num_key_value_heads},
                {"head_dim", c.head_dim},
                {"intermediate_size", c.intermediate_size},
                {"vocab_size", c.vocab_size},
                {"tie_word_embeddings", c.tie_word_embeddings},
                {"qk_norm", c.qk_norm},
                {"qkv_bias", c.qkv_bias},
                {"o_bias", c.o_bias},
                {"mlp_bias", c.mlp_bias},
                {"rms_norm_eps", c.rms_norm_eps}};
}

void look_at_parameters(const ModelConfig& c, ModelPart& part) {
  const int64_t count = c.parameter_count();
  const int64_t token_bytes = 2 * 2 * c.num_hidden_layers * c.num_key_value_heads * c.head_dim;
  part.found = fmt::format("{}; on a GPU, in bf16, {}, and {} for each token of a row that is sampled",
                           count_text(count), bytes_text(2 * count), bytes_text(token_bytes));
  part.facts = {{"count", count}, {"bf16_bytes", 2 * count}, {"bf16_bytes_per_token", token_bytes}};
}

void look_at_positions(const ModelConfig& c, ModelPart& part) {
  part.found = fmt::format("{} tokens, rotary base {}", c.max_position_embeddings, c.rope_theta);
  if (c.rope.kind != policy::RopeKind::kNone)
    part.found +=
        fmt::format(", stretched {} times as {} does", c.rope.factor, policy::to_string(c.rope.kind));
  std::set<int64_t> windows;
  for (int64_t layer = 0; layer < c.num_hidden_layers; ++layer) windows.insert(c.window_of(layer));
  windows.erase(0);
  for (const int64_t window : windows)
    part.found += fmt::format(", attention to the last {} tokens in {}", window,
                              c.windowed.empty() ? "all blocks" : "some blocks");
  part.facts = {{"max_position_embeddings", c.max_position_embeddings},
                {"rope_theta", c.rope_theta},
                {"rope_scaling", policy::to_string(c.rope.kind)},
                {"rope_factor", c.rope.factor},
                {"sliding_window", windows.empty() ? 0 : *windows.begin()}};
}

void look_at_weights(const fs::path& dir, const ModelConfig* shape, ModelPart& part) {
  if (is_checkpoint(dir)) {
    part.found = "those of the checkpoint, in f32, as its manifest lists them";
    part.facts = {{"dtype", "float32"}};
    return;
  }
  const policy::WeightChoice choice = policy::choose_weights(dir);
  uint64_t bytes = 0;
  for (const std::string& file : choice.files) bytes += fs::file_size(dir / file);
  const std::string dtype = policy::read_origin(dir).dtype, ignored = policy::ignored_weights(dir);
  part.facts = {{"files", choice.files}, {"bytes", bytes}, {"dtype", dtype}, {"ignored", ignored}};
  const std::string files =
      choice.files.size() == 1 ? *choice.files.begin() : fmt::format("{} files", choice.files.size());
  part.found =
      fmt::format("{}, {}, {}", files, bytes_text(int64_t(bytes)), dtype.empty() ? "no dtype" : dtype);
  if (!ignored.empty()) part.found += "\n" + ignored;
  if (!shape) return;
  policy::check_weights(dir, *shape);
  part.found += "\nevery tensor of the shape is there; the numbers are looked at where a run begins";
}

std::vector<std::string> names_of(const policy::Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::vector<std::string> names;
  for (const int32_t id : ids) names.push_back(fmt::format("{} ({})", tokenizer.token_text(id), id));
  return names;
}

void look_at_tokenizer(const policy::Tokenizer& tokenizer, const ModelConfig* shape, ModelPart& part) {
  const size_t added = tokenizer.added_names().size();
  part.found =
      fmt::format("{}: {} ids, {} of them added tokens", tokenizer.kind(), tokenizer.vocab_size(), added);
  part.facts = {{"kind", tokenizer.kind()}, {"ids", tokenizer.vocab_size()}, {"added", added}};
  if (!shape) return;
  policy::check_tokenizer_fits(tokenizer, *shape);
  if (const int64_t padding = shape->vocab_size - tokenizer.vocab_size(); padding > 0)
    part.found += fmt::format("; {} rows of the vocabulary have no token and are never drawn", padding);
}

std::string origin_of(const policy::ChatLayout& layout, const policy::ChatSource& source) {
  if (source.format != "auto") return fmt::format("format {}, as asked", layout.name);
  if (layout.source.empty()) return fmt::format("format {}, which Temper knows", layout.name);
  if (layout.tried == 0) return "the folder's own template, known by its digest";
  return fmt::format("the folder's own template, run and compared on {} conversations: {}", layout.tried,
                     layout.rewrites.empty() ? "equal" : "append-only");
}

std::string example_of(const policy::ChatLayout& layout) {
  std::vector<policy::ChatMessage> messages = {
      {"system", "Be brief."}, {"user", "Hello."}, {"assistant", "Hi."}, {"user", "Bye."}};
  if (layout.limits.contains(std::string(policy::chat_limits::kSystem))) messages.erase(messages.begin());
  return policy::write_chat(layout, messages).text;
}

void look_at_chat(policy::Tokenizer& tokenizer, const policy::ChatSource& source, ModelPart& part) {
  const std::vector<std::string> said = policy::choose_chat(tokenizer, source);
  const policy::ChatFormat format(tokenizer);
  const policy::ChatLayout& layout = format.layout();
  std::vector<std::string> lines = {origin_of(layout, source)};
  for (const std::string& line : said) lines.push_back(line);
  if (!layout.limits.empty())
    lines.push_back(fmt::format("refused in conversations: {}", fmt::join(layout.limits, ", ")));
  if (format.opens_reasoning())
    lines.push_back("the prompt opens <think>: an answer begins inside the reasoning");
  part.found = fmt::format("{}", fmt::join(lines, "\n"));
  part.facts = {{"format", layout.name},       {"from_template", !layout.source.empty()},
                {"compared_on", layout.tried}, {"rewrites", layout.rewrites},
                {"limits", layout.limits},     {"opens_reasoning", format.opens_reasoning()},
                {"date", layout.date},         {"said", said},
                {"layout", to_json(layout)}};
}

// A text with its escapes, in lines as it breaks them.
std::string escaped(const std::string& text) {
  std::string lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string line =
        Json(text.substr(at, end - at)).dump(-1, ' ', false, Json::error_handler_t::replace);
    lines += (lines.empty() ? "" : "\n") + line.substr(1, line.size() - 2);
    at = end;
  }
  return lines;
}

void look_at_stops(const policy::Tokenizer& tokenizer, bool chat, ModelPart& part) {
  const std::vector<int32_t> ids = chat ? policy::ChatFormat(tokenizer).stop_ids() : tokenizer.ends();
  part.found = fmt::format("{}", fmt::join(names_of(tokenizer, ids), ", "));
  part.facts = Json::array();
  for (const int32_t id : ids) part.facts.push_back({{"id", id}, {"name", tokenizer.token_text(id)}});
  if (ids.empty()) throw ConfigError("model: no file of the folder names a token that ends an answer");
}

RunConfig planned(const fs::path& dir, const ModelConfig& shape) {
  RunConfig config;
  config.model.path = dir.string();
  config.rollout.max_context_tokens = std::min(kRowTokens, shape.max_position_embeddings);
  config.rollout.max_sequences = kSequences;
  return config;
}

Json facts_of(const Plan& plan) {
  Json memories = Json::array();
  for (const MemoryPlan& memory : plan.memories)
    memories.push_back({{"memory", memory.name},
                        {"needed_bytes", memory.needed_bytes()},
                        {"available_bytes", memory.available_bytes}});
  return {{"fits", misfit(plan).empty()}, {"memories", memories}, {"advice", plan.advice}};
}

// The memory that is nearest to being full decides.
std::string text_of(const Plan& plan) {
  if (const std::string why = misfit(plan); !why.empty()) return why;
  std::string text = "fits";
  for (const MemoryPlan& memory : plan.memories)
    if (memory.available_bytes >= 0) text += fmt::format("; {}", summary(memory));
  return plan.advice.empty() ? text : fmt::format("{}; {}", text, plan.advice);
}

void look_at_machine(const RunConfig& config, const ModelConfig& shape, ModelPart& part) {
  RunConfig here = config;
  use_device(here.model, shape, policy::alone(), here.rollout.max_context_tokens);
  const Plan plan = make_plan(here, shape, site_here(here, policy::alone()), {});
  part.found = fmt::format("{}: {}", here.model.device, text_of(plan));
  part.facts = facts_of(plan);
  part.facts["device"] = here.model.device;
}

void look_at_gpus(const RunConfig& config, const ModelConfig& shape, ModelPart& part) {
  RunConfig there = config;
  there.model.device = "cuda";
  part.facts = Json::array();
  if (const std::string unknown = policy::cuda::unknown_to_gpu(shape, there.rollout.max_context_tokens);
      !unknown.empty()) {
    part.found = fmt::format("none: {}; it computes on the CPU", unknown);
    return;
  }
  part.found = fmt::format("to learn with rows of {} tokens, {} of them sampled at once on each",
                           there.rollout.max_context_tokens, kSequences);
  for (const std::string& gpu : gpu_kinds())
    for (const int64_t count : {1, 8}) {
      const std::string machine = fmt::format("{}x{}", count, gpu);
      const Plan plan = make_plan(there, shape, site_named(machine), {});
      part.found += fmt::format("\n{}: {}", machine, text_of(plan));
      part.facts.push_back(facts_of(plan));
      part.facts.back()["machine"] = machine;
    }
}

}  // namespace

std::vector<ModelPart> read_model_page(const fs::path& dir, const policy::ChatSource& chat) {
  std::vector<ModelPart> page;
  std::optional<ModelConfig> shape;
  std::optional<policy::Tokenizer> tokenizer;
  const auto add = [&](const char* name, const std::function<void(ModelPart&)>& look) {
    page.push_back(part(name, look));
    return page.back().refused.empty();
  };
  add("folder", [&](ModelPart& part) { look_at_folder(dir, part); });
  add("shape", [&](ModelPart& part) { look_at_shape(shape.emplace(policy::read_model_config(dir)), part); });
  if (shape) {
    add("parameters", [&](ModelPart& part) { look_at_parameters(*shape, part); });
    add("positions", [&](ModelPart& part) { look_at_positions(*shape, part); });
  }
  add("weights", [&](ModelPart& part) { look_at_weights(dir, shape ? &*shape : nullptr, part); });
  add("tokenizer", [&](ModelPart& part) {
    tokenizer.emplace(policy::Tokenizer::load(dir));
    if (is_checkpoint(dir)) policy::take_kept_layout(*tokenizer, dir);
    look_at_tokenizer(*tokenizer, shape ? &*shape : nullptr, part);
  });
  if (tokenizer) {
    const bool chats = add("chat", [&](ModelPart& part) { look_at_chat(*tokenizer, chat, part); });
    if (chats)
      add("example", [&](ModelPart& part) {
        part.facts = example_of(*tokenizer->chat);
        part.found = escaped(part.facts.get<std::string>());
      });
    add("stops", [&](ModelPart& part) { look_at_stops(*tokenizer, chats, part); });
  }
  if (!shape) return page;
  const RunConfig config = planned(dir, *shape);
  add("here", [&](ModelPart& part) { look_at_machine(config, *shape, part); });
  add("gpus", [&](ModelPart& part) { look_at_gpus(config, *shape, part); });
  return page;
}

}  // namespace temper::trainer
