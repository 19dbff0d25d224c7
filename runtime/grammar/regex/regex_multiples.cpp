// Whether digits of some shape can be a multiple of a number: by arithmetic, where a search over derivatives
// would try the numbers one by one.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/grammar/regex/digit_counts.hpp"
#include "runtime/grammar/regex/regex_digits.hpp"
#include "runtime/grammar/regex/regex_store.hpp"

namespace troupe::grammar {
namespace {

constexpr std::uint64_t looks_in_a_step = 16, sure_looks_in_a_step = 4;  // the latter list what they find
constexpr byte_set digits = byte_set::range('0', '9');

}  // namespace

// Answers that hold; nothing where it cannot tell.
class regex_store::digit_search {
 public:
  explicit digit_search(const regex_store& store) : store_(store) {}

  std::uint64_t looks() const { return looks_; }

  // Whether r matches any text.
  std::optional<bool> decide(regex_id r) {
    const node& n = store_.node_of(r);
    if (r == store_.nothing()) return false;
    if (store_.surely_something(r)) return true;
    if (n.kind == regex_kind::concat) {
      const auto first = decide(regex_id{n.a});
      return first == true ? decide(regex_id{n.b}) : first;
    }
    if (n.kind == regex_kind::alternation)
      return any_of(store_.links_of(n), [&](regex_id part) { return decide(part); });
    return n.kind == regex_kind::intersection ? decide_intersection(r) : std::nullopt;
  }

 private:
  // Digits of some shapes, with points in between, that are a multiple; then a tail.
  struct multiples {
    const node* multiple = nullptr;
    std::vector<regex_id> shapes = {};
    regex_id tail{};
  };

  struct number_shape {
    digit_counts whole, fraction;
  };

  // Digits that texts begin with, up to another byte or their end.
  struct leading_digits {
    digit_counts count;
    bool always_end = false, may_end = false;  // with the last of them: all texts, or some
  };

  template <class Decide>
  static std::optional<bool> any_of(std::span<const regex_id> parts, Decide&& decide_part) {
    bool all_known = true;
    for (const regex_id part : parts) {
      const std::optional<bool> known = decide_part(part);
      if (known == true) return true;
      all_known = all_known && known;
    }
    return all_known ? std::optional(false) : std::nullopt;
  }

  std::optional<bool> decide_intersection(regex_id r) {
    if (const auto those = to_multiples(r)) return decide_multiples(*those, {});
    const auto links = store_.links_of(store_.node_of(r));
    for (const regex_id link : links) {
      std::vector<regex_id> others;
      std::ranges::copy_if(links, std::back_inserter(others), [&](regex_id id) { return id != link; });
      const auto decide_part = [&](regex_id part) {
        const auto those = to_multiples(part);
        return those ? decide_multiples(*those, others) : std::nullopt;
      };
      const std::array<regex_id, 1> alone{link};
      const bool is_choice = store_.kind(link) == regex_kind::alternation;
      const auto answer =
          any_of(is_choice ? store_.links_of(store_.node_of(link)) : std::span(alone), decide_part);
      if (answer) return answer;
    }
    return std::nullopt;
  }

  std::optional<multiples> to_multiples(regex_id r) const {
    multiples out{.tail = store_.empty()};
    if (store_.kind(r) == regex_kind::concat) {
      out.tail = regex_id{store_.node_of(r).b};
      r = regex_id{store_.node_of(r).a};
    }
    const std::array<regex_id, 1> alone{r};
    const bool has_shapes = store_.kind(r) == regex_kind::intersection;
    for (const regex_id link : has_shapes ? store_.links_of(store_.node_of(r)) : std::span(alone)) {
      if (store_.kind(link) != regex_kind::multiple)
        out.shapes.push_back(link);
      else if (std::exchange(out.multiple, &store_.node_of(link)) != nullptr)
        return std::nullopt;
    }
    return out.multiple != nullptr ? std::optional(std::move(out)) : std::nullopt;
  }

  // Whether a text is of `those` and of all `others`: surely not where no number of digits that there may be
  // leads to a multiple.
  std::optional<bool> decide_multiples(const multiples& those, std::span<const regex_id> others) {
    const auto alone =
        those.shapes.size() == 1 && others.empty() ? count(those.shapes.front()) : std::nullopt;
    if (alone && store_.surely_something(those.tail))
      return can_reach(*those.multiple, sum(alone->whole, alone->fraction));
    if (!can_reach(*those.multiple, at_most(those, others))) return false;
    return std::nullopt;
  }

  // How many digits the multiple may have, and no other number of them.
  digit_counts at_most(const multiples& those, std::span<const regex_id> others) {
    digit_counts out;
    for (const regex_id shape : those.shapes) {
      const leading_digits first = lead(shape);
      const auto parts = first.always_end ? std::optional(number_shape{first.count, {0, 0}}) : count(shape);
      if (!parts) continue;
      out = common(out, sum(parts->whole, parts->fraction));
      const bool ends_there = !first.always_end || lead(those.tail).count.most == 0;
      for (const regex_id other : others) {
        const digit_counts before = lead(other).count;
        out = common(out, sum({ends_there ? before.least : 0, before.most}, parts->fraction));
      }
    }
    return out;
  }

  // n more digits make every number from 0 to 10^n - 1, one of which has to make up for the remainder.
  bool can_reach(const node& multiple, const digit_counts& more) const {
    const std::uint64_t divisor = store_.divisors_[multiple.a];
    std::uint64_t remainder = (std::uint64_t{multiple.c} << 32) | multiple.b;
    std::uint64_t numbers = 1;  // 10^n
    for (std::uint32_t n = 0; more.least <= more.most && n <= more.most; ++n) {
      if (numbers >= divisor) return true;
      if (n >= more.least && (divisor - remainder) % divisor < numbers) return true;
      numbers *= 10;
      remainder = remainder * 10 % divisor;
    }
    return false;
  }

  bool is_points(const node& n) const {
    if (n.kind == regex_kind::bytes) return store_.sets_[n.a] == byte_set::of('.');
    return n.kind == regex_kind::literal &&
           store_.text_of({n.a, n.b}).find_first_not_of('.') == std::string_view::npos;
  }

  // Of chains of "any digit" and points alone, in which all digits will do: how many come before the first
  // point, and behind it.
  std::optional<number_shape> count(regex_id r) const {
    number_shape out{{0, 0}, {0, 0}};
    bool more = true, is_behind = false;
    while (more) {
      more = store_.kind(r) == regex_kind::concat;
      const node& chain = store_.node_of(r);
      const node& link = more ? store_.node_of(regex_id{chain.a}) : chain;
      if (more) r = regex_id{chain.b};
      const bool is_repeat = link.kind == regex_kind::repeat;
      const node& each = is_repeat ? store_.node_of(regex_id{link.a}) : link;
      digit_counts& here = is_behind ? out.fraction : out.whole;
      if (each.kind == regex_kind::bytes && store_.sets_[each.a] == digits)
        here = sum(here, is_repeat ? digit_counts{link.b, link.c} : digit_counts{1, 1});
      else if (is_points(link))
        is_behind = true;
      else if (link.kind != regex_kind::empty)
        return std::nullopt;
    }
    return out;
  }

  leading_digits lead(regex_id r) {
    const node& n = store_.node_of(r);
    if (!may_look()) return {any_count, false, true};
    switch (n.kind) {
      case regex_kind::empty:
        return {{0, 0}, true, true};
      case regex_kind::bytes: {
        const bool some = !(store_.sets_[n.a] & digits).empty(), all = (store_.sets_[n.a] | digits) == digits;
        return {{all ? 1U : 0U, some ? 1U : 0U}, all, some};
      }
      case regex_kind::literal: {
        const std::string_view text = store_.text_of({n.a, n.b});
        const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
        const auto size = static_cast<std::uint32_t>(end);
        return {{size, size}, end == text.size(), end == text.size()};
      }
      case regex_kind::repeat:
        return lead_of_repeat(n);
      case regex_kind::concat: {
        const leading_digits first = lead(regex_id{n.a});
        if (!first.may_end) return first;
        const leading_digits rest = lead(regex_id{n.b});
        return {{first.always_end ? sum(first.count.least, rest.count.least) : first.count.least,
                 sum(first.count.most, rest.count.most)},
                first.always_end && rest.always_end,
                rest.may_end};
      }
      case regex_kind::alternation:
      case regex_kind::intersection:
        return lead_of_links(n);
      default:
        return {any_count, false, true};
    }
  }

  leading_digits lead_of_repeat(const node& n) {
    const leading_digits each = lead(regex_id{n.a});
    if (each.always_end) return {{times(each.count.least, n.b), times(each.count.most, n.c)}, true, true};
    return {{n.b == 0 ? 0 : each.count.least, each.may_end ? unbounded : each.count.most},
            false,
            n.b == 0 || each.may_end};
  }

  leading_digits lead_of_links(const node& n) {
    const bool is_choice = n.kind == regex_kind::alternation;
    leading_digits out{is_choice ? digit_counts{unbounded, 0} : any_count, is_choice, !is_choice};
    for (const regex_id part : store_.links_of(n)) {
      const leading_digits each = lead(part);
      if (is_choice) {
        out.count = {std::min(out.count.least, each.count.least), std::max(out.count.most, each.count.most)};
        out.always_end = out.always_end && each.always_end;
        out.may_end = out.may_end || each.may_end;
      } else {
        out.count = common(out.count, each.count);
        out.always_end = out.always_end || each.always_end;
        out.may_end = out.may_end && each.may_end;
      }
    }
    return out;
  }

  // What is shared is looked at once for each that shares it.
  bool may_look() {
    constexpr std::uint64_t most_looks = 2000;
    if (looks_ == most_looks) return false;
    ++looks_;
    return true;
  }

  const regex_store& store_;
  std::uint64_t looks_ = 0;
};

std::optional<bool> regex_store::decide_by_digits(regex_id r, step_budget& budget) const {
  digit_texts texts(*this);
  const bool has_some = texts.has_some(r);
  budget.spend(texts.looks() / sure_looks_in_a_step);
  if (has_some) return true;
  digit_search search(*this);
  const auto answer = search.decide(r);
  budget.spend(search.looks() / looks_in_a_step);
  return answer;
}

}  // namespace troupe::grammar
