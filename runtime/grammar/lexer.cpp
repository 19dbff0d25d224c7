#include "runtime/grammar/lexer.hpp"

#include <algorithm>

#include "runtime/grammar/hash.hpp"

namespace troupe::grammar {

lexer::lexer(regex_store regex, std::vector<regex_id> terminals)
    : regex_(std::move(regex)),
      terminals_(std::move(terminals)),
      classes_(regex_.classes()),
      rows_(num_classes()) {
  intern({});  // dead
}

std::uint32_t lexer::intern(const std::vector<part>& parts) {
  std::uint64_t hash = parts.size();
  for (const part& p : parts)
    hash = mix(hash, (std::uint64_t{p.terminal} << 32) | static_cast<std::uint32_t>(p.left));
  const auto known = index_.find(hash, [&](std::uint32_t id) {
    return std::ranges::equal(std::span(parts_).subspan(states_[id].parts, states_[id].num_parts), parts);
  });
  if (known) return *known;
  entry s;
  s.parts = static_cast<std::uint32_t>(parts_.size());
  s.num_parts = static_cast<std::uint32_t>(parts.size());
  s.matched = static_cast<std::uint32_t>(matched_.size());
  for (const part& p : parts) {
    if (regex_.is_nullable(p.left)) matched_.push_back(p.terminal);
    s.goes_on = s.goes_on || p.left != regex_.empty();
  }
  s.num_matched = static_cast<std::uint32_t>(matched_.size()) - s.matched;
  parts_.insert(parts_.end(), parts.begin(), parts.end());
  const auto id = static_cast<std::uint32_t>(states_.size());
  states_.push_back(s);
  rows_.add_row(parts.empty() ? dead : unknown);
  index_.insert(hash, id);
  return id;
}

std::uint32_t lexer::start(std::span<const std::uint32_t> terminals) {
  scratch_.clear();
  for (const std::uint32_t terminal : terminals) scratch_.push_back({terminal, terminals_[terminal]});
  return intern(scratch_);
}

std::optional<regex_id> lexer::settled(regex_id left, step_budget& budget) {
  if (!regex_.has_boolean(left)) return left;
  const auto nothing = regex_.is_nothing(left, budget);
  if (!nothing) return std::nullopt;
  if (*nothing) return regex_.nothing();
  if (!regex_.is_nullable(left)) return left;
  const auto no_more = regex_.is_nothing(regex_.non_empty(left), budget);
  if (!no_more) return std::nullopt;
  return *no_more ? regex_.empty() : left;
}

std::optional<std::uint32_t> lexer::make_next(std::uint32_t from, unsigned char byte_class,
                                              step_budget& budget) {
  const unsigned char byte = classes_.representatives[byte_class];
  byte_set alike = byte_set::all();
  scratch_.clear();
  for (std::uint32_t i = 0; i < states_[from].num_parts; ++i) {
    const part p = parts_[states_[from].parts + i];
    const regex_id left = regex_.derivative(p.left, byte, budget);
    if (budget.is_spent() || regex_.failure()) return std::nullopt;
    alike = alike & regex_.derived_alike();
    if (left == regex_.nothing()) continue;
    const auto s = settled(left, budget);
    if (!s || regex_.failure()) return std::nullopt;
    if (*s != regex_.nothing()) scratch_.push_back({p.terminal, *s});
  }
  const std::uint32_t to = intern(scratch_);
  for (std::size_t c = 0; c < num_classes(); ++c)
    if (alike.contains(classes_.representatives[c])) rows_.at(from, c) = to;
  return to;
}

std::size_t lexer::memory_bytes() const {
  return regex_.memory_bytes() + states_.capacity() * sizeof(entry) + parts_.capacity() * sizeof(part) +
         matched_.capacity() * sizeof(std::uint32_t) + rows_.memory_bytes() + index_.memory_bytes();
}

}  // namespace troupe::grammar
