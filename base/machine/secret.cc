#include "base/machine/secret.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/files.h"

namespace temper {
namespace fs = std::filesystem;
namespace {

std::mutex g_finding;
std::optional<JobSecret> g_secret;

constexpr size_t kShortest = 8;  // characters: fewer can be tried out

std::string hex(const unsigned char* bytes, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

std::string trimmed(std::string text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text;
}

JobSecret checked(std::string text, const std::string& from) {
  if (text.size() < kShortest)
    throw ConfigError("{}: a secret of {} characters; it must have {} at least", from, text.size(),
                      kShortest);
  return {std::move(text), from};
}

JobSecret read_secret(const fs::path& file) {
  struct stat about {};
  if (::stat(file.c_str(), &about) != 0)
    throw ConfigError("TEMPER_SECRET_FILE={}: {}", file.string(), std::strerror(errno));
  if ((about.st_mode & 077) != 0)
    throw ConfigError("{}: others can read this secret; run: chmod 600 {}", file.string(), file.string());
  return checked(trimmed(read_file(file)), file.string());
}

// Whoever is first makes it whole and then gives it its name; all others find that one.
JobSecret own_secret() {
  const char* home = std::getenv("HOME");
  if (!home || !*home) return {"", "no HOME"};
  const fs::path file = fs::path(home) / ".config/temper/secret";
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (!fs::exists(file)) {
    const fs::path beside = fmt::format("{}.{}", file.string(), random_text());
    const Fd made(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    const std::string text = random_text() + random_text() + "\n";
    if (made && ::fchmod(made.get(), 0600) == 0 &&
        ::write(made.get(), text.data(), text.size()) == ssize_t(text.size()))
      if (::link(beside.c_str(), file.c_str()) != 0 && errno != EEXIST)
        error = {errno, std::generic_category()};
    ::unlink(beside.c_str());
  }
  if (!fs::exists(file)) return {"", fmt::format("{} cannot be written", file.string())};
  return read_secret(file);
}

JobSecret find_secret() {
  if (const char* text = std::getenv("TEMPER_SECRET"); text && *text) return checked(text, "TEMPER_SECRET");
  if (const char* file = std::getenv("TEMPER_SECRET_FILE"); file && *file) return read_secret(file);
  return own_secret();
}

}  // namespace

const JobSecret& job_secret() {
  const std::scoped_lock lock(g_finding);
  if (!g_secret) g_secret = find_secret();
  return *g_secret;
}

const JobSecret& required_job_secret() {
  const JobSecret& secret = job_secret();
  if (secret.text.empty())
    throw ConfigError(
        "ranks prove to each other that they know a secret of the job, and none can be made here: {}; give "
        "all "
        "ranks the same TEMPER_SECRET, of {} characters at least",
        secret.from, kShortest);
  return secret;
}

void use_job_secret(JobSecret secret) {
  const std::scoped_lock lock(g_finding);
  g_secret = std::move(secret);
}

std::string proof_of(std::string_view key, std::string_view text) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  TEMPER_CHECK(HMAC(EVP_sha256(), key.data(), int(key.size()),
                    reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes,
                    &size) != nullptr);
  return hex(bytes, size);
}

bool equal_proofs(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_text() {
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != ssize_t(sizeof bytes)) throw system_error("get random bytes");
  return hex(bytes, sizeof bytes);
}

}  // namespace temper
