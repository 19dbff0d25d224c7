#include "runtime/grammar/grammar_builder.hpp"

#include <algorithm>

namespace troupe::grammar {

namespace {

constexpr std::uint32_t number(symbol_id id) { return static_cast<std::uint32_t>(id); }

// The two symbols that every builder begins with.
constexpr symbol_id the_empty{0}, the_nothing{1};

}  // namespace

grammar_builder::grammar_builder(const grammar_limits& limits)
    : limits_(limits),
      regex_(limits.max_regex_nodes, limits.max_compile_steps, limits.alphabet, limits.max_regex_depth) {
  symbols_.push_back({.kind = symbol_kind::sequence});
  symbols_.push_back({.kind = symbol_kind::choice});
}

symbol_id grammar_builder::empty() { return the_empty; }
symbol_id grammar_builder::nothing() { return the_nothing; }

void grammar_builder::fail_with(error e) {
  if (!failure_) failure_ = std::move(e);
}

const std::optional<error>& grammar_builder::failure() const {
  if (!failure_) failure_ = regex_.failure();
  return failure_;
}

symbol_id grammar_builder::add(const symbol& s) {
  if (failure()) return the_nothing;
  if (symbols_.size() >= limits_.max_symbols) {
    fail_with(exceeded("symbols", limits_.max_symbols, "max_symbols"));
    return the_nothing;
  }
  symbols_.push_back(s);
  return symbol_id{static_cast<std::uint32_t>(symbols_.size() - 1)};
}

symbol_id grammar_builder::add_links(symbol_kind kind, const std::vector<symbol_id>& parts) {
  if (parts.size() > limits_.max_links - links_.size()) {
    fail_with(exceeded("symbols in rules", limits_.max_links, "max_links"));
    return the_nothing;
  }
  symbol s{.kind = kind};
  s.a = static_cast<std::uint32_t>(links_.size());
  s.b = static_cast<std::uint32_t>(parts.size());
  links_.insert(links_.end(), parts.begin(), parts.end());
  return add(s);
}

symbol_id grammar_builder::lexeme(regex_id r, bool tight) {
  if (r == regex_.nothing()) return the_nothing;
  if (r == regex_.empty()) return the_empty;
  if (regex_.is_nullable(r)) return optional(lexeme(regex_.non_empty(r), tight));
  const std::uint64_t key = (std::uint64_t{static_cast<std::uint32_t>(r)} << 1) | (tight ? 1U : 0U);
  const auto known = lexemes_.find(key);
  if (known != lexemes_.end()) return known->second;
  const symbol_id id = add({.kind = symbol_kind::lexeme, .tight = tight, .a = static_cast<std::uint32_t>(r)});
  if (id != the_nothing) lexemes_.emplace(key, id);
  return id;
}

symbol_id grammar_builder::sequence(std::span<const symbol_id> parts) {
  std::vector<symbol_id> kept;
  for (const symbol_id part : parts) {
    if (part == the_nothing) return the_nothing;
    if (part != the_empty) kept.push_back(part);
  }
  if (kept.empty()) return the_empty;
  return kept.size() == 1 ? kept[0] : add_links(symbol_kind::sequence, kept);
}

symbol_id grammar_builder::choice(std::span<const symbol_id> parts) {
  std::vector<symbol_id> kept;
  std::vector<regex_id> lexemes[2];  // [tight]
  for (const symbol_id part : parts) {
    const symbol& s = at(part);
    if (s.kind == symbol_kind::lexeme)
      lexemes[s.tight ? 1 : 0].push_back(regex_id{s.a});
    else if (part != the_nothing)
      kept.push_back(part);
  }
  for (const bool tight : {false, true})
    if (!lexemes[tight].empty()) kept.push_back(lexeme(regex_.alternation(lexemes[tight]), tight));
  std::ranges::sort(kept);
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  if (kept.empty()) return the_nothing;
  return kept.size() == 1 ? kept[0] : add_links(symbol_kind::choice, kept);
}

symbol_id grammar_builder::repeat(symbol_id body, std::uint32_t min, std::uint32_t max) {
  if (max < min) return the_nothing;
  if (max == 0 || body == the_empty) return the_empty;
  if (body == the_nothing) return min == 0 ? the_empty : the_nothing;
  if (min == 1 && max == 1) return body;
  if (min == 0 && max == 1) return optional(body);
  return add({.kind = symbol_kind::repeat, .a = number(body), .b = min, .c = max});
}

symbol_id grammar_builder::list(symbol_id body, symbol_id separator, std::uint32_t min, std::uint32_t max) {
  if (max < min) return the_nothing;
  if (max == 0) return the_empty;
  const symbol_id more =
      repeat(sequence({separator, body}), min == 0 ? 0 : min - 1, max == unbounded ? max : max - 1);
  const symbol_id some = sequence({body, more});
  return min == 0 ? optional(some) : some;
}

symbol_id grammar_builder::any_order_of(any_order spec) {
  std::erase_if(spec.members,
                [](const auto& m) { return m.body == the_empty || (!m.required && m.body == the_nothing); });
  for (const any_order::member& m : spec.members)
    if (m.body == the_nothing) return the_nothing;
  if (spec.other == the_nothing || spec.other == the_empty) spec.other.reset();
  if (spec.separator == the_empty) spec.separator.reset();
  if (spec.separator == the_nothing) spec.max = std::min<std::uint32_t>(spec.max, 1);
  if (spec.members.empty() && !spec.other) return spec.min == 0 ? the_empty : the_nothing;
  if (spec.members.size() > limits_.max_links) {
    fail_with(exceeded("symbols in rules", limits_.max_links, "max_links"));
    return the_nothing;
  }
  any_orders_.push_back(std::move(spec));
  return add({.kind = symbol_kind::any_order, .a = static_cast<std::uint32_t>(any_orders_.size() - 1)});
}

symbol_id grammar_builder::forward() { return add({.kind = symbol_kind::forward}); }

void grammar_builder::define(symbol_id forward, symbol_id body) {
  symbol& s = symbols_[number(forward)];
  if (s.kind != symbol_kind::forward) return;  // the symbol that stands for what a limit refused
  s.a = number(body);
  s.b = 1;
}

void grammar_builder::set_skip(regex_id skip, bool at_end) {
  skip_ = regex_.non_empty(skip);
  skip_at_end_ = at_end;
}

}  // namespace troupe::grammar
