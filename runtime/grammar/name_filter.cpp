#include "runtime/grammar/name_filter.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/token_bits.hpp"

namespace troupe::grammar {
namespace {

constexpr std::size_t longest_looked_into = 256;  // bytes of a name

// Whether a string's body spells it byte for byte.
bool is_written_plainly(std::string_view name) {
  return std::ranges::all_of(
      name, [](char byte) { return byte != '"' && byte != '\\' && static_cast<unsigned char>(byte) >= ' '; });
}

// The node below `parent` for the byte.
std::optional<std::size_t> child(std::span<const token_trie::node> nodes, std::size_t parent, char byte) {
  for (std::size_t i = parent + 1; i < nodes[parent].end; i = nodes[i].end)
    if (nodes[i].byte == static_cast<unsigned char>(byte)) return i;
  return std::nullopt;
}

}  // namespace

result<bool> name_filter::allows(std::string_view bytes) {
  const json_names::place before = names_.here();
  result<bool> allowed = names_.read(bytes);
  if (*allowed) allowed = has_name_to_come(bytes);
  names_.back_to(before);
  return allowed;
}

result<bool> name_filter::has_name_to_come(std::string_view bytes) {
  const bool is_begun = names_.string() == json_names::reading::name;
  if (!is_begun && !names_.expects_name()) return true;
  std::string begin;
  if (is_begun) begin = names_.partial();
  if ((is_begun && !names_.is_plain()) || !names_.has_beginning(begin)) return true;
  auto state = machine_.next(at_, bytes);
  if (state && !is_begun) state = machine_.next(*state, "\"");
  if (!state) return tl::unexpected(state.error());
  return has_another(*state, begin);
}

// An escape leads to other names, as good as always.
result<bool> name_filter::has_another(automaton::state_id state, std::string& begin) {
  if (begin.size() >= longest_looked_into) return true;
  for (int byte = 0; byte < 256; ++byte) {
    const char next = static_cast<char>(byte);
    const auto to = machine_.next(state, std::string_view(&next, 1));
    if (!to) return tl::unexpected(to.error());
    if (*to == automaton::dead || (next == '"' && names_.has(begin))) continue;
    if (next == '"' || next == '\\') return true;
    begin.push_back(next);
    const auto another = names_.has_beginning(begin) ? has_another(*to, begin) : result<bool>(true);
    begin.pop_back();
    if (!another || *another) return another;
  }
  return false;
}

result<bool> name_filter::try_token(token_id token, std::span<std::uint32_t> mask) {
  if (!has_token(mask, token)) return true;
  const auto allowed = allows(vocabulary_.bytes(token));
  if (allowed && !*allowed) remove_token(mask, token);
  return allowed;
}

result<void> name_filter::try_each(std::span<const token_trie::mask_word> tokens,
                                   std::span<std::uint32_t> mask) {
  for (const auto& [word, bits] : tokens)
    for (std::uint32_t left = bits & mask[word]; left != 0; left &= left - 1) {
      const token_id token = static_cast<token_id>(32 * word) + std::countr_zero(left);
      if (auto tried = try_token(token, mask); !tried) return tl::unexpected(std::move(tried.error()));
    }
  return {};
}

result<void> name_filter::try_along(std::string_view rest, std::span<std::uint32_t> mask) {
  const std::span<const token_trie::node> nodes = vocabulary_.nodes();
  std::optional<std::size_t> node = 0;
  for (const char byte : rest) {
    node = child(nodes, *node, byte);
    if (!node) return {};
    for (token_id same = nodes[*node].token; same >= 0; same = vocabulary_.next_same(same))
      if (auto tried = try_token(same, mask); !tried) return tl::unexpected(std::move(tried.error()));
  }
  node = child(nodes, *node, '"');
  if (!node) return {};
  for (std::size_t i = *node; i < nodes[*node].end; ++i)
    for (token_id same = nodes[i].token; same >= 0; same = vocabulary_.next_same(same))
      remove_token(mask, same);
  return {};
}

result<void> name_filter::try_names_begun(std::span<std::uint32_t> mask) {
  bool are_plain = names_.is_plain();
  std::vector<std::string> rests;
  names_.visit_names([&](std::string_view name) {
    are_plain = are_plain && is_written_plainly(name);
    if (are_plain && name.starts_with(names_.partial()))
      rests.emplace_back(name.substr(names_.partial().size()));
    return are_plain;
  });
  if (!are_plain) return try_each(vocabulary_.with_marks(), mask);
  for (const std::string& rest : rests)
    if (auto tried = try_along(rest, mask); !tried) return tried;
  return try_each(vocabulary_.with_more_than_a_mark(), mask);
}

result<void> name_filter::take_out(std::span<std::uint32_t> mask) {
  const json_names::reading string = names_.string();
  const bool is_far = string == json_names::reading::value || !names_.has_any();
  auto tried = is_far                                ? try_each(vocabulary_.with_more_than_a_mark(), mask)
               : string == json_names::reading::name ? try_names_begun(mask)
                                                     : try_each(vocabulary_.with_marks(), mask);
  if (!tried) return tried;
  if (std::ranges::any_of(mask, [](std::uint32_t word) { return word != 0; })) return {};
  return fail(error_code::invalid_argument,
              "grammar: no token is allowed: the object has every name that can follow here");
}

}  // namespace troupe::grammar
