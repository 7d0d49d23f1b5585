#pragma once
// Which file of a Hugging Face directory holds which tensor, checked against the network before anything of
// the weights is read or memory for them is asked for.

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "policy/hugging_face/safetensors.h"
#include "policy/hugging_face/weight_choice.h"
#include "policy/model_config.h"
#include "policy/parameters/parameter_store.h"

namespace temper::policy {

struct WeightPlace {
  const SafetensorsFile* file;
  const TensorPlace* place;
};

class WeightFiles {
 public:
  // Reads the headers of the files that choose_weights names (policy/hugging_face/weight_choice.h). Buffers that older
  // programs stored are skipped (stored_names.h). Errors: ConfigError naming the file and a tensor that is missing,
  // unknown, present twice, in another file than the index says, not in the index, or of another shape or dtype; or if
  // the total in the index is wrong.
  WeightFiles(const std::filesystem::path& dir, const ModelConfig& config);

  const WeightPlace& of(const std::string& parameter) const { return places_.at(parameter); }
  uint64_t bytes() const;  // size of all files

  // Some write a tied embedding a second time. Errors: ConfigError if it is another one.
  void check_tied_head() const;

 private:
  void open(const std::filesystem::path& dir, const WeightChoice& choice);
  void check_size(const std::filesystem::path& dir, const WeightChoice& choice,
                  const ModelConfig& config) const;
  void add_tensors(const SafetensorsFile& file, const std::set<std::string>& known,
                   const std::string& beside);
  void check_index(const std::filesystem::path& dir, const WeightIndex& index) const;
  void check_parameters(const std::filesystem::path& dir, const std::vector<ParameterInfo>& parameters) const;

  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, WeightPlace> places_, buffers_;  // what is read, and what is skipped
  bool tied_head_ = false;
};

}  // namespace temper::policy
