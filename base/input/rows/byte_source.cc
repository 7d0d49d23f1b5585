#include "base/input/rows/byte_source.h"

#include <unistd.h>

#include <algorithm>

#include "base/error.h"

namespace temper {
namespace {

constexpr int kGzipAlone = 16 + MAX_WBITS;  // zlib's way to ask for gzip's header and checksum
constexpr uint64_t kMostGrowth = 500;       // texts shrink to a tenth; repeated ones to a hundredth
constexpr uint64_t kSmall = 64 << 20;       // bytes that may have grown in any way

constexpr const char* kNotWhole = "ends in the middle of what gzip packed; fetch the file again";

}  // namespace

size_t DescriptorBytes::read(char* to, size_t most) {
  for (;;) {
    const ssize_t n = ::read(fd_, to, most);
    if (n >= 0) return size_t(n);
    if (errno != EINTR) throw system_error("read");
  }
}

GzipBytes::GzipBytes(int fd) : packed_(fd) { TEMPER_CHECK_EQ(::inflateInit2(&stream_, kGzipAlone), Z_OK); }

GzipBytes::~GzipBytes() { ::inflateEnd(&stream_); }

bool GzipBytes::fill() {
  const size_t n = packed_.read(buffer_.data(), buffer_.size());
  read_ += n;
  stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
  stream_.avail_in = uInt(n);
  return n > 0;
}

// Tapes and block devices leave NULs behind the last part, which gzip passes over too.
bool GzipBytes::begins_again() {
  for (;;) {
    while (stream_.avail_in > 0 && *stream_.next_in == 0) ++stream_.next_in, --stream_.avail_in;
    if (stream_.avail_in > 0) break;
    if (!fill()) return false;
  }
  if (*stream_.next_in != 0x1f) throw ConfigError("has bytes behind what gzip packed; fetch the file again");
  TEMPER_CHECK_EQ(::inflateReset(&stream_), Z_OK);
  return true;
}

size_t GzipBytes::read(char* to, size_t most) {
  stream_.next_out = reinterpret_cast<Bytef*>(to);
  stream_.avail_out = uInt(std::min<size_t>(most, 1 << 30));
  const uInt room = stream_.avail_out;
  while (!ended_ && stream_.avail_out == room) {
    if (!in_part_) {
      in_part_ = begins_again();
      ended_ = !in_part_;
      continue;
    }
    if (stream_.avail_in == 0 && !fill()) throw ConfigError(kNotWhole);
    const int found = ::inflate(&stream_, Z_NO_FLUSH);
    if (found == Z_STREAM_END)
      in_part_ = false;
    else if (found != Z_OK && found != Z_BUF_ERROR)
      throw ConfigError("is damaged: gzip cannot unpack it ({}); fetch the file again",
                        stream_.msg ? stream_.msg : "no reason");
  }
  const size_t n = room - stream_.avail_out;
  made_ += n;
  if (made_ > kSmall && made_ / kMostGrowth > read_)
    throw ConfigError(
        "unpacks to more than {} times its size, which no data do; `gunzip` it if that is meant",
        kMostGrowth);
  return n;
}

}  // namespace temper
