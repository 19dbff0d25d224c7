#include "runtime/grammar/regex/regex_digits.hpp"

#include <utility>

namespace troupe::grammar {
namespace {

constexpr byte_set all_digits = byte_set::range('0', '9');

void append(std::vector<congruence>& to, const std::vector<congruence>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

bool regex_store::digit_texts::has_some(regex_id r) {
  const auto sure = surely(r);
  return sure && some_digits(sure->counts, sure->all_of, sure->none_of);
}

// What is shared is looked at once for each that shares it.
bool regex_store::digit_texts::may_look() {
  constexpr std::uint64_t most_looks = 2000;
  if (looks_ == most_looks) return false;
  ++looks_;
  return true;
}

congruence regex_store::digit_texts::congruence_of(const node& n) const {
  return {store_.divisors_[n.a], (std::uint64_t{n.c} << 32) | n.b};
}

auto regex_store::digit_texts::surely(regex_id r) -> std::optional<sure_texts> {
  if (!may_look()) return std::nullopt;
  auto out = surely_without_empty(r);
  if (!out && store_.is_nullable(r)) out = sure_texts{{0, 0}, {}, {}};
  return out;
}

auto regex_store::digit_texts::surely_without_empty(regex_id r) -> std::optional<sure_texts> {
  const node& n = store_.node_of(r);
  switch (n.kind) {
    case regex_kind::bytes:
      if ((store_.sets_[n.a] & all_digits) != all_digits) return std::nullopt;
      return sure_texts{{1, 1}, {}, {}};
    case regex_kind::repeat: {
      const node& each = store_.node_of(regex_id{n.a});
      if (each.kind != regex_kind::bytes || !surely(regex_id{n.a})) return std::nullopt;
      return sure_texts{{n.b, n.c}, {}, {}};
    }
    case regex_kind::multiple:
      return sure_texts{any_count, {congruence_of(n)}, {}};
    case regex_kind::concat:
      return surely_in_turn(n);
    case regex_kind::alternation:
      return surely_any_of(n);
    case regex_kind::intersection:
      return surely_all_of(n);
    case regex_kind::complement:
      return surely_not(regex_id{n.a});
    default:
      return std::nullopt;
  }
}

// Conditions are of digits that nothing comes before or behind.
auto regex_store::digit_texts::surely_in_turn(const node& n) -> std::optional<sure_texts> {
  auto first = surely(regex_id{n.a});
  if (!first) return std::nullopt;
  const bool is_free = first->all_of.empty() && first->none_of.empty();
  if (!is_free) return store_.is_nullable(regex_id{n.b}) ? first : std::nullopt;
  auto rest = surely(regex_id{n.b});
  if (!rest) return std::nullopt;
  if (rest->all_of.empty() && rest->none_of.empty()) {
    rest->counts = sum(first->counts, rest->counts);
    return rest;
  }
  return store_.is_nullable(regex_id{n.a}) ? rest : std::nullopt;
}

// One of them: the one of the smallest multiples, and of those the one of the most counts.
auto regex_store::digit_texts::surely_any_of(const node& n) -> std::optional<sure_texts> {
  std::optional<sure_texts> best;
  const auto cost = [](const sure_texts& texts) {
    double out = static_cast<double>(texts.none_of.size()) / 2;
    for (const congruence& each : texts.all_of) out += static_cast<double>(each.divisor);
    return std::pair(out, unbounded - (texts.counts.most - texts.counts.least));
  };
  for (const regex_id part : store_.links_of(n)) {
    auto other = surely(part);
    if (other && (!best || cost(*other) < cost(*best))) best = std::move(other);
  }
  return best;
}

auto regex_store::digit_texts::surely_all_of(const node& n) -> std::optional<sure_texts> {
  sure_texts out;
  for (const regex_id part : store_.links_of(n)) {
    const auto other = surely(part);
    if (!other) return std::nullopt;
    out.counts = common(out.counts, other->counts);
    append(out.all_of, other->all_of);
    append(out.none_of, other->none_of);
  }
  if (out.counts.is_none()) return std::nullopt;
  return out;
}

auto regex_store::digit_texts::surely_not(regex_id denied) -> std::optional<sure_texts> {
  possible_texts possible = possibly(denied);
  sure_texts out{any_count, {}, std::move(possible.any_of)};
  if (possible.counts.is_none()) return out;
  const digit_counts below{0, possible.counts.least - 1}, above{sum(possible.counts.most, 1), unbounded};
  if (possible.counts.most != unbounded)
    out.counts = above;
  else if (possible.counts.least > 0)
    out.counts = below;
  else
    return std::nullopt;
  return out;
}

auto regex_store::digit_texts::possibly(regex_id r) -> possible_texts {
  const node& n = store_.node_of(r);
  if (!may_look()) return {any_count, {}};
  switch (n.kind) {
    case regex_kind::nothing:
      return {no_count, {}};
    case regex_kind::empty:
      return {{0, 0}, {}};
    case regex_kind::bytes:
      if ((store_.sets_[n.a] & all_digits).empty()) return {no_count, {}};
      return {{1, 1}, {}};
    case regex_kind::literal: {
      const bool is_digits =
          store_.text_of({n.a, n.b}).find_first_not_of("0123456789") == std::string_view::npos;
      return {is_digits ? digit_counts{n.b, n.b} : no_count, {}};
    }
    case regex_kind::repeat: {
      const possible_texts each = possibly(regex_id{n.a});
      if (each.are_none()) return {n.b == 0 ? digit_counts{0, 0} : no_count, {}};
      if (!each.any_of.empty()) return {any_count, {}};
      return {{times(each.counts.least, n.b), times(each.counts.most, n.c)}, {}};
    }
    case regex_kind::multiple:
      return {no_count, {congruence_of(n)}};
    case regex_kind::concat:
      return possibly_in_turn(n);
    case regex_kind::alternation:
      return possibly_any_of(n);
    case regex_kind::intersection:
      return possibly_all_of(n);
    default:
      return {any_count, {}};
  }
}

auto regex_store::digit_texts::possibly_in_turn(const node& n) -> possible_texts {
  possible_texts first = possibly(regex_id{n.a});
  if (first.are_none()) return first;
  possible_texts rest = possibly(regex_id{n.b});
  if (rest.are_none()) return rest;
  const auto is_empty_alone = [](const possible_texts& t) { return t.any_of.empty() && t.counts.most == 0; };
  if (is_empty_alone(rest)) return first;
  if (is_empty_alone(first)) return rest;
  if (!first.any_of.empty() || !rest.any_of.empty()) return {any_count, {}};
  return {sum(first.counts, rest.counts), {}};
}

auto regex_store::digit_texts::possibly_any_of(const node& n) -> possible_texts {
  possible_texts out{no_count, {}};
  for (const regex_id part : store_.links_of(n)) {
    const possible_texts other = possibly(part);
    if (out.counts.is_none())
      out.counts = other.counts;
    else if (!other.counts.is_none())
      out.counts = {std::min(out.counts.least, other.counts.least),
                    std::max(out.counts.most, other.counts.most)};
    append(out.any_of, other.any_of);
  }
  return out;
}

// Any of them is an answer: multiples alone rather than counts.
auto regex_store::digit_texts::possibly_all_of(const node& n) -> possible_texts {
  possible_texts out{any_count, {}};
  for (const regex_id part : store_.links_of(n)) {
    possible_texts other = possibly(part);
    if (other.are_none()) return other;
    if (out.counts.is_none()) continue;
    if (other.counts.is_none()) {
      out = std::move(other);
    } else if (other.any_of.empty() && out.any_of.empty()) {
      out.counts = common(out.counts, other.counts);
    }
  }
  return out;
}

}  // namespace troupe::grammar
