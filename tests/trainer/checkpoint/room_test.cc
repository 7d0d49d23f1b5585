#include "trainer/checkpoint/room.h"

#include <gtest/gtest.h>

#include "trainer/config/config.h"

namespace temper::trainer {
namespace {

// Copies of 12 bytes a parameter, and exported policies of 4.
uint64_t room(const std::vector<std::string>& words, int64_t present = 0) {
  const RunConfig config = read_config("", words);
  return room_for_checkpoints(config, config.model.shape, present) /
         uint64_t(config.model.shape.parameter_count());
}

TEST(Room, IsWhatTheSettingsWillTake) {
  EXPECT_EQ(room({"run.steps=100", "checkpoint.every=10"}),
            3 * 12 + 2 * 4u);  // two and the one being written
  EXPECT_EQ(room({"run.steps=100", "checkpoint.every=10", "checkpoint.keep=1"}), 2 * 12 + 2 * 4u);
  EXPECT_EQ(room({"run.steps=100", "checkpoint.every=10", "checkpoint.best=val/x"}), 4 * 12 + 2 * 4u);
  EXPECT_EQ(room({"run.steps=100", "checkpoint.every=0"}),
            2 * 12 + 2 * 4u);  // after the cold start, at the end
  EXPECT_EQ(room({"run.steps=100", "checkpoint.every=0", "model.path=x"}), 12 + 4u);
  EXPECT_EQ(room({"run.steps=100", "checkpoint.every=0", "model.path=x", "cold_start.data=y"}),
            2 * 12 + 2 * 4u);  // a given model learns a file first
  EXPECT_EQ(room({"run.steps=5", "checkpoint.every=10", "checkpoint.keep=7"}), 2 * 12 + 2 * 4u);
  EXPECT_EQ(room({"run.steps=5", "checkpoint.every=0", "checkpoint.every_s=60", "checkpoint.keep=3"}),
            4 * 12 + 2 * 4u);
}

TEST(Room, OfWhatIsThereIsNotAskedForAgain) {
  EXPECT_EQ(room({"run.steps=100", "checkpoint.every=10"}, 2), 12 + 4u);
  EXPECT_EQ(room({"run.steps=100", "checkpoint.every=10"}, 9), 12 + 4u);
}

}  // namespace
}  // namespace temper::trainer
