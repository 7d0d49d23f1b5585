#include "policy/hugging_face/safetensors_header.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::policy {

FUZZ_TARGET(safetensors) {
  fuzz::Front front(bytes);
  const uint64_t begin = 8 + front.byte(),
                 size = front.byte() == 0xFF ? uint64_t(front.word()) << 31 : front.word() % 4096;
  fuzz::taken([&] {
    uint64_t used = 0;
    for (const auto& [name, place] : read_safetensors_header(front.rest(), "file", begin, size)) {
      TEMPER_CHECK(place.begin >= begin && place.bytes <= size && place.begin - begin <= size - place.bytes);
      used += place.bytes;
    }
    TEMPER_CHECK_EQ(used, size);
  });
}

}  // namespace temper::policy
