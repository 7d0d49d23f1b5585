#pragma once
// Calls over a control page in shared memory: two futex words, one hand-over of the core each way.

#include <chrono>
#include <cstdint>

#include "env/call/protocol.h"

namespace temper::env {

// The box's side. Waits until `go` differs from `last` and returns it; reads the page's arguments only after
// that.
uint32_t wait_for_call(ControlPage& page, uint32_t last);
// Says that call `number` is done and wakes the broker.
void answer_call(ControlPage& page, uint32_t number);

// The broker's side.
void start_call(ControlPage& page, uint32_t number);
// False if `done` is not `number` when `timeout` has passed.
bool wait_for_answer(ControlPage& page, uint32_t number, std::chrono::nanoseconds timeout);

}  // namespace temper::env
