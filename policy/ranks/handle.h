#pragma once
// A collective call that was started. It keeps its tensor until it has been waited for, and nobody else may touch that
// meanwhile. A handle that goes without having been waited for makes the current stream wait.

#include <ATen/core/Tensor.h>

#include <exception>
#include <memory>
#include <utility>

#include "policy/ranks/started_calls.h"

namespace temper::policy {

class Handle {
 public:
  Handle() = default;  // of a call that is done, as all are between CPUs
  Handle(std::shared_ptr<StartedCall> call, at::Tensor data)
      : call_(std::move(call)), data_(std::move(data)) {}
  Handle(Handle&&) noexcept = default;
  Handle& operator=(Handle&& other) noexcept {
    drop();
    call_ = std::move(other.call_), data_ = std::move(other.data_);
    return *this;
  }
  ~Handle() { drop(); }

  // What the current stream gets from now on comes after the call. The host does not wait.
  void wait_on_stream() {
    if (call_) call_->wait_on_stream();
    done();
  }
  // The host waits. Errors: LostRanks naming the call.
  void wait_on_host() {
    if (call_) policy::wait_on_host(*call_);
    done();
  }

 private:
  void done() { call_ = nullptr, data_ = at::Tensor(); }
  void drop() noexcept {
    try {
      wait_on_stream();
    } catch (const std::exception&) {  // the device is lost, and the next call to it says so
    }
  }

  std::shared_ptr<StartedCall> call_;
  at::Tensor data_;
};

}  // namespace temper::policy
