#include "runtime/tokenizer/special_matcher.hpp"

namespace troupe {
namespace {

std::uint64_t edge(std::uint32_t parent, unsigned char byte) { return std::uint64_t{parent} << 8U | byte; }

}  // namespace

void special_matcher::add(std::string_view text, token_id id, bool always) {
  if (text.empty()) return;
  first_bytes_[static_cast<unsigned char>(text[0])] = true;
  std::uint32_t at = 0;
  for (const char byte : text) {
    const auto next = static_cast<std::uint32_t>(nodes_.size());
    const auto [found, added] = children_.try_emplace(edge(at, static_cast<unsigned char>(byte)), next);
    if (added) nodes_.emplace_back();
    at = found->second;
  }
  nodes_[at] = {id, always};
}

std::optional<std::uint32_t> special_matcher::child(std::uint32_t parent, unsigned char byte) const {
  const auto found = children_.find(edge(parent, byte));
  return found == children_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<special_matcher::match> special_matcher::find(std::string_view text, std::size_t from,
                                                            bool parse_special) const {
  if (children_.empty()) return std::nullopt;
  for (auto begin = from; begin < text.size(); ++begin) {
    if (!first_bytes_[static_cast<unsigned char>(text[begin])]) continue;
    std::optional<match> longest;
    std::optional<std::uint32_t> at = 0;
    for (auto end = begin; end < text.size(); ++end) {
      at = child(*at, static_cast<unsigned char>(text[end]));
      if (!at) break;
      const auto& ending = nodes_[*at];
      if (ending.id >= 0 && (ending.always || parse_special))
        longest = match{begin, end + 1 - begin, ending.id};
    }
    if (longest) return longest;
  }
  return std::nullopt;
}

}  // namespace troupe
