#pragma once
// The tokens outside the pieces of a tokenizer's model.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace temper::policy {

// Source: AddedToken of `tokenizers` 0.23.
struct AddedToken {
  int64_t id = -1;
  std::string name;
  bool special = false;      // decoding gives nothing
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space behind it
  bool single_word = false;  // is a token only where no word touches it
  bool normalized = false;   // is looked for in normalised text, by its normalised name

  bool operator==(const AddedToken&) const = default;
};

// A list of added tokens, which gives them ids as `tokenizers` does: that of the piece of the same name, or else the
// next one behind all others. Ids that a file asks for have no say.
class AddedTokens {
 public:
  using FindPiece = std::function<std::optional<int64_t>(const std::string& name)>;

  // `pieces`: how many the model has.
  AddedTokens(int64_t pieces, FindPiece find_piece);

  // The flags of a token that is there already are replaced; but what has once been special stays so.
  void add(AddedToken token);
  // Whether add() would need a new id.
  bool is_new(const std::string& name) const;

  const std::map<int64_t, AddedToken>& by_id() const { return by_id_; }
  const AddedToken* find(std::string_view name) const;

 private:
  int64_t next_id() const;

  int64_t pieces_;
  FindPiece find_piece_;
  std::map<int64_t, AddedToken> by_id_;
  std::map<std::string, int64_t, std::less<>> ids_;
  std::set<std::string> special_;
};

}  // namespace temper::policy
