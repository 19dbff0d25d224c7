#include "runtime/grammar/token_trie.hpp"

#include <algorithm>

#include "runtime/token_bits.hpp"
#include "runtime/utf8.hpp"

namespace troupe::grammar {

namespace {

constexpr std::size_t most_characters_told_apart = 32;

struct content {
  std::uint64_t groups = 0;
  std::size_t characters = 0;
};

content content_of(std::string_view bytes) {
  content found;
  while (!bytes.empty()) {
    const utf8_unit unit = first_utf8_unit(bytes);
    const auto byte = static_cast<unsigned char>(bytes[0]);
    const unsigned group = unit.what != utf8_unit::kind::character ? character_groups::broken
                           : byte < 0x80                           ? character_groups::of(byte)
                                                                   : character_groups::past_ascii;
    found.groups |= std::uint64_t{1} << group;
    ++found.characters;
    bytes.remove_prefix(unit.size);
  }
  return found;
}

std::vector<token_trie::mask_word> words_of(std::span<const std::uint32_t> mask) {
  std::vector<token_trie::mask_word> words;
  for (std::uint32_t i = 0; i < mask.size(); ++i)
    if (mask[i] != 0) words.push_back({i, mask[i]});
  return words;
}

}  // namespace

unsigned character_groups::of(unsigned char byte) {
  constexpr unsigned first_mark = 5, digits = 37, capitals = 38, delete_character = 42;
  if (byte == '\t') return 1;
  if (byte == '\n') return 2;
  if (byte == '\r') return 3;
  if (byte == ' ') return 4;
  if (byte < ' ') return 0;
  if (byte == 0x7F) return delete_character;
  if (byte >= '0' && byte <= '9') return digits;
  if (byte >= 'A' && byte <= 'Z') return capitals;
  if (byte >= 'a' && byte <= 'z') return letters;
  if (byte < '0') return first_mark + byte - '!';        // 15
  if (byte < 'A') return first_mark + 15U + byte - ':';  // 7
  if (byte < 'a') return first_mark + 22U + byte - '[';  // 6
  return first_mark + 28U + byte - '{';                  // 4
}

token_trie::token_trie(std::span<const vocabulary_token> tokens) {
  offsets_.push_back(0);
  std::vector<token_id> sorted;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<token_id>(i);
    if (tokens[i].is_end) end_tokens_.push_back(id);
    if (tokens[i].is_text && !tokens[i].is_end) bytes_.append(tokens[i].bytes);
    offsets_.push_back(static_cast<std::uint32_t>(bytes_.size()));
    if (offsets_[i + 1] != offsets_[i] && offsets_[i + 1] - offsets_[i] < 0xFFFF) sorted.push_back(id);
  }
  next_same_.assign(tokens.size(), -1);
  std::ranges::stable_sort(sorted, {}, [&](token_id id) { return bytes(id); });
  add_nodes(sorted);
  add_sets(sorted);
  add_ends_of_names(sorted);
}

bool token_trie::is_end(token_id token) const { return std::ranges::binary_search(end_tokens_, token); }

void token_trie::add_nodes(std::span<const token_id> sorted) {
  nodes_.push_back({});
  groups_.push_back(0);
  std::vector<std::uint32_t> path{0};  // [depth], the nodes that are open
  const auto close_to = [&](std::size_t depth) {
    while (path.size() > depth + 1) {
      const std::uint32_t child = path.back();
      path.pop_back();
      nodes_[child].end = static_cast<std::uint32_t>(nodes_.size());
      groups_[path.back()] |= groups_[child];
      nodes_[path.back()].max_characters =
          std::max(nodes_[path.back()].max_characters, nodes_[child].max_characters);
    }
  };
  std::string_view before;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::string_view text = bytes(sorted[i]);
    if (i > 0 && text == before) {
      next_same_[static_cast<std::size_t>(sorted[i - 1])] = sorted[i];
      continue;
    }
    const auto common = static_cast<std::size_t>(std::ranges::mismatch(before, text).in1 - before.begin());
    close_to(common);
    for (std::size_t depth = common; depth < text.size(); ++depth) {
      path.push_back(static_cast<std::uint32_t>(nodes_.size()));
      node added;
      added.byte = static_cast<std::uint8_t>(text[depth]);
      alphabet_.insert(added.byte);
      added.depth = static_cast<std::uint16_t>(depth + 1);
      nodes_.push_back(added);
      groups_.push_back(0);
    }
    max_depth_ = std::max(max_depth_, text.size());
    const content found = content_of(text);
    nodes_.back().token = sorted[i];
    nodes_.back().max_characters = static_cast<std::uint8_t>(std::min<std::size_t>(found.characters, 255));
    groups_.back() = found.groups;
    before = text;
  }
  close_to(0);
  nodes_[0].end = static_cast<std::uint32_t>(nodes_.size());
}

void token_trie::add_sets(std::span<const token_id> sorted) {
  for (mask& m : with_group_) m.resize(num_words());
  text_.resize(num_words());
  std::size_t longest = 0;
  std::vector<content> contents;
  for (const token_id id : sorted) {
    contents.push_back(content_of(bytes(id)));
    longest = std::max(longest, contents.back().characters);
  }
  up_to_characters_.resize(std::min(longest, most_characters_told_apart) + 1, mask(num_words()));
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    add_token(text_, sorted[i]);
    for (unsigned group = 0; group < character_groups::count; ++group)
      if ((contents[i].groups >> group) & 1) add_token(with_group_[group], sorted[i]);
    for (std::size_t n = contents[i].characters; n < up_to_characters_.size(); ++n)
      add_token(up_to_characters_[n], sorted[i]);
  }
}

void token_trie::add_ends_of_names(std::span<const token_id> sorted) {
  mask one(num_words()), more(num_words()), escapes(num_words());
  for (const token_id id : sorted) {
    const std::string_view text = bytes(id);
    const std::size_t last = text.find_last_not_of(" \t\r\n");
    const bool ends_in_comma = last != std::string_view::npos && text[last] == ',';
    const auto places = std::ranges::count(text, '"') + (ends_in_comma ? 1 : 0);
    if (places > 0) add_token(one, id);
    if (places > 1) add_token(more, id);
    if (text.find('\\') != std::string_view::npos) add_token(escapes, id);
  }
  may_end_a_name_ = words_of(one);
  may_end_names_ = words_of(more);
  with_escapes_ = words_of(escapes);
}

std::vector<std::uint32_t> token_trie::made_of(std::uint64_t groups) const {
  mask made = text_;
  for (unsigned group = 0; group < character_groups::count; ++group)
    for (std::size_t i = 0; i < made.size() && ((groups >> group) & 1) == 0; ++i)
      made[i] &= ~with_group_[group][i];
  return made;
}

token_trie_ptr make_token_trie(std::span<const vocabulary_token> tokens) {
  return std::make_shared<const token_trie>(tokens);
}

token_trie_ptr make_token_trie(const tokenizer& tokenizer) {
  std::vector<vocabulary_token> tokens(static_cast<std::size_t>(tokenizer.vocab_size()));
  for (token_id id = 0; id < tokenizer.vocab_size(); ++id)
    tokens[static_cast<std::size_t>(id)] = {tokenizer.piece(id), !tokenizer.is_special(id),
                                            tokenizer.is_end_of_generation(id)};
  return make_token_trie(tokens);
}

const token_trie_ptr& byte_token_trie() {
  static const token_trie_ptr trie = [] {
    std::array<char, 256> bytes{};
    std::vector<vocabulary_token> tokens;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<char>(i);
      tokens.push_back({{&bytes[i], 1}, true, false});
    }
    tokens.push_back({{}, false, true});
    return make_token_trie(tokens);
  }();
  return trie;
}

}  // namespace troupe::grammar
