#include "base/input/rows/parquet.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "base/input/printable.h"

namespace temper {
namespace {

constexpr int kNoParquet = 78;  // the program's exit code for a file that pyarrow does not read

// Argument: the file. The working directory is no place for modules.
constexpr const char* kProgram = R"(
import sys
sys.path[:] = [folder for folder in sys.path if folder not in ("", ".")]
import json, math
try:
    import pyarrow, pyarrow.parquet
except ImportError:
    sys.exit(77)

def plain(value):
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, (bytes, bytearray)):
        return f"{len(value)} bytes"
    return value if value is None or isinstance(value, (str, bool, int)) else str(value)

try:
    table = pyarrow.parquet.ParquetFile(sys.argv[1])
    names = table.schema_arrow.names
    if len(set(names)) < len(names):
        raise ValueError("two columns have one name")
    print("readable", flush=True)
    for batch in table.iter_batches(batch_size=128):
        for row in batch.to_pylist():
            print(json.dumps(plain(row)))
    sys.stdout.flush()
except BrokenPipeError:
    sys.stdout = None
except Exception as error:
    print(str(error) or type(error).__name__, file=sys.stderr)
    sys.exit(78)
)";

std::string content_of(int fd) {
  std::array<char, 400> text;
  const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
  std::string content(text.data(), size_t(std::max<ssize_t>(n, 0)));
  while (content.ends_with('\n')) content.pop_back();
  return content;
}

}  // namespace

void ParquetBytes::start(const std::string& python, const std::string& file) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) throw system_error("create a pipe");
  rows_ = Fd(pipe[0]);
  const Fd writing(pipe[1]);
  errors_ = Fd(::memfd_create("errors", MFD_CLOEXEC));
  if (!errors_) throw system_error("create a file in memory");
  process_ = ChildProcess::start({.argv = {"/usr/bin/env", python, "-B", "-c", kProgram, file},
                                  .input = kNullDevice,
                                  .output = writing.get(),
                                  .errors = errors_.get()});
}

// The program's first line says that it can read the file.
bool ParquetBytes::begins() {
  char c = 0;
  while (DescriptorBytes(rows_.get()).read(&c, 1) > 0)
    if (c == '\n') return true;
  return false;
}

ParquetBytes::ParquetBytes(const std::filesystem::path& file, const std::vector<std::string>& pythons) {
  const std::string place = std::filesystem::absolute(file).string();
  for (const std::string& python : pythons) {
    start(python, place);
    if (begins()) return;
    const int status = process_.wait(std::numeric_limits<double>::infinity()).value_or(0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNoParquet)
      throw ConfigError("is no parquet file that can be read: {}", printable(content_of(errors_.get()), 200));
  }
  if (pythons.empty())
    throw ConfigError("is a parquet file, which a Python with pyarrow reads, and no Python is known");
  throw ConfigError(
      "is a parquet file, which a Python with pyarrow reads; pyarrow is missing from {}; `{} -m pip install "
      "pyarrow` installs it",
      fmt::join(pythons, " and "), pythons.front());
}

size_t ParquetBytes::read(char* to, size_t most) {
  if (ended_) return 0;
  if (const size_t n = DescriptorBytes(rows_.get()).read(to, most)) return n;
  ended_ = true;
  const int status = process_.wait(std::numeric_limits<double>::infinity()).value_or(0);
  if (WIFSIGNALED(status))
    throw WorldError("the Python that reads a parquet file was killed by signal {}", WTERMSIG(status));
  if (status != 0)
    throw ConfigError("is no parquet file that can be read to its end: {}",
                      printable(content_of(errors_.get()), 200));
  return 0;
}

}  // namespace temper
