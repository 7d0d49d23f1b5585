#pragma once
// The manifest.json of a checkpoint: what made it, how far the run was, and each file with its digest. A folder
// without a complete manifest is not a checkpoint.

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "policy/model_config.h"
#include "policy/parameters/parameter_share.h"

namespace temper::trainer {

struct RunConfig;

struct FileDigest {
  std::string name;
  uint64_t bytes = 0;
  std::string sha256;
  bool by_pieces = false;  // the digest is that of pieces, policy/parameters/piece_digest.h
};

// One rank's part of a checkpoint.
struct RankRecord {
  FileDigest share;            // its file, policy/parameters/parameter_share.h
  policy::ShareBegins begins;  // where the parts in it begin
  uint64_t verdict_bytes = 0;  // size of its journal (env/verdict/verdict_journal.h) at that moment
};

// How far a cold start was.
struct ColdStartPlace {
  int64_t updates = 0, tokens = 0;
  double seconds = 0;
  std::string examples = "";  // digest of what is learned from
};

struct Manifest {
  static constexpr int64_t kVersion = 1;

  std::map<std::string, std::string> config;               // every option
  std::string tasks;                                       // digest of what the judge is asked about
  std::map<std::string, std::vector<int64_t>> parameters;  // shapes
  int64_t vocabulary = 0;                                  // tokens of the tokenizer
  int64_t step = 0;                                        // steps done
  int64_t updates = 0;                                   // optimizer updates so far, for its bias correction
  std::deque<double> gradient_norms = {};                // of the latest, for optimizer.max_spike
  double seconds = 0;                                    // elapsed time, for run.max_seconds
  double metric = 0;                                     // value of checkpoint.best's metric; NaN if not set
  nlohmann::json evaluations = nlohmann::json::array();  // so far
  std::map<std::string, double> pass_rates;              // trainer/run/task_order.h
  std::map<std::string, std::string> left_out = {};      // likewise
  std::map<std::string, uint64_t> records;               // files of the run → bytes at that moment
  std::vector<FileDigest> files;                         // config.json, the tokenizer's
  std::vector<RankRecord> ranks;
  std::optional<ColdStartPlace> cold_start = {};  // within it; step is 0 then
  nlohmann::json start =
      nullptr;  // what wrote it, trainer/run/provenance.h; decides nothing. Null: an older program
  std::map<std::string, std::string> words = {};  // the user's own words in prompts, words_of()
};

void to_json(nlohmann::json& json, const FileDigest& file);
void from_json(const nlohmann::json& json, FileDigest& file);
void to_json(nlohmann::json& json, const RankRecord& record);
void from_json(const nlohmann::json& json, RankRecord& record);

std::string to_text(const Manifest& manifest);
// Errors: ConfigError saying what is wrong with it. A manifest that was edited does not match its own digest.
Manifest manifest_from(const std::string& text);

// The digest of the file's present content. Errors: WorldError.
FileDigest digest_of(const std::filesystem::path& file);

// The texts of rollout.prompt by option: "system", "first", "later"; those that there are.
std::map<std::string, std::string> words_of(const RunConfig& config);
// "rollout.prompt.first: words.txt is not what the run began with: …", from the first line that differs; empty: all alike.
std::string changed_words(const std::map<std::string, std::string>& before, const RunConfig& now);

std::map<std::string, std::vector<int64_t>> shapes_of(const policy::ModelConfig& config);

struct OptionChange {
  std::string key, now, before;
  std::string text() const;  // "optimizer.lr is 1e-05, was 1e-06"
};
std::vector<OptionChange> option_changes(const std::map<std::string, std::string>& before,
                                         const RunConfig& now);

// "optimizer.lr is 1e-05, was 1e-06; …"; empty if only options changed that may: length, place and machine.
std::string changed_options(const std::map<std::string, std::string>& before, const RunConfig& now);

}  // namespace temper::trainer
