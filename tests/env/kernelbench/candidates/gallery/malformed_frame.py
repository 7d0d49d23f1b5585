# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_RUNTIME | FAIL_INCORRECT | REJECT_POLICY
# comparable: failed
# why: A length of four gigabytes and no text behind it.
# needs: box
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <cstdint>
#include <cstring>
#include <string>
#include <unistd.h>

// The same broken frame to every descriptor that might be a channel.
void tell(const std::string& text) {
  const uint32_t size = 0xfffffff0u;
  std::string frame(4, 0);
  std::memcpy(frame.data(), &size, 4);
  frame += text;
  for (int descriptor = 3; descriptor < 64; ++descriptor)
    if (write(descriptor, frame.data(), frame.size()) < 0) continue;
}
"""

extension = load_inline(name="malformed", cpp_sources=CPP, functions=["tell"])


class ModelNew(nn.Module):
    def forward(self, x):
        extension.tell("{")
        return torch.zeros_like(x)
