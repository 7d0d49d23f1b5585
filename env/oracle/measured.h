#pragma once
// What an oracle measures of a task once and then remembers, on any device.

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "env/call/draw_forms.h"

namespace temper::env {

using ScaleKey = std::tuple<size_t, int32_t, double>;               // task, shape, magnitude
using FarKey = std::tuple<size_t, int32_t, double, int, DrawKind>;  // and of which input, in which kind

// The answer to each key, measured when it is asked for the first time. Measuring may ask for others.
template <class Key, class Value>
class Measured {
 public:
  template <class Measure>
  const Value& of(const Key& key, const Measure& measure) {
    const auto it = known_.find(key);
    return it != known_.end() ? it->second : known_.emplace(key, measure()).first->second;
  }

  // Nothing where it was not measured yet.
  const Value* known(const Key& key) const {
    const auto it = known_.find(key);
    return it != known_.end() ? &it->second : nullptr;
  }

 private:
  std::map<Key, Value> known_;
};

}  // namespace temper::env
