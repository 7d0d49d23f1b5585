#include "trainer/run/event_file.h"

#include <gtest/gtest.h>

namespace temper::trainer {
namespace {

// RFC 3720, B.4.
TEST(Crc32c, MatchesPublishedValues) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
}

using namespace std::string_literals;

// As protoc 3.21 --encode writes the same message.
TEST(EventFile, EncodesAsProtobufDoes) {
  EXPECT_EQ(summary_event(1.5, 300, {{"a", 0.5}, {"b/c", -2}}),
            "\x09\0\0\0\0\0\0\xf8\x3f\x10\xac\x02\x2a\x16"
            "\x0a\x08\x0a\x01\x61\x15\0\0\0\x3f\x0a\x0a\x0a\x03\x62/c\x15\0\0\0\xc0"s);
}

}  // namespace
}  // namespace temper::trainer
