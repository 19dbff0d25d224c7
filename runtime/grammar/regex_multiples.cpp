// Whether digits of some shape can be a multiple of a number: by arithmetic, where a search over derivatives
// would try the numbers one by one.
#include <algorithm>

#include "runtime/grammar/regex_store.hpp"

namespace troupe::grammar {

// Chains of "any digit" and points alone.
std::optional<regex_store::digit_counts> regex_store::count_any_digits(regex_id r) const {
  constexpr byte_set digits = byte_set::range('0', '9');
  digit_counts out;
  bool more = true;
  while (more) {
    more = kind(r) == regex_kind::concat;
    const node& chain = node_of(r);
    const node& link = more ? node_of(regex_id{chain.a}) : chain;
    if (more) r = regex_id{chain.b};
    const bool is_repeat = link.kind == regex_kind::repeat;
    const node& each = is_repeat ? node_of(regex_id{link.a}) : link;
    if (each.kind == regex_kind::bytes && sets_[each.a] == digits) {
      const std::uint32_t most = is_repeat ? link.c : 1;
      out.least += is_repeat ? link.b : 1;
      out.most = most == unbounded || out.most == unbounded ? unbounded : out.most + most;
    } else if (link.kind != regex_kind::empty && !is_points(link)) {
      return std::nullopt;
    }
  }
  return out;
}

bool regex_store::is_points(const node& n) const {
  if (n.kind == regex_kind::bytes) return sets_[n.a] == byte_set::of('.');
  return n.kind == regex_kind::literal &&
         text_of({n.a, n.b}).find_first_not_of('.') == std::string_view::npos;
}

// n more digits make every number from 0 to 10^n - 1, one of which has to make up for the remainder.
bool regex_store::can_reach_multiple(const node& multiple, digit_counts digits) const {
  const std::uint64_t divisor = divisors_[multiple.a];
  std::uint64_t remainder = (std::uint64_t{multiple.c} << 32) | multiple.b;
  std::uint64_t numbers = 1;  // 10^n
  for (std::uint32_t n = 0; n <= digits.most; ++n) {
    if (numbers >= divisor) return true;
    if (n >= digits.least && (divisor - remainder) % divisor < numbers) return true;
    numbers *= 10;
    remainder = remainder * 10 % divisor;
  }
  return false;
}

std::optional<bool> regex_store::decide_by_digits(regex_id r) const {
  const node& n = node_of(r);
  if (r == nothing()) return false;
  if (surely_something(r)) return true;
  if (n.kind == regex_kind::concat) {
    const auto first = decide_by_digits(regex_id{n.a});
    return first == true ? decide_by_digits(regex_id{n.b}) : first;
  }
  if (n.kind == regex_kind::alternation) {
    bool all_known = true;
    for (const regex_id part : links_of(n)) {
      const auto known = decide_by_digits(part);
      if (known == true) return true;
      all_known = all_known && known;
    }
    return all_known ? std::optional(false) : std::nullopt;
  }
  if (n.kind != regex_kind::intersection || n.b != 2) return std::nullopt;
  const auto links = links_of(n);
  const auto multiple = std::ranges::find(links, regex_kind::multiple, [&](regex_id id) { return kind(id); });
  if (multiple == links.end()) return std::nullopt;
  const auto digits = count_any_digits(multiple == links.begin() ? links.back() : links.front());
  if (!digits) return std::nullopt;
  return can_reach_multiple(node_of(*multiple), *digits);
}

}  // namespace troupe::grammar
