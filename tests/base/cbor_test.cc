#include "base/machine/cbor.h"

#include <gtest/gtest.h>

namespace temper {
namespace {

TEST(Cbor, IsReadAsItWasWritten) {
  const nlohmann::json json = {{"a", {1, -2, 0.5, nullptr, true}}, {"b", {{"c", "text"}}}};
  std::string bytes;
  nlohmann::json::to_cbor(json, bytes);
  EXPECT_EQ(json_from_cbor(bytes), json);
}

TEST(Cbor, DeepAndBrokenBytesAreRefused) {
  EXPECT_THROW(json_from_cbor(std::string(300'000, '\x81')), WorldError);  // lists of one, in each other
  EXPECT_THROW(json_from_cbor(std::string(300'000, '\xa1')), WorldError);
  EXPECT_THROW(json_from_cbor("\x82\x01"), WorldError);
  EXPECT_THROW(json_from_cbor(""), WorldError);
}

}  // namespace
}  // namespace temper
