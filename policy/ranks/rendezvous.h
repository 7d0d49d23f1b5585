#pragma once
// How ranks without MPI find each other: through a key-value store on rank 0, or that of torchrun's agent.

#include <memory>
#include <string>
#include <vector>

#include "policy/ranks/place.h"

namespace temper::policy {

class Rendezvous {
 public:
  // Errors: WorldError saying which ranks did not come within `patience_s`.
  Rendezvous(const RankPlace& place, double patience_s);
  ~Rendezvous();

  // Every rank's text, by rank. Errors: as above.
  std::vector<std::string> exchange(const std::string& key, const std::string& text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace temper::policy
