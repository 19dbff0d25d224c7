#include "runtime/grammar/json_schema/texts/pattern_language.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace troupe::json_schema {
namespace {

using grammar::regex_id;
using grammar::regex_store;
using kind = pattern_node::kind;

constexpr std::uint32_t max_anchored_copies = 16;
constexpr std::size_t max_look_ahead_ways = 256;

// What a part of a pattern matches, by where: anywhere, only from the start of the text on, only up to its
// end, both. The union of the four is the part's language. Closed under concatenation and repeats, since
// after the end and before the start there is only the empty text.
struct placed {
  regex_id free{}, at_start{}, at_end{}, whole{};
};

class pattern_translator {
 public:
  pattern_translator(regex_store& store, const pattern& read, const pattern_reading& reading)
      : store_(store), read_(read), reading_(reading) {}

  result<regex_id> translate() {
    const std::vector<pattern_index> all{read_.root};
    regex_id out = rest(all, true);
    const bool looks = at(read_.root).has_look;
    if (!reading_.whole_text)
      out = store_.alternation(
          {out, store_.concat({looks ? some(reading_.any_text) : reading_.any_text, rest(all, false)})});
    if (needs_text_check_) out = store_.intersection({reading_.any_text, out});
    if (failure_) return tl::unexpected(*failure_);
    return out;
  }

 private:
  using sequence = std::vector<pattern_index>;

  const pattern_node& at(pattern_index i) const { return read_.nodes[i]; }
  regex_id unsupported(const char* what) {
    if (!failure_) failure_ = error{error_code::unsupported, what};
    return store_.nothing();
  }

  // The texts, to their end, that begin with what `parts` match; at_start: and nothing stands before them.
  regex_id rest(const sequence& parts, bool at_start) {
    if (failure_ || ++ways_ > max_look_ahead_ways)
      return unsupported("the pattern has look-aheads in too many alternatives");
    const auto looking =
        std::find_if(parts.begin(), parts.end(), [&](pattern_index i) { return at(i).has_look; });
    if (looking == parts.end()) return placed_before(chain(parts), at_start, tail(), tail());
    const sequence after(looking + 1, parts.end());
    const pattern_node& node = at(*looking);
    if (node.what != kind::look_ahead) return distribute(parts, looking, at_start);
    const auto seen_from = [&](bool start) {
      regex_id seen = rest_open(node.children, start);
      if (node.negative) seen = store_.difference(reading_.any_text, seen);
      return store_.intersection({seen, rest(after, start)});
    };
    const sequence before(parts.begin(), looking);
    if (before.empty()) return seen_from(at_start);
    return placed_before(chain(before), at_start, seen_from(false),
                         at_start ? seen_from(true) : store_.nothing());
  }

  // The same for what a look-ahead sees, which never has to reach the end.
  regex_id rest_open(const sequence& parts, bool at_start) {
    const bool whole = std::exchange(is_open_, true);
    const regex_id out = rest(parts, at_start);
    is_open_ = whole;
    return out;
  }

  // any_bytes, not any_text: alternatives beside it fold into it, so that a pattern which was found needs no
  // more derivatives. translate() intersects with any_text, once.
  regex_id tail() {
    if (!reading_.whole_text) return store_.any_bytes();
    return is_open_ ? reading_.any_text : store_.empty();
  }

  // All texts of `r` but the empty one.
  regex_id some(regex_id r) { return store_.is_nullable(r) ? store_.difference(r, store_.empty()) : r; }

  // `head`, then `next`; `next_at_start`: what follows where `head` is empty at the start. With a negative
  // look-ahead in it either may have texts that the other has not.
  regex_id placed_before(const placed& head, bool at_start, regex_id next, regex_id next_at_start) {
    const bool is_followed = head.free != store_.nothing() || (at_start && head.at_start != store_.nothing());
    needs_text_check_ |= is_followed && !reading_.whole_text;
    const auto null = [&](regex_id r) { return store_.is_nullable(r); };
    const bool differ = at_start && next != next_at_start;
    const auto before_next = [&](regex_id r) { return differ ? some(r) : r; };
    std::vector<regex_id> ways{store_.concat({before_next(head.free), next})};
    if (null(next)) ways.push_back(before_next(head.at_end));
    if (at_start) {
      ways.push_back(store_.concat({before_next(head.at_start), next}));
      if (null(next)) ways.push_back(before_next(head.whole));
      if (null(head.free) || null(head.at_start)) ways.push_back(next_at_start);
      if (null(next_at_start) && (null(head.at_end) || null(head.whole))) ways.push_back(store_.empty());
    }
    return store_.alternation(ways);
  }

  // A group with a look-ahead in it: each of its branches in its place.
  regex_id distribute(const sequence& parts, sequence::const_iterator group, bool at_start) {
    const pattern_node& node = at(*group);
    const auto with = [&](std::span<const pattern_index> instead) {
      sequence whole(parts.begin(), group);
      whole.insert(whole.end(), instead.begin(), instead.end());
      whole.insert(whole.end(), group + 1, parts.end());
      return rest(whole, at_start);
    };
    if (node.what == kind::concat) return with(node.children);
    if (node.what == kind::repeat && node.max == 1) {
      const regex_id once = with(node.children);
      return node.min == 1 ? once : store_.alternation({once, with({})});
    }
    if (node.what != kind::alternation) return unsupported("the pattern has a look-ahead in a repeat");
    std::vector<regex_id> ways;
    for (const pattern_index branch : node.children) ways.push_back(with({&branch, 1}));
    return store_.alternation(ways);
  }

  placed none() { return {store_.nothing(), store_.nothing(), store_.nothing(), store_.nothing()}; }
  placed empty() { return {store_.empty(), store_.nothing(), store_.nothing(), store_.nothing()}; }

  placed place(pattern_index i) {
    const pattern_node& node = at(i);
    placed out = none();
    switch (node.what) {
      case kind::set:
        out.free = reading_.spell(store_, node.set);
        return out;
      case kind::start:
        out.at_start = store_.empty();
        return out;
      case kind::end:
        out.at_end = store_.empty();
        return out;
      case kind::concat:
        return chain(node.children);
      case kind::alternation:
        return any_of(node.children);
      case kind::repeat:
        return repeat(node);
      case kind::look_ahead:
        break;
    }
    unsupported("the pattern has a look-ahead in a repeat");
    return out;
  }

  placed any_of(const sequence& branches) {
    std::vector<regex_id> free, at_start, at_end, whole;
    for (const pattern_index branch : branches) {
      const placed each = place(branch);
      free.push_back(each.free);
      at_start.push_back(each.at_start);
      at_end.push_back(each.at_end);
      whole.push_back(each.whole);
    }
    return {store_.alternation(free), store_.alternation(at_start), store_.alternation(at_end),
            store_.alternation(whole)};
  }

  // Parts without anchors are joined at once, which keeps expressions flat.
  placed chain(const sequence& parts) {
    placed out = empty();
    std::vector<regex_id> plain;
    const auto join = [&] {
      if (plain.empty()) return;
      placed joined = none();
      joined.free = store_.concat(plain);
      out = concat(out, joined);
      plain.clear();
    };
    for (const pattern_index part : parts) {
      if (!at(part).has_anchor) {
        plain.push_back(place(part).free);
        continue;
      }
      join();
      out = concat(out, place(part));
    }
    join();
    return out;
  }

  placed concat(const placed& a, const placed& b) {
    const auto null = [&](regex_id r) { return store_.is_nullable(r); };
    const auto only_if = [&](bool holds, regex_id r) { return holds ? r : store_.nothing(); };
    const bool a_is_empty_before = null(a.free) || null(a.at_start);  // and so b may be at the start
    const bool b_is_empty_after = null(b.free) || null(b.at_end);     // and so a may be at the end
    const bool meet = (null(a.at_end) || null(a.whole)) && (null(b.at_start) || null(b.whole));
    return {store_.concat({a.free, b.free}),
            store_.alternation({store_.concat({a.at_start, b.free}), only_if(a_is_empty_before, b.at_start)}),
            store_.alternation({store_.concat({a.free, b.at_end}), only_if(b_is_empty_after, a.at_end)}),
            store_.alternation({store_.concat({a.at_start, b.at_end}), only_if(b_is_empty_after, a.whole),
                                only_if(a_is_empty_before, b.whole), only_if(meet, store_.empty())})};
  }

  placed repeat(const pattern_node& node) {
    const placed body = place(node.children.front());
    placed out = none();
    if (!node.has_anchor) {
      out.free = store_.repeat(body.free, node.min, node.max);
      return out;
    }
    if (node.min > max_anchored_copies || (node.max != unbounded && node.max > max_anchored_copies)) {
      unsupported("the pattern has an anchor in a repeat with a large count");
      return out;
    }
    out = empty();
    for (std::uint32_t i = 0; i < node.min; ++i) out = concat(out, body);
    if (node.max == unbounded) return concat(out, star(body));
    const placed maybe = either(empty(), body);
    for (std::uint32_t i = node.min; i < node.max; ++i) out = concat(out, maybe);
    return out;
  }

  placed either(const placed& a, const placed& b) {
    return {store_.alternation({a.free, b.free}), store_.alternation({a.at_start, b.at_start}),
            store_.alternation({a.at_end, b.at_end}), store_.alternation({a.whole, b.whole})};
  }

  // At most the first copy that is not empty is at the start, and the last at the end.
  placed star(const placed& body) {
    const regex_id free = store_.star(body.free);
    return {free, store_.concat({body.at_start, free}), store_.concat({free, body.at_end}),
            store_.alternation({store_.concat({body.at_start, free, body.at_end}), body.whole})};
  }

  regex_store& store_;
  const pattern& read_;
  const pattern_reading& reading_;
  std::optional<error> failure_;
  std::size_t ways_ = 0;
  bool is_open_ = false;
  bool needs_text_check_ = false;
};

}  // namespace

result<regex_id> pattern_language(regex_store& store, std::string_view text, const pattern_reading& reading,
                                  const pattern_limits& limits) {
  const auto read = parse_pattern(text, limits);
  if (!read) return tl::unexpected(read.error());
  return pattern_translator(store, *read, reading).translate();
}

}  // namespace troupe::json_schema
