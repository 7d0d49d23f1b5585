#include "policy/text/pieces/added_tokens.h"

namespace temper::policy {

AddedTokens::AddedTokens(int64_t pieces, FindPiece find_piece)
    : pieces_(pieces), find_piece_(std::move(find_piece)) {}

int64_t AddedTokens::next_id() const {
  if (by_id_.empty() || by_id_.rbegin()->first < pieces_) return pieces_;
  return by_id_.rbegin()->first + 1;
}

bool AddedTokens::is_new(const std::string& name) const { return !ids_.contains(name) && !find_piece_(name); }

void AddedTokens::add(AddedToken token) {
  if (token.name.empty()) return;
  if (token.special) special_.insert(token.name);
  token.special = special_.contains(token.name);
  const auto known = ids_.find(token.name);
  token.id = known != ids_.end() ? known->second : find_piece_(token.name).value_or(next_id());
  ids_[token.name] = token.id;
  by_id_[token.id] = std::move(token);
}

const AddedToken* AddedTokens::find(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? nullptr : &by_id_.at(found->second);
}

}  // namespace temper::policy
