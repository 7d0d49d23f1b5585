#include <sentencepiece_trainer.h>

#include <cmath>
#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <unordered_map>

#include "base/error.h"
#include "policy/text/piece_model.h"
#include "policy/text/tokenizer_files.h"
#include "policy/text/tokenizer_phrases.h"

namespace temper::policy {
namespace {

// sentencepiece drops a whole sentence that holds a character it uses itself; cut there instead.
std::vector<std::string> sentences(const std::vector<std::string>& texts) {
  constexpr std::string_view kReserved[] = {"\t", "\xE2\x96\x81", "\xE2\x96\x85", {"\0", 1}};
  std::vector<std::string> parts = texts;
  for (std::string_view mark : kReserved) {
    std::vector<std::string> cut;
    for (const std::string& part : parts) {
      size_t begin = 0;
      for (size_t at; (at = part.find(mark, begin)) != std::string::npos; begin = at + mark.size()) {
        cut.push_back(part.substr(begin, at - begin));
      }
      cut.push_back(part.substr(begin));
    }
    parts = std::move(cut);
  }
  std::erase_if(parts, [](const std::string& part) { return part.empty(); });
  return parts;
}

// Each printable ASCII character becomes a piece of its own, seen in the texts or not: text that spells the
// name of a special or a byte piece can then always be cut some other way.
std::string printable_ascii() {
  std::string all;
  for (char c = ' '; c <= '~'; ++c) all += c;
  return all;
}

class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(std::vector<std::string> all) : all_(std::move(all)) {}
  bool done() const override { return at_ >= all_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return all_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::vector<std::string> all_;
  size_t at_ = 0;
};

constexpr char kUnigram = 1;
constexpr int kRounds = 2;  // rounds of cutting the texts and counting

// Turns a serialized model into a unigram one with these scores, one per piece. The library hides its
// protobuf classes, and what changes keeps its length, so it is changed in place.
void set_unigram(std::string& model, const std::vector<float>& scores) {
  using namespace piece_model;
  using protozero::pbf_reader;
  const auto place_of = [&](const pbf_reader& field) {
    return &model[size_t(field.data().data() - model.data())];
  };
  size_t piece = 0;
  for (pbf_reader outer(model); outer.next();) {
    const auto part = outer.tag();
    if (part != kTrainerSpec && part != kPieces) {
      outer.skip();
      continue;
    }
    for (pbf_reader inner = outer.get_message(); inner.next(); inner.skip()) {
      if (part == kTrainerSpec && inner.tag() == kModelType) *place_of(inner) = kUnigram;
      if (part == kPieces && inner.tag() == kScore)
        std::memcpy(place_of(inner), &scores.at(piece++), sizeof(float));
    }
  }
  TEMPER_CHECK_EQ(piece, scores.size());
}

// Log of each piece's share of the texts' tokens, as the model cuts them now; every piece counts as seen once
// more.
std::vector<float> measured_scores(const std::string& model, const std::vector<std::string>& texts) {
  sentencepiece::SentencePieceProcessor processor;
  const auto status = processor.LoadFromSerializedProto(model);
  TEMPER_CHECK(status.ok(), "{}", status.ToString());
  std::vector<double> counts(size_t(processor.GetPieceSize()), 1);
  double total = double(counts.size());
  for (const std::string& text : texts) {
    for (int id : processor.EncodeAsIds(text)) ++counts[size_t(id)], ++total;
  }
  std::vector<float> scores;
  for (double count : counts) scores.push_back(float(std::round(std::log(count / total) * 64) / 64));
  return scores;
}

}  // namespace

std::string train_model(const std::vector<std::string>& texts, int64_t vocab_size) {
  const std::unordered_map<std::string, std::string> spec = {
      {"model_type", "bpe"},
      {"vocab_size", std::to_string(vocab_size)},
      {"normalization_rule_name", "identity"},
      {"add_dummy_prefix", "false"},
      {"remove_extra_whitespaces", "false"},
      {"byte_fallback", "true"},
      {"character_coverage", "1.0"},
      {"split_by_whitespace", "false"},
      {"split_by_unicode_script", "false"},
      {"split_by_number", "false"},
      {"allow_whitespace_only_pieces", "true"},
      {"max_sentencepiece_length", "16"},
      {"hard_vocab_limit", "false"},
      {"max_sentence_length", "1000000000"},
      {"control_symbols", fmt::format("{}", fmt::join(kSpecialTokens, ","))},
      {"bos_id", "-1"},
      {"eos_id", "-1"},
      {"minloglevel", "3"},
  };
  std::vector<std::string> parts = sentences(phrases(texts));
  if (parts.empty()) throw ConfigError("no text to train a tokenizer on");
  parts.push_back(printable_ascii());
  Sentences all(parts);
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(spec, &all, &model);
  if (!status.ok()) throw ConfigError("no tokenizer of {} pieces: {}", vocab_size, status.ToString());
  for (int round = 0; round < kRounds; ++round) set_unigram(model, measured_scores(model, parts));
  return model;
}

}  // namespace temper::policy
