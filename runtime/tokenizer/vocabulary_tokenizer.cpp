#include "runtime/tokenizer/vocabulary_tokenizer.hpp"

#include <utility>

namespace troupe {

vocabulary_tokenizer::vocabulary_tokenizer(vocabulary vocabulary, std::vector<std::string> pieces,
                                           bool find_user_defined)
    : vocabulary_(std::move(vocabulary)), pieces_(std::move(pieces)) {
  for (token_id id = 0; id < vocab_size(); ++id) {
    const auto type = vocabulary_.type(id);
    const bool always = find_user_defined && type == token_type::user_defined;
    if (always || is_special(id)) specials_.add(piece(id), id, always);
  }
}

std::vector<token_id> vocabulary_tokenizer::encode(std::string_view text,
                                                   const encode_options& options) const {
  std::vector<token_id> ids;
  if (options.add_special_tokens && vocabulary_.add_bos) ids.push_back(*vocabulary_.bos);
  bool fresh = true;
  std::size_t position = 0;
  const auto encode_until = [&](std::size_t end) {
    if (end == position) return;
    encode_text(text.substr(position, end - position), fresh, ids);
    fresh = false;
  };
  while (const auto match = specials_.find(text, position, options.parse_special)) {
    encode_until(match->begin);
    ids.push_back(match->id);
    fresh = is_special(match->id);
    position = match->begin + match->size;
  }
  encode_until(text.size());
  if (options.add_special_tokens && vocabulary_.add_eos) ids.push_back(*vocabulary_.eos);
  return ids;
}

std::string_view vocabulary_tokenizer::piece(token_id id) const {
  return knows(id) ? std::string_view(pieces_[static_cast<std::size_t>(id)]) : std::string_view();
}

std::string vocabulary_tokenizer::decode(std::span<const token_id> ids, bool skip_special_tokens) const {
  std::string text;
  for (const auto id : ids) {
    if (!skip_special_tokens || !is_special(id)) text += piece(id);
  }
  return text;
}

bool vocabulary_tokenizer::is_special(token_id id) const {
  if (!knows(id)) return false;
  const auto type = vocabulary_.type(id);
  return type == token_type::control || type == token_type::unknown;
}

bool vocabulary_tokenizer::is_end_of_generation(token_id id) const {
  return knows(id) && vocabulary_.ends_generation[static_cast<std::size_t>(id)];
}

}  // namespace troupe
