#include "trainer/app/bench/bench_tokenizer.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/process.h"
#include "policy/text/tokenizer.h"
#include "trainer/app/checks.h"

namespace temper::trainer {
namespace {

std::vector<std::string_view> texts_of(std::string_view all) {
  std::vector<std::string_view> texts;
  for (size_t at = 0; at < all.size();) {
    const size_t end = std::min(all.find('\0', at), all.size());
    texts.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return texts;
}

// Bytes a second, over whole passes.
template <class Pass>
double bytes_per_s(size_t bytes, double seconds, const Pass& pass) {
  pass();  // caches are warm, as they are in a run
  const double start = now_s();
  double passes = 0;
  do pass(), ++passes;
  while (now_s() - start < seconds);
  return passes * double(bytes) / (now_s() - start);
}

// Encodes the texts of the file over and over. The limit is a plain copy of the same bytes.
int bench_tokenizer(const std::string& model, const std::string& file, double seconds, bool json) {
  const double before = now_s();
  const policy::Tokenizer tokenizer = policy::Tokenizer::load(model);
  const double load_s = now_s() - before;
  const std::string input = read_input(file);
  if (input.empty()) throw ConfigError("bench tokenizer: {} is empty", file);
  const auto texts = texts_of(input);
  size_t tokens = 0;
  const double encode = bytes_per_s(input.size(), seconds, [&] {
    tokens = 0;
    for (std::string_view text : texts) tokens += tokenizer.encode(text).size();
  });
  std::string copy(input.size(), '\0');
  volatile char last = 0;
  const double copied = bytes_per_s(input.size(), seconds / 10, [&] {
    input.copy(copy.data(), input.size());
    last = copy.back();
  });
  static_cast<void>(last);
  if (json)
    fmt::print("{}\n", nlohmann::json{{"texts", texts.size()},
                                      {"bytes", input.size()},
                                      {"tokens", tokens},
                                      {"load_s", load_s},
                                      {"mb_per_s", encode / 1e6},
                                      {"copy_mb_per_s", copied / 1e6}}
                           .dump());
  else
    fmt::print(
        "{} texts, {:.1f} MB, {} tokens: {:.1f} MB/s on one core; a copy of the bytes {:.0f} MB/s; loaded in "
        "{:.2f} s\n",
        texts.size(), double(input.size()) / 1e6, tokens, encode / 1e6, copied / 1e6, load_s);
  return kExitOk;
}

}  // namespace

void add_bench_tokenizer(CLI::App& bench, int& exit_code) {
  struct Words {
    std::string model, file = "-";
    double seconds = 3;
    bool json = false;
  };
  auto* command = bench.add_subcommand("tokenizer", "MB/s of encoding on one core");
  const auto words = std::make_shared<Words>();
  command->add_option("--model", words->model, "Hugging Face directory")->transform(path_word())->required();
  command->add_option("--file", words->file, "texts, each ended by a zero byte; - for standard input")
      ->transform(path_word());
  command->add_option("--seconds", words->seconds, "how long to measure")->check(above(0));
  command->add_flag("--json", words->json, "as JSON");
  command->callback([=, &exit_code] {
    exit_code = bench_tokenizer(words->model, words->file, words->seconds, words->json);
  });
}

}  // namespace temper::trainer
