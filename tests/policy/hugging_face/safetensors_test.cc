#include "policy/hugging_face/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <list>

#include "base/error.h"
#include "base/files.h"
#include "base/rng.h"
#include "policy/hugging_face/files.h"
#include "policy/hugging_face/hugging_face.h"
#include "tests/policy/small_model.h"

namespace temper::policy {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  Files() : dir_(fs::path(testing::TempDir()) / fmt::format("temper_policy_{}", ::getpid())) {
    fs::create_directories(dir_);
  }
  ~Files() override { fs::remove_all(dir_); }

  void write(const std::string& header, const std::string& data, int64_t length = -1) {
    const uint64_t n = length < 0 ? header.size() : uint64_t(length);
    write_file_atomic(path(), std::string(reinterpret_cast<const char*>(&n), 8) + header + data);
  }
  std::string error() const {
    try {
      SafetensorsFile file(path());
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "none";
  }
  std::string error_of(const std::string& header, const std::string& data, int64_t length = -1) {
    write(header, data, length);
    return error();
  }
  fs::path path() const { return dir_ / "model.safetensors"; }
  fs::path dir_;
};

const std::string kEight(8, 'x');

// All of a file's tensors in memory.
struct WholeFile {
  explicit WholeFile(const fs::path& path) {
    const SafetensorsFile file(path);
    for (const auto& [name, place] : file.tensors()) {
      data.push_back(file.read(name));
      tensors[name] = {place.dtype, place.shape, data.back()};
    }
  }
  std::list<std::vector<std::byte>> data;
  std::map<std::string, StoredTensor> tensors;
};

TEST_F(Files, ReadWhatWasWritten) {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  const std::vector<uint16_t> b = {7};
  const std::map<std::string, StoredTensor> tensors = {{"a", {"F32", {2, 3}, std::as_bytes(std::span(a))}},
                                                       {"b", {"BF16", {}, std::as_bytes(std::span(b))}},
                                                       {"none", {"F32", {0, 4}, {}}}};
  write_safetensors(path(), tensors);
  const WholeFile file(path());
  ASSERT_EQ(file.tensors.size(), 3u);
  for (const auto& [name, tensor] : tensors) {
    const StoredTensor& read = file.tensors.at(name);
    EXPECT_EQ(read.dtype, tensor.dtype);
    EXPECT_EQ(read.shape, tensor.shape);
    EXPECT_TRUE(std::equal(read.data.begin(), read.data.end(), tensor.data.begin(), tensor.data.end()));
  }
}

TEST_F(Files, AcceptSpacesBehindTheHeaderAndMetadata) {
  EXPECT_EQ(error_of(R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}   )",
                     kEight),
            "none");
}

TEST_F(Files, RefuseHostileHeaders) {
  const auto entry = [](const char* dtype, const char* shape, const char* offsets) {
    return fmt::format(R"({{"a":{{"dtype":{},"shape":{},"data_offsets":{}}}}})", dtype, shape, offsets);
  };
  EXPECT_EQ(error_of(entry(R"("F32")", "[2]", "[0,8]"), kEight), "none");
  EXPECT_THAT(error_of(entry(R"("F32")", "[2]", "[0,8]"), ""), HasSubstr("is cut short"));
  EXPECT_THAT(error_of(entry(R"("F33")", "[2]", "[0,8]"), kEight), HasSubstr("tensor 'a': dtype \"F33\""));
  EXPECT_THAT(error_of(entry("4", "[2]", "[0,8]"), kEight), HasSubstr("dtype 4"));
  EXPECT_THAT(error_of(entry(R"("F32")", "[3]", "[0,8]"), kEight), HasSubstr("takes 12 bytes"));
  EXPECT_THAT(error_of(entry(R"("F32")", "[-2]", "[0,8]"), kEight), HasSubstr("-2 is not a non-negative"));
  EXPECT_THAT(error_of(entry(R"("F32")", "[2.0]", "[0,8]"), kEight), HasSubstr("not a non-negative"));
  EXPECT_THAT(error_of(entry(R"("F32")", "2", "[0,8]"), kEight), HasSubstr("not a list"));
  EXPECT_THAT(error_of(entry(R"("F32")", "[4294967296,4294967296]", "[0,8]"), kEight),
              HasSubstr("overflows"));
  EXPECT_THAT(error_of(entry(R"("F32")", "[2]", "[8,0]"), kEight), HasSubstr("no range"));
  EXPECT_THAT(error_of(entry(R"("F32")", "[2]", "[0]"), kEight), HasSubstr("not two numbers"));
  EXPECT_THAT(error_of(entry(R"("F32")", "[2]", "[0,18446744073709551615]"), kEight), HasSubstr("no range"));
  EXPECT_THAT(error_of(entry(R"("F32")", "[1]", "[4,8]"), kEight), HasSubstr("a hole"));
  EXPECT_THAT(error_of(entry(R"("F32")", "[1]", "[0,4]"), kEight), HasSubstr("end at byte 4 of 8"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                           "b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                       kEight),
              HasSubstr("overlap"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                           "a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                       kEight),
              HasSubstr("names 'a' twice"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32"}})", kEight), HasSubstr("has no shape"));
  EXPECT_THAT(error_of(R"({"a":3})", kEight), HasSubstr("has no dtype"));
  EXPECT_THAT(error_of("[1]", kEight), HasSubstr("not a JSON object"));
  EXPECT_THAT(error_of("{", kEight), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("{}", "", int64_t(1) << 40), HasSubstr("no safetensors file"));
  EXPECT_THAT(error_of("{}", "", 3), HasSubstr("cut short"));
  EXPECT_THAT(error_of(entry(R"("F32")", "[2]", "[0,8]"), std::string(7, 'x')),
              HasSubstr("is cut short: its header describes a file of"));
  write_file_atomic(path(), "1234");
  EXPECT_THAT(error(), HasSubstr("4 bytes are no safetensors file"));
}

// Any change of any header byte, and any truncation, gives an error or a file whose tensors lie inside it.
TEST_F(Files, SurviveMutatedHeaders) {
  const std::vector<float> values(10);
  write_safetensors(path(), {{"a", {"F32", {2, 3}, std::as_bytes(std::span(values).first(6))}},
                             {"b", {"F32", {4}, std::as_bytes(std::span(values).last(4))}}});
  const std::string original = read_file(path());
  Rng rng{3};
  int refused = 0, accepted = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string mutated = original;
    for (uint64_t changes = 1 + rng.below(3); changes > 0; --changes) {
      const size_t at = rng.below(original.size() - 40);
      mutated[at] = rng.below(2) ? char(rng.below(256)) : "0123456789{}[],:\""[rng.below(17)];
    }
    if (rng.below(4) == 0) mutated.resize(rng.below(mutated.size()));
    std::FILE* file = std::fopen(path().c_str(), "wb");
    std::fwrite(mutated.data(), 1, mutated.size(), file);
    std::fclose(file);
    try {
      size_t bytes = 0;
      const SafetensorsFile read(path());
      for (const auto& [name, tensor] : read.tensors()) bytes += tensor.bytes;
      EXPECT_LE(bytes, mutated.size());
      ++accepted;
    } catch (const ConfigError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(accepted, 10);
}

class Directory : public Files {
 protected:
  std::string import_error() {
    try {
      import_policy(dir_, {});
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "none";
  }
  void write_policy(const Policy& policy) {
    write_model_config(dir_, policy.config(), policy.options().dtype, {{}, {2}, 0});
    write_weights(dir_, policy);
  }
  void replace_in_config(const std::string& from, const std::string& to) {
    std::string text = read_file(dir_ / "config.json");
    ASSERT_NE(text.find(from), std::string::npos) << text;
    write_file_atomic(dir_ / "config.json", text.replace(text.find(from), from.size(), to));
  }
};

TEST_F(Directory, ReadsBackTheSamePolicy) {
  for (bool tied : {true, false}) {
    const Policy policy = random_policy(small_config(tied), {}, 1);
    write_policy(policy);
    const Policy read = import_policy(dir_, {});
    EXPECT_EQ(read.config().tie_word_embeddings, tied);
    EXPECT_EQ(read.config().parameter_count(), policy.config().parameter_count());
    EXPECT_EQ(read.config().rope_theta, policy.config().rope_theta);
    EXPECT_TRUE(at::equal(read.parameters().weights(), policy.parameters().weights()));
  }
}

TEST_F(Directory, ConvertsOtherDtypes) {
  const Policy policy = random_policy(small_config(), {}, 1);
  write_policy(policy);
  const at::Tensor half = policy.parameters().weights().to(at::kBFloat16);
  std::map<std::string, StoredTensor> tensors;
  for (const auto& p : policy.parameters().parameters())
    tensors[p.name] = {
        "BF16",
        p.shape,
        {static_cast<const std::byte*>(half.const_data_ptr()) + 2 * p.offset, size_t(2 * p.size)}};
  write_safetensors(path(), tensors);
  EXPECT_TRUE(at::equal(import_policy(dir_, {}).parameters().weights(), half.to(at::kFloat)));
  const Policy wide = import_policy(dir_, {.dtype = DType::kF64});
  EXPECT_TRUE(at::equal(wide.parameters().weights(), half.to(at::kDouble)));
}

TEST_F(Directory, ReadsShards) {
  const Policy policy = random_policy(small_config(), {}, 1);
  write_policy(policy);
  std::map<std::string, StoredTensor> parts[2];
  std::string map;
  const WholeFile whole(path());
  size_t i = 0;
  for (const auto& [name, tensor] : whole.tensors) {
    parts[i++ % 2][name] = tensor;
    map += fmt::format(R"({}"{}":"part{}.safetensors")", map.empty() ? "" : ",", name, (i - 1) % 2);
  }
  for (size_t k : {0, 1}) write_safetensors(dir_ / fmt::format("part{}.safetensors", k), parts[k]);
  fs::remove(path());
  write_file_atomic(dir_ / "model.safetensors.index.json", fmt::format(R"({{"weight_map":{{{}}}}})", map));
  EXPECT_TRUE(at::equal(import_policy(dir_, {}).parameters().weights(), policy.parameters().weights()));
  write_file_atomic(dir_ / "model.safetensors.index.json", R"({"weight_map":{"x":"../../etc/passwd"}})");
  EXPECT_THAT(import_error(), HasSubstr("not a file of this directory"));
}

TEST_F(Directory, RefusesTensorsThatDoNotFit) {
  const Policy policy = random_policy(small_config(), {}, 1);
  write_policy(policy);
  const std::string norm = "model.norm.weight";
  const std::vector<float> floats(20, 1.0f);
  const auto rewritten = [&](const std::function<void(std::map<std::string, StoredTensor>&)>& change) {
    write_weights(dir_, policy);
    {
      const WholeFile file(path());
      auto tensors = file.tensors;
      change(tensors);
      write_safetensors(dir_ / "changed", tensors);
    }
    fs::rename(dir_ / "changed", path());
    return import_error();
  };
  EXPECT_EQ(rewritten([](auto&) {}), "none");
  EXPECT_THAT(rewritten([&](auto& t) { t.erase(norm); }), HasSubstr("tensor 'model.norm.weight' is missing"));
  EXPECT_THAT(rewritten([&](auto& t) { t["extra"] = t[norm]; }),
              HasSubstr("'extra': is not one of this model's"));
  EXPECT_THAT(rewritten([&](auto& t) { t[norm].shape = {4, 5}; }), HasSubstr("shape [4, 5], expected [20]"));
  EXPECT_THAT(rewritten([&](auto& t) { t[norm] = {"I32", {20}, std::as_bytes(std::span(floats))}; }),
              HasSubstr("dtype I32 cannot be a weight"));
}

// Before memory is asked for.
TEST_F(Directory, RefusesConfigsOfALargerModel) {
  write_policy(random_policy(small_config(), {}, 1));
  replace_in_config(R"("head_dim": 6,)", "");
  EXPECT_THAT(import_error(), HasSubstr("cannot hold the"));
  replace_in_config("{", "[");
  EXPECT_THAT(import_error(), HasSubstr("config.json is not JSON"));
}

TEST_F(Directory, ExportsAllOfItOrNothing) {
  const Tokenizer tokenizer =
      Tokenizer::train({"void f(float* x) { x[0] = 1.0f; }", "for (int i = 0; i < n; ++i)"}, 400);
  ModelConfig config = small_config();
  EXPECT_THROW(export_hugging_face(Policy(config, {}), tokenizer, dir_ / "out"), ConfigError);
  EXPECT_FALSE(fs::exists(dir_ / "out"));
  config.vocab_size = 400;
  const Policy policy = random_policy(config, {}, 1);
  export_hugging_face(policy, tokenizer, dir_ / "out/");
  watch_file_calls([&](const char* call, const fs::path& path) {
    EXPECT_TRUE(fs::exists(dir_ / "out" / "config.json")) << "in front of " << call << " " << path;
  });
  export_hugging_face(policy, tokenizer, dir_ / "out");  // over an older one
  watch_file_calls({});
  EXPECT_TRUE(
      at::equal(import_policy(dir_ / "out", {}).parameters().weights(), policy.parameters().weights()));
  EXPECT_EQ(Tokenizer::load(dir_ / "out").vocab_size(), tokenizer.vocab_size());
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 1);
}

}  // namespace
}  // namespace temper::policy
