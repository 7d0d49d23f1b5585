#pragma once
// The secret of a job, which its processes know and strangers on the same hosts and network do not.
//
//   TEMPER_SECRET        the text itself
//   TEMPER_SECRET_FILE   a file that holds it, which nobody else may read (mode 600)
//   neither              ~/.config/temper/secret, made at the first use; where there is no such place, none

#include <string>
#include <string_view>

namespace temper {

struct JobSecret {
  std::string text;  // "": none
  std::string from;  // for people: where it was found
};
// The secret of this process, found at the first call. Errors: ConfigError naming the variable or the file.
const JobSecret& job_secret();
// The secret, where only a secret keeps strangers out. Errors: as above, and ConfigError if there is none.
const JobSecret& required_job_secret();
// Sets the secret instead of finding it, if ranks can exchange it safely. Must be called before its first use.
void use_job_secret(JobSecret secret);

// A proof that its sender knows both key and text: HMAC-SHA256 in hex, 64 characters.
std::string proof_of(std::string_view key, std::string_view text);
// Compares in a time that does not reveal where they differ.
bool equal_proofs(std::string_view a, std::string_view b);

// 128 bits that nobody can guess, in hex. Errors: WorldError.
std::string random_text();

}  // namespace temper
