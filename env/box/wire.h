#pragma once
// Fixed-size messages of env/call/protocol.h over a SOCK_SEQPACKET socket, one per packet.

#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>

#include "env/call/protocol.h"

namespace temper::env {

bool send_packet(int socket, const void* message, size_t bytes);
// False if nothing arrives in time (negative: wait for ever), the peer is gone, or the packet has another
// size. Never accepts descriptors.
bool receive_packet(int socket, void* message, size_t bytes, std::chrono::milliseconds timeout);

template <class Message>
bool send_wire(int socket, Message message, uint32_t sequence) {
  message.header = {.bytes = sizeof message, .sequence = sequence};
  return send_packet(socket, &message, sizeof message);
}

// The message, or nothing unless magic, version, size and sequence are as expected. The caller checks the range of all
// other fields.
template <class Message>
std::optional<Message> receive_wire(int socket, uint32_t sequence, std::chrono::milliseconds timeout) {
  Message message;
  if (!receive_packet(socket, &message, sizeof message, timeout)) return std::nullopt;
  const MessageHeader& header = message.header;
  if (header.magic != kProtocolMagic || header.version != kProtocolVersion ||
      header.bytes != sizeof message || header.sequence != sequence)
    return std::nullopt;
  return message;
}

// A text field of a message.
template <size_t kSize>
std::string text_of(const char (&field)[kSize]) {
  return {field, ::strnlen(field, kSize)};
}

}  // namespace temper::env
