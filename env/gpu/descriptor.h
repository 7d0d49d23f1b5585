#pragma once
// One descriptor over a socket between processes that trust each other.

#include <chrono>

#include "base/process.h"

namespace temper::env {

bool send_descriptor(int socket, int descriptor);
Fd receive_descriptor(int socket, std::chrono::milliseconds timeout);  // none if nothing arrives

}  // namespace temper::env
