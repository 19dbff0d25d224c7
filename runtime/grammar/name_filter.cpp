#include "runtime/grammar/name_filter.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "runtime/token_bits.hpp"

namespace troupe::grammar {
namespace {

constexpr std::size_t longest_looked_into = 256;  // bytes of a name
// That a filter may take without spending, as of what else is known already. An object of some dozens of
// members takes no more.
constexpr std::size_t free_looks = 512;

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

result<bool> name_filter::advance(std::string_view bytes) {
  kept_names before(names_);
  if (!names_.read(bytes)) return false;
  const bool has_name_ahead = names_.string() == json_names::reading::name || names_.expects_name();
  auto allowed = has_name_ahead ? has_name_to_come(bytes) : result<bool>(true);
  if (allowed && *allowed) before.let_go();
  return allowed;
}

result<bool> name_filter::has_name_to_come(std::string_view bytes) {
  const bool is_begun = names_.string() == json_names::reading::name;
  if (!names_.has_beginning(is_begun ? names_.surely_begun() : std::string())) return true;
  std::string written(is_begun ? names_.written() : std::string_view());
  auto state = machine_.next(at_, bytes);
  if (state && !is_begun) state = machine_.next(*state, "\"");
  if (!state) return tl::unexpected(state.error());
  return has_another(*state, written);
}

result<bool> name_filter::has_another(automaton::state_id state, std::string& written) {
  if (written.size() >= longest_looked_into) return true;
  const std::optional<std::string> meaning = meaning_of_string(written);
  for (int byte = 0; byte < 256; ++byte) {
    const char next = static_cast<char>(byte);
    const auto to = machine_.next(state, std::string_view(&next, 1));
    if (!to) return tl::unexpected(to.error());
    if (*to == automaton::dead) continue;
    if (auto counted = count_look(); !counted) return tl::unexpected(counted.error());
    if (next == '"' && meaning) {
      if (names_.has(*meaning)) continue;
      return true;
    }
    written.push_back(next);
    const auto longer = meaning_of_string(written);
    const bool may_be_there = !longer || names_.has_beginning(*longer);
    const auto another = may_be_there ? has_another(*to, written) : result<bool>(true);
    written.pop_back();
    if (!another || *another) return another;
  }
  return false;
}

result<void> name_filter::count_look() { return ++looks_ > free_looks ? machine_.spend(1) : result<void>(); }

result<void> name_filter::filter_token(token_id token, std::span<std::uint32_t> mask) {
  if (!has_token(mask, token)) return {};
  if (auto counted = count_look(); !counted) return counted;
  const json_names::place before = names_.here();
  const auto allowed = advance(vocabulary_.bytes(token));
  if (!allowed) return tl::unexpected(allowed.error());
  if (*allowed) {
    names_.back_to(before);
  } else {
    remove_token(mask, token);
  }
  return {};
}

result<void> name_filter::filter_each(std::span<const token_trie::mask_word> tokens,
                                      std::span<std::uint32_t> mask) {
  for (const auto& [word, bits] : tokens)
    for (std::uint32_t left = bits & mask[word]; left != 0; left &= left - 1) {
      const token_id token = static_cast<token_id>(32 * word) + std::countr_zero(left);
      if (auto filtered = filter_token(token, mask); !filtered) return filtered;
    }
  return {};
}

result<void> name_filter::filter_along(std::string_view rest, std::size_t first,
                                       std::span<std::uint32_t> mask) {
  const std::span<const token_trie::node> nodes = vocabulary_.nodes();
  std::optional<std::size_t> node = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    node = child(nodes, *node, rest[i]);
    if (!node) return {};
    for (token_id same = nodes[*node].token; i >= first && same >= 0; same = vocabulary_.next_same(same))
      if (auto filtered = filter_token(same, mask); !filtered) return filtered;
  }
  node = child(nodes, *node, '"');
  for (std::size_t i = node.value_or(0); node && i < nodes[*node].end; ++i)
    for (token_id same = nodes[i].token; same >= 0; same = vocabulary_.next_same(same))
      remove_token(mask, same);
  return {};
}

result<void> name_filter::filter_all(std::span<std::uint32_t> mask) {
  for (token_id token = 0; static_cast<std::size_t>(token) < vocabulary_.vocab_size(); ++token)
    if (auto filtered = filter_token(token, mask); !filtered) return filtered;
  return {};
}

// The names are in order, so that what two of them begin with is looked at once.
result<void> name_filter::filter_names(std::span<std::uint32_t> mask) {
  const std::optional<std::string> begun = names_.begun();
  if (!begun && names_.has_beginning(names_.surely_begun())) return filter_all(mask);
  bool are_plain = true;
  std::string before;
  for (const std::string& name : begun ? names_.beginning(*begun) : std::vector<std::string>()) {
    const std::string rest = name.substr(begun->size());
    const bool is_plain = is_written_plainly(rest);
    are_plain = are_plain && is_plain;
    if (!is_plain) continue;
    const auto same = static_cast<std::size_t>(std::ranges::mismatch(before, rest).in2 - rest.begin());
    if (auto filtered = filter_along(rest, same, mask); !filtered) return filtered;
    before = rest;
  }
  if (auto filtered = filter_each(vocabulary_.with_escapes(), mask); !filtered) return filtered;
  return filter_each(are_plain ? vocabulary_.may_end_names() : vocabulary_.may_end_a_name(), mask);
}

result<void> name_filter::take_out(std::span<std::uint32_t> mask) {
  const json_names::reading string = names_.string();
  const bool needs_two_ends = string == json_names::reading::value || !names_.has_any();
  const auto filtered = needs_two_ends ? filter_each(vocabulary_.may_end_names(), mask)
                        : string == json_names::reading::name
                            ? filter_names(mask)
                            : filter_each(vocabulary_.may_end_a_name(), mask);
  if (!filtered) return filtered;
  if (std::ranges::any_of(mask, [](std::uint32_t word) { return word != 0; })) return {};
  return fail(error_code::invalid_argument,
              "grammar: no token is allowed: the object has every name that can follow here");
}

}  // namespace troupe::grammar
