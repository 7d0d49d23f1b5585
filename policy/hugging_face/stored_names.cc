#include "policy/hugging_face/stored_names.h"

#include <algorithm>
#include <array>

namespace temper::policy {
namespace {

// Takes `prefix` off the front, if it is there.
bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool take_number(std::string_view& text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(digits);
  return digits > 0 && take(text, ".");
}

template <size_t n>
bool is_one_of(std::string_view name, const std::array<std::string_view, n>& names) {
  return std::ranges::find(names, name) != names.end();
}

constexpr std::array<std::string_view, 4> kRotary = {"inv_freq", "original_inv_freq", "cos_cached",
                                                     "sin_cached"};
constexpr std::array<std::string_view, 2> kMasks = {"bias", "masked_bias"};
constexpr std::array<std::string_view, 19> kQuantised = {"qweight",
                                                         "qzeros",
                                                         "scales",
                                                         "g_idx",
                                                         "weight_scale",
                                                         "weight_scale_2",
                                                         "weight_packed",
                                                         "weight_scale_inv",
                                                         "input_scale",
                                                         "activation_scale",
                                                         "weight_shape",
                                                         "weight_zero_point",
                                                         "absmax",
                                                         "nested_absmax",
                                                         "quant_map",
                                                         "nested_quant_map",
                                                         "SCB",
                                                         "weight_format",
                                                         "weight_global_scale"};

}  // namespace

bool is_ignored_buffer(std::string_view tensor) {
  take(tensor, "model.");
  bool in_attention = false;
  if (take(tensor, "layers.")) {
    if (!take_number(tensor)) return false;
    in_attention = take(tensor, "self_attn.") || take(tensor, "attn.") || take(tensor, "attention.");
  }
  if (in_attention && is_one_of(tensor, kMasks)) return true;
  return take(tensor, "rotary_emb.") && is_one_of(tensor, kRotary);
}

bool is_of_quantised(std::string_view tensor, std::string_view dtype) {
  if (dtype.starts_with("F8_") || dtype == "I8" || dtype == "U8") return true;
  if (tensor.find(".quant_state.") != std::string_view::npos) return true;
  return is_one_of(tensor.substr(tensor.rfind('.') + 1), kQuantised);
}

}  // namespace temper::policy
