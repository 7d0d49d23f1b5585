#include "env/verdict/verdict_cache.h"

#include <sqlite3.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"

namespace temper::env {
namespace {

constexpr int kApplication = 0x54766331;  // "Tvc1": what tells our databases from others
constexpr int kPatience_ms = 30'000;      // for another process to end its write

using Database = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;
using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

// What a file that is there begins with, before it is given to SQLite.
void refuse_lines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (file.peek() == '{')
    throw ConfigError(
        "env.cache: {} holds lines of JSON, as an older program wrote them, and is left as it is; name "
        "another "
        "file, or delete this one to measure again",
        path);
}

}  // namespace

struct VerdictCache::Impl {
  explicit Impl(const std::string& path_in) : path(path_in) {
    if (!path.empty()) refuse_lines(path);
    sqlite3* opened = nullptr;
    const int result = sqlite3_open_v2(path.empty() ? ":memory:" : path.c_str(), &opened,
                                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    database.reset(opened);
    check(result, "open");
    sqlite3_extended_result_codes(opened, 1);
    check(sqlite3_busy_timeout(opened, kPatience_ms), "open");
    make_ours();
    run("PRAGMA journal_mode = WAL");  // where the file system cannot, SQLite keeps to what it can
    run("PRAGMA synchronous = NORMAL");
    found = prepare("SELECT verdict FROM verdicts WHERE digest = ?");
    added = prepare("INSERT OR REPLACE INTO verdicts VALUES (?, ?)");
    counted = prepare("SELECT count(*) FROM verdicts");
  }

  // In one transaction: a process that opens the database meanwhile would find tables without the number that makes
  // them ours.
  void make_ours() {
    begin_to_write();
    const int application = number_of("PRAGMA application_id");
    if (application != kApplication && number_of("SELECT count(*) FROM sqlite_schema") != 0)
      refuse(fmt::format("a database of application {}", application));
    run("CREATE TABLE IF NOT EXISTS verdicts (digest TEXT PRIMARY KEY, verdict TEXT NOT NULL) WITHOUT ROWID");
    run(fmt::format("PRAGMA application_id = {}", kApplication));
    run("COMMIT");
  }

  // SQLite reads the file here for the first time, and sees whether it is a database.
  void begin_to_write() {
    try {
      run("BEGIN IMMEDIATE");
    } catch (const WorldError&) {
      if ((sqlite3_errcode(database.get()) & 0xff) == SQLITE_NOTADB) refuse(sqlite3_errmsg(database.get()));
      throw;
    }
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw ConfigError(
        "env.cache: {} is not a cache of verdicts ({}) and is left unchanged; name another file", path, why);
  }

  void check(int result, const char* what) {
    if (result == SQLITE_OK || result == SQLITE_ROW || result == SQLITE_DONE) return;
    throw WorldError("env.cache: cannot {} {}: {}", what, path.empty() ? "the memory's" : path,
                     database ? sqlite3_errmsg(database.get()) : sqlite3_errstr(result));
  }

  Statement prepare(const std::string& text) {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v2(database.get(), text.c_str(), -1, &statement, nullptr), "read");
    return {statement, &sqlite3_finalize};
  }

  bool step(const Statement& statement) {
    const int result = sqlite3_step(statement.get());
    check(result, "read or write");
    return result == SQLITE_ROW;
  }

  void run(const std::string& text) {
    const Statement statement = prepare(text);
    while (step(statement)) continue;
  }

  int number_of(const char* query) {
    const Statement statement = prepare(query);
    return step(statement) ? sqlite3_column_int(statement.get(), 0) : 0;
  }

  // Bound texts live until the statement is done.
  void begin(const Statement& statement, std::initializer_list<const std::string*> texts) {
    sqlite3_reset(statement.get());  // says again what went wrong the last time, which was thrown then
    int place = 0;
    for (const std::string* text : texts)
      check(sqlite3_bind_text(statement.get(), ++place, text->data(), int(text->size()), SQLITE_STATIC),
            "write");
  }

  const std::string path;
  int64_t unreadable = 0;
  Database database{nullptr, &sqlite3_close};
  Statement found{nullptr, &sqlite3_finalize}, added{nullptr, &sqlite3_finalize},
      counted{nullptr, &sqlite3_finalize};
};

VerdictCache::VerdictCache(const std::string& path) : impl_(std::make_unique<Impl>(path)) {}
VerdictCache::~VerdictCache() = default;

std::optional<Verdict> VerdictCache::find(const std::string& digest) {
  impl_->begin(impl_->found, {&digest});
  if (!impl_->step(impl_->found)) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(impl_->found.get(), 0));
  const std::string json(text ? text : "", size_t(sqlite3_column_bytes(impl_->found.get(), 0)));
  sqlite3_reset(impl_->found.get());
  VerdictRead read = parse_verdict(json);
  if (!read.verdict) {
    if (impl_->unreadable++ == 0)
      fmt::print(
          stderr,
          "WARNING: env.cache: {}: the verdict of {} cannot be read: {}. Candidates of such verdicts are "
          "judged anew\n",
          impl_->path, digest, read.error);
    return std::nullopt;
  }
  read.verdict->cached = true;
  return read.verdict;
}

int64_t VerdictCache::unreadable() const { return impl_->unreadable; }

void VerdictCache::add(const std::string& digest, const Verdict& verdict) {
  const nlohmann::json json = verdict;
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  impl_->begin(impl_->added, {&digest, &text});
  impl_->step(impl_->added);
  sqlite3_reset(impl_->added.get());
}

size_t VerdictCache::size() {
  impl_->begin(impl_->counted, {});
  impl_->step(impl_->counted);
  const auto count = size_t(sqlite3_column_int64(impl_->counted.get(), 0));
  sqlite3_reset(impl_->counted.get());
  return count;
}

}  // namespace temper::env
