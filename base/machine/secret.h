#pragma once
// The secret of a job: what its processes know, and strangers on the same hosts and network do not.
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
// Of this process, found at the first call. Errors: ConfigError naming the variable or the file.
const JobSecret& job_secret();
// The same, where only a secret keeps strangers out. Errors: as above, and ConfigError if there is none.
const JobSecret& required_job_secret();
// In place of what would be found: where the ranks can tell each other safely. Before the first use.
void use_job_secret(JobSecret secret);

// What only who knows the key can say of the text: HMAC-SHA256 in hex, 64 characters.
std::string proof_of(std::string_view key, std::string_view text);
// In a time that does not tell where they differ.
bool equal_proofs(std::string_view a, std::string_view b);

// 128 bits that nobody can guess, in hex. Errors: WorldError.
std::string random_text();

}  // namespace temper
