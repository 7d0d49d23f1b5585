#pragma once
// Judges for other processes of the same job, which reach it over TCP: a Judge there with this one's address
// in its options.servers sends its candidates here.
//
//   server → client   once: HELLO, JSON; then per verdict "ID\n" and its JSON; "\n" each second: a sign of
//   life client → server   "ID TASK\n" and the candidate's source
//
// Both sides prove to know the address's token and the job's secret. What sends a message that is none of
// these is let go, with words; the others stay.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "env/judge/judge.h"

namespace temper {

class JudgeServer {
 public:
  explicit JudgeServer(Judge& judge);  // Errors: WorldError
  ~JudgeServer();
  std::string address() const;
  // Until `ended()`, which is asked often. A client that leaves is forgotten with what it had asked.
  void serve(const std::function<bool()>& ended);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What a server says of itself.
struct JudgeHello {
  std::string level;                           // of its sandbox
  std::map<std::string, std::string> machine;  // by language
  std::vector<std::string> notes;              // what the user should know
  std::string tasks;                           // digest of the list
  int64_t width = 1;                           // candidates that it works on at a time
};
std::string to_text(const JudgeHello& hello);
JudgeHello judge_hello_from(const std::string& text);

std::string list_digest(
    const std::vector<Task>& tasks);  // of everything that decides their verdicts, and their order

}  // namespace temper
