#include "base/machine/secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace temper {
namespace {

// RFC 4231, test case 2.
TEST(Secret, ProofIsTheHmacOfTheStandard) {
  EXPECT_EQ(proof_of("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Secret, ProofsAreComparedWhole) {
  EXPECT_TRUE(equal_proofs("abc", "abc"));
  EXPECT_FALSE(equal_proofs("abc", "abd"));
  EXPECT_FALSE(equal_proofs("abc", "ab"));
  EXPECT_FALSE(equal_proofs("", "a"));
}

TEST(Secret, RandomTextsDiffer) {
  EXPECT_EQ(random_text().size(), 32u);
  EXPECT_NE(random_text(), random_text());
}

TEST(Secret, OneThatIsRequiredIsThereOrSaidToBeMissing) {
  use_job_secret({"", "no HOME"});
  try {
    required_job_secret();
    ADD_FAILURE();
  } catch (const ConfigError& e) {
    EXPECT_THAT(e.what(),
                testing::HasSubstr("none can be made here: no HOME; give all ranks the same TEMPER_SECRET"));
  }
  use_job_secret({"a text of some length", "a test"});
  EXPECT_EQ(required_job_secret().from, "a test");
}

}  // namespace
}  // namespace temper
