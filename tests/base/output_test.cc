#include "base/machine/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <thread>

#include "base/error.h"
#include "tests/patience.h"

namespace temper {
namespace {

constexpr int kPage = 4096;

struct Ends {
  Fd reading, writing;
};

Ends small_pipe() {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  EXPECT_GT(::fcntl(ends[1], F_SETPIPE_SZ, kPage), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

Ends small_socket() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  EXPECT_EQ(::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &kPage, sizeof kPage), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

Ends small_terminal() {
  int reading, writing;
  EXPECT_EQ(::openpty(&reading, &writing, nullptr, nullptr, nullptr), 0);
  return {Fd(reading), Fd(writing)};
}

std::string printed_line(int number) { return fmt::format("line {} of what is printed\n", number); }

// As much of it as there is until `size` bytes are read; a terminal ends its lines by two characters.
std::string read_what_comes(const Fd& from, size_t size) {
  std::string text;
  while (text.size() < size) {
    std::array<char, kPage> part;
    const ssize_t n = ::read(from.get(), part.data(), part.size());
    if (n <= 0) break;
    for (const char c : std::string_view(part.data(), size_t(n)))
      if (c != '\r') text += c;
  }
  return text;
}

class Output : public testing::Test {
 protected:
  Output() { ::signal(SIGPIPE, SIG_IGN); }
  ~Output() override { forget_interrupt(); }

  // Time passes as the test sets it.
  std::function<double()> own_clock() {
    return [this] { return ++looks_, seconds_.load(); };
  }
  std::atomic<double> seconds_ = 0;
  std::atomic<int> looks_ = 0;  // at the clock
};

TEST_F(Output, AWriterDoesNotWaitAndNothingIsLost) {
  for (Ends (*const make)() : {&small_pipe, &small_socket, &small_terminal}) {
    const Ends ends = make();
    Outlet outlet(ends.writing.get());
    std::string all;
    const double start = now_s();
    for (int i = 0; i < 20'000; ++i) {
      all += printed_line(i);
      ASSERT_TRUE(outlet.write(printed_line(i)));
    }
    EXPECT_LT(now_s() - start, kPatience_s);  // else for ever
    EXPECT_TRUE(outlet.behind());
    std::string read;
    std::thread reader([&] { read = read_what_comes(ends.reading, all.size()); });
    EXPECT_EQ(outlet.finish(), 0);
    reader.join();
    EXPECT_TRUE(read == all) << read.size() << " bytes of " << all.size();
    EXPECT_FALSE(outlet.behind());
  }
}

// Standard output and standard error of a program often are the same pipe.
TEST_F(Output, LinesOfTwoWritersToOnePipeStayWhole) {
  const Ends ends = small_pipe();
  const std::array<std::string_view, 2> writers = {"one writer's", "the other's"};
  constexpr int kLines = 3000;
  std::array<std::unique_ptr<Outlet>, 2> outlets;
  size_t size = 0;
  for (size_t w = 0; w < writers.size(); ++w) {
    outlets[w] = std::make_unique<Outlet>(ends.writing.get());
    for (int i = 0; i < kLines; ++i) {
      const std::string line = fmt::format("{} {}", writers[w], printed_line(i));
      size += line.size();
      ASSERT_TRUE(outlets[w]->write(line));
    }
  }
  const std::string read = read_what_comes(ends.reading, size);
  std::array<int, 2> next{};
  size_t begin = 0;
  for (size_t end; (end = read.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = read.substr(begin, end + 1 - begin);
    const size_t w = line.starts_with(writers[0]) ? 0 : 1;
    ASSERT_EQ(line, fmt::format("{} {}", writers[w], printed_line(next[w]++)));
  }
  EXPECT_EQ(next, (std::array{kLines, kLines}));
}

TEST_F(Output, WhatWaitsIsWrittenWithoutAnotherWrite) {
  const Ends ends = small_pipe();
  Outlet outlet(ends.writing.get());
  const std::string all(3 * kPage, 'x');
  EXPECT_TRUE(outlet.write(all));
  EXPECT_EQ(read_what_comes(ends.reading, all.size()), all);
}

TEST_F(Output, AnInterruptEndsTheWaitForAReader) {
  const Ends ends = small_pipe();
  Outlet outlet(ends.writing.get(), [] { return 100 * now_s(); });
  EXPECT_TRUE(outlet.write(std::string(3 * kPage, 'x')));
  std::atomic<bool> sent = false;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    sent = true;
    interrupt();
  });
  EXPECT_EQ(outlet.finish(), EINTR);
  EXPECT_TRUE(sent);
  later.join();
}

// Six tenths of a second pass before each page is read.
TEST_F(Output, WhoReadsSlowlyIsWaitedForAfterAnInterruptToo) {
  const Ends ends = small_pipe();
  Outlet outlet(ends.writing.get(), own_clock());
  const std::string all(8 * kPage, 'x');
  EXPECT_TRUE(outlet.write(all));
  interrupt();
  std::string read;
  std::thread reader([&] {
    while (read.size() < all.size()) {
      pollfd more{ends.reading.get(), POLLIN, 0};
      if (::poll(&more, 1, int(kPatience_ms.count())) != 1) return;
      seconds_ = seconds_ + 0.6;
      read += read_what_comes(ends.reading, 1);
    }
  });
  EXPECT_EQ(outlet.finish(), 0);
  reader.join();
  EXPECT_EQ(read, all);
}

TEST_F(Output, WhoHasNoPatienceWaitsASecond) {
  const Ends ends = small_pipe();
  Outlet outlet(ends.writing.get(), own_clock());
  EXPECT_TRUE(outlet.write(std::string(3 * kPage, 'x')));
  std::atomic<bool> passed = false, ended = false;
  std::thread time([&, before = looks_.load()] {
    comes_true([&] { return looks_ > before; });  // it waits
    seconds_ = 0.9;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    passed = true;
    for (; !ended; ::usleep(1000)) seconds_ = seconds_ + 0.1;
  });
  EXPECT_EQ(outlet.finish(false), EINTR);
  EXPECT_TRUE(passed);
  ended = true;
  time.join();
}

TEST_F(Output, WhatCannotBeWrittenIsSaid) {
  Ends ends = small_pipe();
  Outlet outlet(ends.writing.get());
  EXPECT_TRUE(outlet.write(std::string(3 * kPage, 'x')));
  ends.reading = Fd();
  EXPECT_EQ(outlet.finish(), EPIPE);
  EXPECT_FALSE(outlet.write("more"));
  EXPECT_EQ(errno, EPIPE);

  const Fd full(::open("/dev/full", O_WRONLY));
  Outlet on_full(full.get());
  EXPECT_FALSE(on_full.write("text"));
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_EQ(on_full.finish(), ENOSPC);
}

}  // namespace
}  // namespace temper
