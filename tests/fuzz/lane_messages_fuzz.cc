// What a broker and a judge say to each other. The readers throw what std::exception is; who reads ends that
// peer.

#include "env/judge/judge_server.h"
#include "env/judge/lane_messages.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::env {

FUZZ_TARGET(lane_messages) {
  const std::string text(bytes);
  fuzz::either_way([&] { lane_setup_from(text); });
  fuzz::either_way([&] { lane_ready_from(text); });
  fuzz::either_way([&] { lane_request_from(text); });
  fuzz::either_way([&] { lane_answer_from(text); });
  fuzz::either_way([&] { judge_hello_from(text); });
}

}  // namespace temper::env
