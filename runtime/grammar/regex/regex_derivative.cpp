// Matching: what is left of an expression after a byte, and whether anything is left.
#include <algorithm>
#include <utility>

#include "runtime/grammar/hash.hpp"
#include "runtime/grammar/regex/regex_store.hpp"

namespace troupe::grammar {

namespace {

constexpr std::size_t cached_derivatives = 1 << 10;
constexpr std::size_t short_search = 8;  // states: what follows them is looked at as a whole first

}  // namespace

regex_id regex_store::derive_strings(const node& n, unsigned char byte) {
  const string_table& entries = *tables_[n.a];
  const std::uint32_t depth = n.d;
  const auto at = [&](std::uint32_t i) {
    return static_cast<unsigned char>(text_[entries[i].offset + depth]);
  };
  const std::uint32_t begin = entries[n.b].size == depth ? n.b + 1 : n.b;
  const auto bound = [&](auto before) {
    std::uint32_t low = begin, high = n.c;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (before(at(middle)))
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  const std::uint32_t first = bound([&](unsigned char c) { return c < byte; });
  const std::uint32_t last = bound([&](unsigned char c) { return c <= byte; });
  byte_set between;  // the entries before and after: no byte from one to the other is in any
  const unsigned lowest = first == begin ? 0 : at(first - 1) + 1U;
  const unsigned highest = last == n.c ? 255 : at(last) - 1U;
  if (first == last)
    between = byte_set::range(lowest, highest);
  else
    between.insert(byte);
  alike_ = alike_ & between;
  return make_strings(n.a, first, last, depth + 1);
}

regex_id regex_store::derive_literal(const node& n, unsigned char byte) {
  const byte_set only = byte_set::of(static_cast<unsigned char>(text_[n.a]));
  alike_ = alike_ & (only.contains(byte) ? only : ~only);
  return only.contains(byte) ? make_literal(n.a + 1, n.b - 1) : nothing();
}

regex_id regex_store::derive_multiple(regex_id r, unsigned char byte) {
  constexpr byte_set digits_and_point = byte_set::range('0', '9') | byte_set::of('.');
  alike_ = alike_ & (digits_and_point.contains(byte) ? byte_set::of(byte) : ~digits_and_point);
  if (byte == '.') return r;
  if (!digits_and_point.contains(byte)) return nothing();
  const node n = node_of(r);
  const std::uint64_t before = (std::uint64_t{n.c} << 32) | n.b;
  return make_multiple(n.a, (before * 10 + (byte - '0')) % divisors_[n.a]);
}

regex_id regex_store::derive_concat(regex_id r, unsigned char byte, step_budget& budget) {
  std::vector<regex_id> parts;
  while (kind(r) == regex_kind::concat) {
    const regex_id head{node_of(r).a}, rest{node_of(r).b};
    const regex_id derived = derive(head, byte, budget);
    if (derived != nothing()) parts.push_back(make_concat(derived, rest));
    if (!node_of(head).nullable) return parts.empty() ? nothing() : make_alternation(parts);
    r = rest;
  }
  parts.push_back(derive(r, byte, budget));
  return make_alternation(parts);
}

regex_id regex_store::derive(regex_id r, unsigned char byte, step_budget& budget) {
  if (!budget.spend(1 + steps_ - steps_paid_)) return nothing();
  steps_paid_ = steps_;
  const node n = node_of(r);
  switch (n.kind) {
    case regex_kind::nothing:
    case regex_kind::empty:
      return nothing();
    case regex_kind::bytes:
      alike_ = alike_ & (sets_[n.a].contains(byte) ? sets_[n.a] : ~sets_[n.a]);
      return sets_[n.a].contains(byte) ? empty() : nothing();
    case regex_kind::literal:
      return derive_literal(n, byte);
    case regex_kind::strings:
      return derive_strings(n, byte);
    case regex_kind::concat:
      return derive_concat(r, byte, budget);
    case regex_kind::repeat: {
      if (r == any_bytes()) return r;
      const regex_id derived = derive(regex_id{n.a}, byte, budget);
      if (derived == nothing()) return derived;
      return make_concat(
          derived, repeat(regex_id{n.a}, n.b == 0 ? 0 : n.b - 1, n.c == unbounded ? unbounded : n.c - 1));
    }
    case regex_kind::multiple:
      return derive_multiple(r, byte);
    case regex_kind::complement: {
      const regex_id derived = derive_cached(regex_id{n.a}, byte, budget);
      return budget.is_spent() ? nothing() : complement(derived);
    }
    case regex_kind::alternation:
    case regex_kind::intersection:
      break;
  }
  std::vector<regex_id> parts;
  for (std::uint32_t i = 0; i < n.b; ++i) {
    const regex_id part = links_[n.a + i];
    const regex_id derived =
        n.kind == regex_kind::intersection ? derive_cached(part, byte, budget) : derive(part, byte, budget);
    if (derived != nothing())
      parts.push_back(derived);
    else if (n.kind == regex_kind::intersection)
      return derived;
  }
  if (parts.empty()) return nothing();
  return n.kind == regex_kind::alternation ? make_alternation(parts) : make_intersection(parts);
}

regex_id regex_store::derivative(regex_id r, unsigned char byte, step_budget& budget) {
  if (!alphabet_.contains(byte)) {
    alike_ = ~alphabet_;
    return nothing();
  }
  const std::uint64_t steps_before = steps_paid_ = steps_;
  alike_ = byte_set::all();
  const regex_id value = derive_cached(r, byte, budget);
  budget.spend(steps_ - steps_paid_);
  steps_ = steps_before;
  return value;
}

// Many intersections have the same parts, such as the negations of one another.
regex_id regex_store::derive_cached(regex_id r, unsigned char byte, step_budget& budget) {
  const regex_kind k = kind(r);
  const bool simple = k == regex_kind::nothing || k == regex_kind::empty || k == regex_kind::bytes ||
                      k == regex_kind::literal || r == any_bytes();
  if (simple) return derive(r, byte, budget);
  if (derivatives_.empty()) derivatives_.resize(cached_derivatives);
  const std::uint64_t key = (std::uint64_t{static_cast<std::uint32_t>(r)} << 8) | byte;
  const std::size_t at = mix(0, key) & (cached_derivatives - 1);
  if (derivatives_[at].key == key) {
    budget.spend();
    alike_ = alike_ & derivatives_[at].alike;
    return derivatives_[at].value;
  }
  const byte_set before = std::exchange(alike_, byte_set::all());
  const regex_id value = derive(r, byte, budget);
  if (!budget.is_spent() && !failure_) derivatives_[at] = {key, value, alike_};
  alike_ = before & alike_;
  return value;
}

// Nodes without intersection and complement below are nothing only where they are the node nothing().
bool regex_store::surely_something(regex_id r) const {
  return node_of(r).nullable || (r != nothing() && !node_of(r).may_be_nothing);
}

std::optional<bool> regex_store::is_nothing(regex_id r, step_budget& budget) {
  // A chain is nothing when one of its links is.
  while (kind(r) == regex_kind::concat) {
    const regex_id head{node_of(r).a};
    if (!surely_something(head)) {
      const auto answer = search_any(head, budget);
      if (!answer) return std::nullopt;
      if (!*answer) return true;
    }
    r = regex_id{node_of(r).b};
  }
  if (surely_something(r)) return false;
  const auto answer = search_any(r, budget);
  if (!answer) return std::nullopt;
  return !*answer;
}

// A depth-first search over derivatives for one that matches the empty text.
std::optional<bool> regex_store::search_any(regex_id r, step_budget& budget) {
  const auto known = [&](regex_id id) -> std::optional<bool> {
    if (id == nothing()) return false;
    if (surely_something(id)) return true;
    const auto found = nothing_known_.find(static_cast<std::uint32_t>(id));
    if (found != nothing_known_.end()) return !found->second;
    return has_multiple(id) ? decide_by_digits(id, budget) : std::nullopt;
  };
  if (const auto answer = known(r)) return answer;
  const byte_classes all = classes();
  struct visit {
    regex_id id;
    std::size_t next = 0;  // class
    byte_set derived = {};
  };
  std::vector<visit> path{{r}};
  std::unordered_map<std::uint32_t, bool> seen{{static_cast<std::uint32_t>(r), true}};
  while (!path.empty()) {
    visit& top = path.back();
    if (top.next == all.count()) {
      path.pop_back();
      continue;
    }
    const unsigned char byte = all.representatives[top.next++];
    if (top.derived.contains(byte)) continue;
    const regex_id id = derivative(top.id, byte, budget);
    if (budget.is_spent() || failure_) return std::nullopt;
    top.derived = top.derived | alike_;
    if (seen.contains(static_cast<std::uint32_t>(id))) continue;
    auto answer = known(id);
    const bool is_worth_it = !answer && seen.size() > short_search && has_multiple(id);
    if (is_worth_it && is_nothing_loosened(id, budget)) {
      nothing_known_[static_cast<std::uint32_t>(id)] = true;
      answer = false;
    }
    if (answer && *answer) {
      for (const visit& v : path) nothing_known_[static_cast<std::uint32_t>(v.id)] = false;
      return true;
    }
    if (answer) continue;
    seen.emplace(static_cast<std::uint32_t>(id), true);
    path.push_back({id});
  }
  for (const auto& [id, unused] : seen) nothing_known_[id] = true;
  return false;
}

std::optional<bool> regex_store::matches(regex_id r, std::string_view text, step_budget& budget) {
  for (const char c : text) {
    r = derivative(r, static_cast<unsigned char>(c), budget);
    if (budget.is_spent() || failure_) return std::nullopt;
    if (r == nothing()) return false;
  }
  return is_nullable(r);
}

}  // namespace troupe::grammar
