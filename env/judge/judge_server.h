#pragma once
// Judges candidates for other processes of the same job, which connect over TCP: a Judge that has this server's
// address in its options.servers sends its candidates here.
//
//   server → client   once, first: HELLO and JSON; then for each verdict "ID\n" and its JSON; "\n" every second
//                     as a heartbeat
//   client → server   "ID TASK\n" and the candidate's source
//
// Both sides prove that they know the token in the address and the job's secret. The connection of a client
// that sends any other message is closed with an error message; other clients are not affected.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "env/judge/judge.h"

namespace temper::env {

class JudgeServer {
 public:
  explicit JudgeServer(Judge& judge);  // Errors: WorldError
  ~JudgeServer();
  std::string address() const;
  // Serves until `ended()`, which is called often, returns true. The requests of a client that disconnects are
  // dropped.
  void serve(const std::function<bool()>& ended);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A server's description of itself.
struct JudgeHello {
  std::string level;                           // its sandbox level
  std::map<std::string, std::string> machine;  // by language
  std::vector<std::string> notes;              // what the user should know
  std::string tasks;                           // digest of the list
  int64_t width = 1;                           // candidates that it works on at a time
};
std::string to_text(const JudgeHello& hello);
JudgeHello judge_hello_from(const std::string& text);

// Digest of the tasks' order and of everything in them that decides a verdict.
std::string list_digest(const std::vector<Task>& tasks);

}  // namespace temper::env
