// Hugging Face weights in and out: hostile headers and indexes, files of limited size, dtypes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/rng.h"
#include "policy/hugging_face/files.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/hugging_face/safetensors.h"
#include "policy/hugging_face/weight_conversion.h"
#include "policy/parameters/piece_digest.h"
#include "policy/threads.h"
#include "tests/policy/small_model.h"

namespace temper::policy {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class WeightFolder : public testing::Test {
 protected:
  WeightFolder() { fs::create_directories(dir_); }
  ~WeightFolder() override { fs::remove_all(dir_); }

  template <class F>
  static std::string error_of(const F& f) {
    try {
      f();
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "none";
  }
  std::string header_error(const std::string& header, const std::string& data = std::string(8, 'x')) const {
    const uint64_t n = header.size();
    std::ofstream(path()) << std::string(reinterpret_cast<const char*>(&n), 8) << header << data;
    return error_of([&] { SafetensorsFile file(path()); });
  }
  std::string import_error() const {
    return error_of([&] { import_policy(dir_, {}); });
  }
  std::string check_error(const ModelConfig& config) const {
    return error_of([&] { check_weights(dir_, config); });
  }
  void write(const Policy& policy, const ExportOptions& options = {}) const {
    write_model_config(dir_, policy.config(), policy.options().dtype, {{}, {2}, 0});
    write_weights(dir_, policy, options);
  }
  nlohmann::json index() const {
    return nlohmann::json::parse(read_file(dir_ / "model.safetensors.index.json"));
  }
  void write_index(const std::string& text) const { write_file(dir_ / "model.safetensors.index.json", text); }
  // One tensor of the files again, changed.
  void rewrite(const std::string& file, const std::string& tensor,
               const std::function<void(std::vector<std::byte>&)>& change) const {
    std::map<std::string, std::vector<std::byte>> data;
    std::map<std::string, StoredTensor> tensors;
    {
      const SafetensorsFile read(dir_ / file);
      for (const auto& [name, place] : read.tensors()) {
        data[name] = read.read(name);
        if (name == tensor) change(data[name]);
        tensors[name] = {place.dtype, place.shape, data[name]};
      }
    }
    write_safetensors(dir_ / file, tensors);
  }
  fs::path path() const { return dir_ / "model.safetensors"; }

  const fs::path dir_ = fs::path(testing::TempDir()) / fmt::format("temper_weights_{}", ::getpid());
};

std::string entry(const std::string& name, const std::string& more = "") {
  return fmt::format(R"("{}":{{"dtype":"F32","shape":[2],"data_offsets":[0,8]{}}})", name, more);
}

TEST_F(WeightFolder, HeadersAreReadAsTheFormatSaysAndNoFurther) {
  EXPECT_EQ(header_error("{" + entry("a") + "}"), "none");
  EXPECT_EQ(header_error("{" + entry("a", R"(,"more":[1,2])") + "}"), "none");
  EXPECT_THAT(header_error("{" + entry("a") + "}" + std::string(1, '\0') + "{}"), HasSubstr("NUL"));
  EXPECT_THAT(header_error("\xef\xbb\xbf{" + entry("a") + "}"), HasSubstr("byte order mark"));
  EXPECT_THAT(header_error(R"({"__metadata__":[1],)" + entry("a") + "}"),
              HasSubstr("__metadata__ is a list"));
  EXPECT_THAT(header_error(R"({"__metadata__":{"k":1},)" + entry("a") + "}"), HasSubstr("not a text"));
  EXPECT_THAT(header_error(R"({"__metadata__":null,)" + entry("a") + "}"), HasSubstr("not an object"));
  EXPECT_THAT(header_error("{" + entry("a", R"(,"dtype":"F32")") + "}"), HasSubstr("names 'dtype' twice"));
  EXPECT_THAT(header_error("{" + entry("a", R"(,"more":[[1]])") + "}"), HasSubstr("more than 3 deep"));
  EXPECT_THAT(header_error("{" + entry("a", R"(,"more":{"b":1})") + "}"), HasSubstr("more than a list"));
}

TEST_F(WeightFolder, HostileHeadersCostNoMoreThanTheirBytes) {
  EXPECT_THAT(header_error(std::string(5'000'000, '[')), HasSubstr("not a JSON object"));
  std::string nested;
  for (int i = 0; i < 1'000'000; ++i) nested += R"({"a":)";
  EXPECT_THAT(header_error(nested), HasSubstr("'a': a holds more than a list"));
  std::string many = "{";
  for (int i = 0; i < 100'000; ++i)
    many += fmt::format(R"({}"t{}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})", i ? "," : "", i);
  EXPECT_EQ(header_error(many + "}", ""), "none");
}

TEST_F(WeightFolder, StrangersTextIsShownShortAndEscaped) {
  const std::string error = header_error(fmt::format(R"({{"\u001b[31m{}":3}})", std::string(100'000, 'n')));
  EXPECT_LT(error.size(), 300u);
  EXPECT_THAT(error, HasSubstr("\\x1b[31m"));
}

// Somebody copies over it meanwhile.
TEST_F(WeightFolder, AFileThatBecomesShorterIsAnError) {
  write(random_policy(small_config(), {}, 1));
  const SafetensorsFile file(path());
  fs::resize_file(path(), fs::file_size(path()) - 4);
  std::string error = "none";
  for (const auto& [name, place] : file.tensors()) try {
      file.read(name);
    } catch (const WorldError& e) {
      error = e.what();
    }
  EXPECT_THAT(error, HasSubstr("became shorter while it was read"));
}

TEST_F(WeightFolder, WhatIsNoRegularFileIsRefused) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { SafetensorsFile file(path()); }), HasSubstr("not a regular file"));
  EXPECT_THAT(check_error(small_config()), HasSubstr("not a regular file"));
}

// Any change or truncation of a file is an error that names it, or it loads.
TEST_F(WeightFolder, MutatedFilesAreRefusedOrLoad) {
  write(random_policy(small_config(), {}, 1));
  const std::string original = read_file(path());
  uint64_t header;
  std::memcpy(&header, original.data(), 8);
  Rng rng{5};
  int refused = 0;
  for (int round = 0; round < 500; ++round) {
    std::string mutated = original;
    for (uint64_t changes = 1 + rng.below(3); changes > 0; --changes)
      mutated[rng.below(8 + header)] =
          rng.below(2) ? char(rng.below(256)) : "0123456789{}[],:\""[rng.below(17)];
    if (rng.below(4) == 0) mutated.resize(rng.below(mutated.size()));
    std::ofstream(path(), std::ios::binary) << mutated;
    const std::string error = import_error();
    refused += error != "none";
    EXPECT_TRUE(error == "none" || error.find(dir_.string()) != std::string::npos) << round << ": " << error;
  }
  EXPECT_GT(refused, 300);
}

TEST_F(WeightFolder, FilesAreOfLimitedSizeAndTheIndexNamesThem) {
  for (const bool tied : {true, false}) {
    const Policy policy = random_policy(small_config(tied), {}, 1);
    write(policy, {.shard_bytes = 9'000});
    std::set<std::string> files;
    int64_t total = 0;
    const nlohmann::json map = index()["weight_map"];
    for (const auto& [tensor, file] : map.items()) files.insert(file);
    ASSERT_GT(files.size(), 2u);
    EXPECT_EQ(*files.begin(), fmt::format("model-00001-of-{:05}.safetensors", files.size()));
    for (const std::string& name : files) {
      const SafetensorsFile file(dir_ / name);
      uint64_t bytes = 0;
      for (const auto& [tensor, place] : file.tensors()) bytes += place.bytes;
      EXPECT_TRUE(bytes <= 9'000 || file.tensors().size() == 1) << bytes;
      total += int64_t(bytes);
    }
    EXPECT_EQ(index()["metadata"]["total_size"], total);
    EXPECT_EQ(total, 4 * policy.config().parameter_count());
    EXPECT_TRUE(at::equal(import_policy(dir_, {}).parameters().weights(), policy.parameters().weights()));
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
}

TEST_F(WeightFolder, WhatTheIndexSaysMustBeSo) {
  const Policy policy = random_policy(small_config(), {}, 1);
  write(policy, {.shard_bytes = 9'000});
  const nlohmann::json good = index();
  const std::string norm = "model.norm.weight", file = good["weight_map"][norm];
  const std::string embedding = good["weight_map"]["model.embed_tokens.weight"];
  const auto with = [&](const std::string& tensor, const std::string& place) {
    nlohmann::json json = good;
    json["weight_map"][tensor] = place;
    write_index(json.dump());
    return import_error();
  };
  EXPECT_EQ(with(norm, file), "none");
  EXPECT_THAT(with(norm, embedding), HasSubstr("'model.norm.weight': is missing, although"));
  EXPECT_THAT(with("no.such", file), HasSubstr("'no.such': is missing, although"));
  for (const char* place : {"..", ".", "", "/etc/passwd", "../model.safetensors"})
    EXPECT_THAT(with(norm, place), HasSubstr("not a file of this directory"));
  const auto written = [&](const std::function<void(nlohmann::json&)>& change) {
    nlohmann::json json = good;
    change(json);
    write_index(json.dump());
    return import_error();
  };
  EXPECT_THAT(written([&](auto& json) { json["weight_map"].erase(norm); }),
              HasSubstr("'model.norm.weight': model.safetensors.index.json does not list it"));
  const int64_t total = good["metadata"]["total_size"];
  EXPECT_THAT(written([&](auto& json) { json["metadata"]["total_size"] = total + 4; }),
              HasSubstr("total_size is"));
  EXPECT_THAT(written([](auto& json) { json["metadata"]["total_size"] = 1e300; }),
              HasSubstr("total_size is"));
  EXPECT_EQ(written([&](auto& json) { json["metadata"]["total_size"] = double(total); }), "none");
  EXPECT_EQ(written([](auto& json) { json.erase("metadata"); }), "none");
  write_index(R"({"weight_map":{"a":"b","a":"b"}})");
  EXPECT_THAT(import_error(), HasSubstr("names 'a' twice"));
  write_index(R"({"metadata":{}})");
  EXPECT_THAT(import_error(), HasSubstr("has no weight_map"));
  write_index(good.dump());
  fs::copy(dir_ / file, dir_ / "again.safetensors");
  EXPECT_THAT(with("model.norm.weight", "again.safetensors"), HasSubstr("is in"));
  fs::remove(dir_ / "again.safetensors");
  EXPECT_THAT(with(norm, "again.safetensors"), HasSubstr("again.safetensors: no such file"));
  EXPECT_EQ(with(norm, file), "none");
  fs::remove(dir_ / embedding);
  EXPECT_THAT(import_error(), HasSubstr(embedding + ": no such file"));
}

TEST_F(WeightFolder, ATiedHeadIsTheEmbedding) {
  const Policy untied = random_policy(small_config(false), {}, 1);
  write(untied);
  EXPECT_THAT(check_error(small_config(true)), "none");  // the bytes say it, not the headers
  write_model_config(dir_, small_config(true), DType::kF32, {{}, {2}, 0});
  EXPECT_THAT(import_error(), HasSubstr("'lm_head.weight': is not the embedding"));
  std::vector<std::byte> embedding = SafetensorsFile(path()).read("model.embed_tokens.weight");
  rewrite("model.safetensors", "lm_head.weight", [&](auto& data) { data = embedding; });
  EXPECT_EQ(import_error(), "none");
  write(random_policy(small_config(true), {}, 1));
  write_model_config(dir_, small_config(false), DType::kF32, {{}, {2}, 0});
  EXPECT_THAT(import_error(), HasSubstr("'lm_head.weight' is missing (1 in all); config.json says that"));
}

TEST_F(WeightFolder, WeightsMustBeFinite) {
  write(random_policy(small_config(), {}, 1));
  rewrite("model.safetensors", "model.norm.weight", [](auto& data) {
    const float nan = std::nanf("");
    std::memcpy(data.data() + 4, &nan, 4);
  });
  EXPECT_THAT(import_error(), HasSubstr("'model.norm.weight': 1 of its numbers"));
  NotFinite found;
  EXPECT_TRUE(import_policy(dir_, {}, &found).parameters().weights().isnan().any().item<bool>());
  EXPECT_EQ(found.count, 1);
  EXPECT_THAT(to_text(found), HasSubstr("1 of the weights' numbers are not finite, the first in "));
  EXPECT_THAT(found.where, HasSubstr("tensor 'model.norm.weight': 1 of its numbers from number 0 on"));
}

TEST_F(WeightFolder, AreStoredInTheDtypeThatIsAskedFor) {
  const Policy policy = random_policy(small_config(), {}, 1);
  const at::Tensor weights = policy.parameters().weights();
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kDouble, at::kFloat}) {
    write(policy, {.dtype = config_name(type)});
    EXPECT_EQ(SafetensorsFile(path()).tensors().begin()->second.dtype, stored_name(type));
    EXPECT_TRUE(at::equal(import_policy(dir_, {}).parameters().weights(), weights.to(type).to(at::kFloat)));
    EXPECT_TRUE(at::equal(import_policy(dir_, {.dtype = DType::kF64}).parameters().weights(),
                          weights.to(type).to(at::kDouble)));
  }
  EXPECT_THAT(error_of([&] { write(policy, {.dtype = "int8"}); }), HasSubstr("dtype: int8"));
}

// Byte for byte what goes through a policy, between any two types.
TEST_F(WeightFolder, AreCopiedFromFileToFile) {
  const Tokenizer tokenizer = Tokenizer::train({"void f(float* x)", "for (int i = 0; i < n; ++i)"}, 380);
  ModelConfig config = small_config();
  config.vocab_size = 400;
  const Policy policy = random_policy(config, {}, 1);
  const auto same = [&](const char* name) {
    return read_file(dir_ / "copy" / name) == read_file(dir_ / "through" / name);
  };
  for (const char* from : {"float32", "float64", "bfloat16", "float16"})
    for (const char* to : {"float32", "float64", "bfloat16", "float16"}) {
      export_hugging_face(policy, tokenizer, dir_ / "in", {.dtype = from, .shard_bytes = 30'000});
      EXPECT_EQ(copy_hugging_face(dir_ / "in", tokenizer, dir_ / "copy", {.dtype = to}).count, 0);
      export_hugging_face(import_policy(dir_ / "in", {}), tokenizer, dir_ / "through", {.dtype = to});
      EXPECT_TRUE(same("model.safetensors") && same("config.json")) << from << " to " << to;
    }
  export_hugging_face(policy, tokenizer, dir_ / "in", {.dtype = "float16"});
  rewrite("in/model.safetensors", "model.norm.weight", [](auto& data) {
    const uint16_t infinite = 0x7c00;
    std::memcpy(data.data() + 6, &infinite, 2);
  });
  const NotFinite found = copy_hugging_face(dir_ / "in", tokenizer, dir_ / "copy");
  EXPECT_EQ(stored_dtype(dir_ / "copy"), "float16");
  EXPECT_EQ(found.count, 1);
  EXPECT_THAT(found.where, HasSubstr("tensor 'model.norm.weight': 1 of its numbers from number 0 on"));
}

TEST(PieceDigest, IsTheSameHoweverManyThreads) {
  const fs::path path = fs::path(testing::TempDir()) / fmt::format("temper_pieces_{}", ::getpid());
  std::vector<float> values(40'000'000);  // 160 MB: three pieces
  for (size_t i = 0; i < values.size(); ++i) values[i] = float(i);
  const std::map<std::string, StoredTensor> tensors = {
      {"a", {"F32", {30'000'000}, std::as_bytes(std::span(values).first(30'000'000))}},
      {"b", {"F32", {10'000'000}, std::as_bytes(std::span(values).last(10'000'000))}}};
  const std::string one = write_safetensors(path, tensors, 1, true);
  EXPECT_EQ(digest_of_pieces(path, 3), one);
  EXPECT_EQ(write_safetensors(path, tensors, 4, true), one);
  EXPECT_EQ(digest_of_pieces(path, 1), one);
  const std::vector<std::byte> b = SafetensorsFile(path).read("b");
  EXPECT_EQ(std::memcmp(b.data(), values.data() + 30'000'000, b.size()), 0);
  fs::remove(path);
}

TEST(OnThreads, DoesEachOnceAndThrowsTheFirstError) {
  std::vector<std::atomic<int>> done(1000);
  on_threads(1000, 4, [&](int64_t i, int) { ++done[size_t(i)]; });
  for (const auto& count : done) EXPECT_EQ(count, 1);
  EXPECT_THROW(on_threads(1000, 4,
                          [](int64_t i, int) {
                            if (i == 3) throw ConfigError("three");
                          }),
               ConfigError);
}

}  // namespace
}  // namespace temper::policy
