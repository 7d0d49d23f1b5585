// Folders that hold weights twice, or stored buffers, or that are no whole model.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "policy/hugging_face/files.h"
#include "policy/hugging_face/folder.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/hugging_face/safetensors.h"
#include "policy/hugging_face/stored_names.h"
#include "policy/parameters/not_finite.h"
#include "tests/policy/small_model.h"

namespace temper::policy {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPointer =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\nsize 988097824\n";
constexpr const char* kIndexFile = "model.safetensors.index.json";

class ModelFolder : public testing::Test {
 protected:
  ModelFolder() { fs::create_directories(dir_); }
  ~ModelFolder() override { fs::remove_all(top_); }

  template <class F>
  static std::string error_of(const F& f) {
    try {
      f();
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "none";
  }
  std::string import_error() const {
    return error_of([&] { import_policy(dir_, {}); });
  }
  void write(const Policy& policy, const ExportOptions& options = {}) const {
    write_model_config(dir_, policy.config(), policy.options().dtype, {{}, {2}, 0});
    write_weights(dir_, policy, options);
  }
  at::Tensor read() const { return import_policy(dir_, {}).parameters().weights(); }
  void put(const std::string& name, const std::string& content = "x") const {
    fs::create_directories((dir_ / name).parent_path());
    write_file(dir_ / name, content);
  }
  // A file again, with another tensor of these bytes.
  void add(const std::string& file, const std::string& tensor, const std::string& dtype,
           const std::vector<int64_t>& shape, const std::vector<std::byte>& bytes) const {
    std::map<std::string, std::vector<std::byte>> data;
    std::map<std::string, StoredTensor> tensors;
    const SafetensorsFile old(dir_ / file);
    for (const auto& [name, place] : old.tensors()) {
      data[name] = old.read(name);
      tensors[name] = {place.dtype, place.shape, data[name]};
    }
    tensors[tensor] = {dtype, shape, bytes};
    write_safetensors(dir_ / file, tensors);
  }
  nlohmann::json index() const { return nlohmann::json::parse(read_file(dir_ / kIndexFile)); }

  const fs::path top_ = fs::path(testing::TempDir()) / fmt::format("temper_folder_{}", ::getpid()),
                 dir_ = top_ / "model";
};

TEST_F(ModelFolder, ASingleFileGoesBeforeAnIndex) {
  const Policy old = random_policy(small_config(), {}, 1), now = random_policy(small_config(), {}, 2);
  write(old, {.shard_bytes = 9'000});
  EXPECT_EQ(ignored_weights(dir_), "");
  write(now);
  EXPECT_TRUE(at::equal(read(), now.parameters().weights()));
  EXPECT_THAT(ignored_weights(dir_), HasSubstr("read from model.safetensors; ignored, as by transformers: " +
                                               std::string(kIndexFile)));
  fs::remove(dir_ / "model.safetensors");
  EXPECT_TRUE(at::equal(read(), old.parameters().weights()));
  fs::create_symlink("nowhere", dir_ / "model.safetensors");
  EXPECT_TRUE(at::equal(read(), old.parameters().weights()));
}

TEST_F(ModelFolder, ASingleFileOfAnotherModelBesideAnIndexIsRefused) {
  const Policy policy = random_policy(small_config(), {}, 1);
  write(policy, {.shard_bytes = 9'000});
  write_weights(dir_, policy);
  add("model.safetensors", "model.layers.0.mlp.up_proj.scales", "F16", {1}, std::vector<std::byte>(2));
  EXPECT_THAT(import_error(),
              AllOf(HasSubstr("up_proj.scales': is not one of this model's; quantised weights"),
                    HasSubstr("without this file " + std::string(kIndexFile) + " would be read")));
}

// Its index may lie beside a single file, and is compared with it.
TEST_F(ModelFolder, AnIndexOfTheSingleFileIsChecked) {
  write(random_policy(small_config(), {}, 1));
  nlohmann::json map;
  {
    const SafetensorsFile file(dir_ / "model.safetensors");
    for (const auto& [name, place] : file.tensors()) map[name] = "model.safetensors";
  }
  put(kIndexFile, nlohmann::json({{"weight_map", map}}).dump());
  EXPECT_EQ(import_error(), "none");
  EXPECT_EQ(ignored_weights(dir_), "");
  map["more"] = "model.safetensors";
  put(kIndexFile, nlohmann::json({{"weight_map", map}}).dump());
  EXPECT_THAT(import_error(), HasSubstr("'more': is missing, although"));
}

TEST_F(ModelFolder, OtherCopiesAreIgnoredWithAWord) {
  write(random_policy(small_config(), {}, 1), {.shard_bytes = 9'000});
  for (const char* name : {"optimizer.pt", "training_args.bin", "tokenizer.json"}) put(name);
  EXPECT_EQ(ignored_weights(dir_), "");
  for (const char* name : {"consolidated.safetensors", "pytorch_model.bin", "model.fp16.safetensors",
                           "pytorch_model.bin.index.json", "original/consolidated.00.pth",
                           "flax_model.msgpack", "model-q4.gguf", "model.safetensors.index.fp16.json"}) {
    put(name);
    EXPECT_THAT(ignored_weights(dir_), HasSubstr(fs::path(name).begin()->string())) << name;
    EXPECT_EQ(import_error(), "none");
    fs::remove_all(dir_ / *fs::path(name).begin());
  }
}

TEST_F(ModelFolder, StoredBuffersAreSkipped) {
  const Policy policy = random_policy(small_config(), {}, 1);
  const std::vector<std::byte> numbers(12);
  write(policy);
  for (const char* name : {"model.layers.1.self_attn.rotary_emb.inv_freq", "rotary_emb.inv_freq",
                           "model.rotary_emb.inv_freq", "model.layers.0.self_attn.masked_bias"})
    add("model.safetensors", name, "F32", {3}, numbers);
  add("model.safetensors", "model.layers.0.self_attn.bias", "BOOL", {1, 1, 2, 6}, numbers);
  EXPECT_TRUE(at::equal(read(), policy.parameters().weights()));
  EXPECT_EQ(ignored_weights(dir_), "");
  add("model.safetensors", "model.layers.1.self_attn.inv_freq", "F32", {3}, numbers);
  EXPECT_THAT(import_error(), HasSubstr("self_attn.inv_freq': is not one of this model's"));
}

TEST_F(ModelFolder, StoredBuffersMayBeInTheIndexAndInItsTotal) {
  const Policy policy = random_policy(small_config(), {}, 1);
  write(policy, {.shard_bytes = 9'000});
  const std::string name = "model.layers.0.self_attn.rotary_emb.inv_freq";
  nlohmann::json json = index();
  const std::string file = json["weight_map"]["model.norm.weight"];
  const int64_t total = json["metadata"]["total_size"];
  const auto error_with = [&](bool listed, int64_t said) {
    nlohmann::json changed = json;
    if (listed) changed["weight_map"][name] = file;
    changed["metadata"]["total_size"] = said;
    put(kIndexFile, changed.dump());
    return import_error();
  };
  EXPECT_EQ(error_with(true, total + 12), "none");  // taken out of the file alone
  add(file, name, "F32", {3}, std::vector<std::byte>(12));
  EXPECT_EQ(error_with(true, total + 12), "none");
  EXPECT_EQ(error_with(true, total), "none");
  EXPECT_EQ(error_with(false, total), "none");
  EXPECT_THAT(error_with(true, total + 8), HasSubstr("total_size is"));
}

TEST(StoredNames, BuffersAreKnownByTheirWholeName) {
  for (const char* name :
       {"model.layers.31.self_attn.rotary_emb.inv_freq", "layers.0.attention.rotary_emb.inv_freq",
        "model.layers.0.attn.bias", "model.layers.0.attn.masked_bias", "rotary_emb.cos_cached"})
    EXPECT_TRUE(is_ignored_buffer(name)) << name;
  for (const char* name : {"inv_freq", "model.layers.x.self_attn.rotary_emb.inv_freq", "model.bias",
                           "model.layers.0.self_attn.o_proj.bias", "model.layers.0.mlp.bias",
                           "model.layers.0.self_attn.rotary_emb.weight", "model.layers.0.self_attn.biases"})
    EXPECT_FALSE(is_ignored_buffer(name)) << name;
}

TEST_F(ModelFolder, FoldersThatAreNoModelSayWhatTheyAre) {
  const auto error = [&] { return error_of([&] { check_model_folder(dir_); }); };
  EXPECT_THAT(error(), HasSubstr("is empty; `hf download"));
  put("notes.txt");
  EXPECT_THAT(error(), HasSubstr("config.json: no such file"));
  put("model-q4.gguf");
  EXPECT_THAT(error(), AllOf(HasSubstr("model-q4.gguf"), HasSubstr("gguf is not read")));
  put("pytorch_model.bin");
  EXPECT_THAT(error(), AllOf(HasSubstr("pytorch_model.bin"), HasSubstr("save_pretrained(OUT)")));
  put("inside/config.json");
  EXPECT_THAT(error(), HasSubstr("name the folder within: " + (dir_ / "inside").string()));
  put(".cache/huggingface/download/model.safetensors.0123.incomplete");
  EXPECT_THAT(error(), AllOf(HasSubstr("the download has not ended"), HasSubstr("0123.incomplete")));
  put("adapter_config.json", R"({"base_model_name_or_path":"some/model"})");
  EXPECT_THAT(error(), AllOf(HasSubstr("an adapter of some/model"), HasSubstr("merge_and_unload()")));
  put("config.json");
  EXPECT_THAT(error(), HasSubstr("an adapter of some/model"));
  put("adapter_config.json", kPointer);
  EXPECT_THAT(error(), HasSubstr("an adapter (adapter_config.json)"));
  fs::remove(dir_ / "adapter_config.json");
  EXPECT_EQ(error(), "none");
}

TEST_F(ModelFolder, FoldersOfTheHubsCacheNameTheModelWithin) {
  const auto error = [&](const fs::path& dir) { return error_of([&] { check_model_folder(dir); }); };
  const fs::path cache = dir_ / "models--some--model";
  put("models--some--model/blobs/0");
  EXPECT_THAT(error(cache), HasSubstr("config.json: no such file"));
  put("models--some--model/snapshots/aaa/README.md");
  EXPECT_THAT(error(cache), HasSubstr("with no whole snapshot"));
  put("models--some--model/snapshots/aaa/config.json");
  put("models--some--model/snapshots/bbb/config.json");
  EXPECT_THAT(error(cache), HasSubstr((cache / "snapshots/aaa").string() + ": name that"));
  put("models--some--model/refs/main", "bbb");
  EXPECT_THAT(error(cache), HasSubstr((cache / "snapshots/bbb").string() + ": name that"));
  EXPECT_THAT(error(cache / "snapshots"), HasSubstr((cache / "snapshots/bbb").string() + ": name that"));
  EXPECT_THAT(error(dir_), HasSubstr("name the folder within: " + (cache / "snapshots/bbb").string()));
}

TEST_F(ModelFolder, FoldersWithoutWeightsSayWhatIsThereInstead) {
  write(random_policy(small_config(), {}, 1), {.shard_bytes = 9'000});
  const std::string shard = index()["weight_map"]["model.norm.weight"];
  fs::remove(dir_ / shard);
  EXPECT_THAT(import_error(),
              AllOf(HasSubstr(shard + ": no such file, although " + kIndexFile + " lists it (1 of"),
                    HasSubstr("`hf download`")));
  fs::remove(dir_ / kIndexFile);
  EXPECT_THAT(import_error(), HasSubstr("but no model.safetensors.index.json"));
  fs::remove_all(dir_);
  write_model_config((fs::create_directories(dir_), dir_), small_config(), DType::kF32, {{}, {2}, 0});
  EXPECT_THAT(import_error(), HasSubstr("holds neither model.safetensors nor"));
  put("consolidated.safetensors");
  EXPECT_THAT(import_error(), HasSubstr("the makers' own programs"));
  put("model.gguf");
  EXPECT_THAT(import_error(), HasSubstr("gguf is not read"));
  put("pytorch_model-00001-of-00002.bin");
  EXPECT_THAT(import_error(), HasSubstr("AutoModelForCausalLM"));
  put("model.fp16.safetensors");
  EXPECT_THAT(import_error(), HasSubstr("variant=\"fp16\""));
  fs::remove(dir_ / "model.fp16.safetensors");
  put("model.safetensors.index.bf16.json");
  EXPECT_THAT(import_error(), HasSubstr("variant=\"bf16\""));
  put("model.safetensors.aria2");
  EXPECT_THAT(import_error(), HasSubstr("the download has not ended: model.safetensors.aria2 is there"));
}

TEST_F(ModelFolder, PointersOfGitLfsSayHowToFetchTheFile) {
  write(random_policy(small_config(), {}, 1), {.shard_bytes = 9'000});
  for (const std::string& name : {std::string("config.json"), std::string(kIndexFile),
                                  index()["weight_map"]["model.norm.weight"].get<std::string>()}) {
    const std::string content = read_file(dir_ / name);
    write_file(dir_ / name, kPointer);
    EXPECT_THAT(import_error(), HasSubstr((dir_ / name).string() + ": is a pointer of Git LFS"));
    EXPECT_THAT(import_error(), HasSubstr("`git lfs pull`"));
    write_file(dir_ / name, content);
  }
  EXPECT_EQ(import_error(), "none");
  fs::remove(dir_ / "config.json");
  fs::create_symlink("../blobs/0123", dir_ / "config.json");
  EXPECT_THAT(import_error(), HasSubstr("no such file; it is a link to ../blobs/0123"));
}

TEST_F(ModelFolder, QuantisedWeightsAreNamed) {
  const Policy policy = random_policy(small_config(), {}, 1);
  write(policy);
  add("model.safetensors", "model.norm.weight", "F8_E4M3", {20}, std::vector<std::byte>(20));
  EXPECT_THAT(import_error(), AllOf(HasSubstr("'model.norm.weight': dtype F8_E4M3 cannot be a weight"),
                                    HasSubstr("before it was quantised")));
  const std::vector<int32_t> packed(4);
  write_safetensors(
      dir_ / "model.safetensors",
      {{"model.layers.0.mlp.up_proj.qweight", StoredTensor{"I32", {4}, std::as_bytes(std::span(packed))}}});
  EXPECT_THAT(import_error(), AllOf(HasSubstr("qweight"), HasSubstr("before it was quantised")));
}

// A norm's fourth number, and those of a matrix.
class TooLargeWeights : public ModelFolder {
 protected:
  static Policy policy_with(double norm) {
    Policy policy = random_policy(small_config(), {}, 1);
    policy.parameters().weight("model.norm.weight").index_put_({3}, norm);
    return policy;
  }
};

TEST_F(TooLargeWeights, AreNamedWithTheirPlaceAndTheLargestNumberOfTheType) {
  Policy policy = policy_with(1e5);
  EXPECT_EQ(error_of([&] { write(policy, {.dtype = "float16"}); }),
            "tensor 'model.norm.weight': 100000 at [3]: float16 cannot hold it, its largest number is 65504 "
            "(1 of the "
            "weights' numbers are beyond it); choose bfloat16 or float32");
  write(policy, {.dtype = "bfloat16"});
  policy.parameters().weight("model.embed_tokens.weight").view({37, 20}).index_put_({5, 7}, -7e4);
  EXPECT_THAT(error_of([&] { write(policy, {.dtype = "float16"}); }),
              AllOf(HasSubstr("'model.embed_tokens.weight': -70000 at [5, 7]"), HasSubstr("(2 of")));
  const Policy larger = policy_with(3.4e38);
  EXPECT_THAT(error_of([&] { write(larger, {.dtype = "bfloat16"}); }),
              HasSubstr("beyond it); choose float32"));
}

TEST_F(TooLargeWeights, AreRefusedFromFileToFileAndNothingIsWritten) {
  const Tokenizer tokenizer = Tokenizer::train({"void f(float* x)", "for (int i = 0; i < n; ++i)"}, 380);
  ModelConfig config = small_config();
  config.vocab_size = 400;
  Policy policy = random_policy(config, {}, 1);
  policy.parameters().weight("model.norm.weight").index_put_({3}, 1e5);
  export_hugging_face(policy, tokenizer, dir_ / "in");
  EXPECT_THAT(
      error_of([&] { copy_hugging_face(dir_ / "in", tokenizer, dir_ / "out", {.dtype = "float16"}); }),
      AllOf(HasSubstr("tensor 'model.norm.weight': 100000 at [3]"), Not(HasSubstr("model.safetensors"))));
  EXPECT_THAT(error_of([&] { export_hugging_face(policy, tokenizer, dir_ / "out", {.dtype = "float16"}); }),
              HasSubstr("100000 at [3]"));
  size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(dir_)) ++entries;
  EXPECT_EQ(entries, 1u);
}

TEST_F(TooLargeWeights, OfAFileAreNotReadAsInfinite) {
  Policy wide = random_policy(small_config(), {.dtype = DType::kF64}, 1);
  wide.parameters().weight("model.norm.weight").index_put_({3}, 1e300);
  write(wide);
  NotFinite found;
  EXPECT_THAT(
      error_of([&] { import_policy(dir_, {}, &found); }),
      AllOf(HasSubstr("model.safetensors: tensor 'model.norm.weight': 1e+300 at [3]: float32 cannot hold it"),
            HasSubstr("choose float64")));
}

TEST(Places, AreIndicesOfEachDimension) {
  EXPECT_EQ(place_in({2, 3, 4}, 23), "[1, 2, 3]");
  EXPECT_EQ(place_in({7}, 0), "[0]");
}

}  // namespace
}  // namespace temper::policy
