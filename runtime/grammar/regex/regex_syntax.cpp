#include "runtime/grammar/regex/regex_syntax.hpp"

#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/grammar/regex/regex_reader.hpp"

namespace troupe::grammar {

namespace {

// An expression with places in it, apart by what they ask for: parts[b][e] is what matches where the text
// begins before it (b) and ends after it (e).
struct placed {
  std::array<std::array<regex_id, 2>, 2> parts{};

  bool has_places(regex_id nothing) const {
    return parts[0][1] != nothing || parts[1][0] != nothing || parts[1][1] != nothing;
  }
};

// One part of a branch. A look-ahead speaks of everything after it.
struct branch_item {
  placed what;
  bool is_look_ahead = false, negated = false;
};

struct flags {
  bool case_insensitive = false, dot_matches_new_line = false;
};

constexpr std::uint64_t steps_per_spelled_range = 12;

class parser {
 public:
  parser(regex_store& store, regex_reader reader, const regex_options& options, std::size_t max_depth)
      : store_(store), reader_(std::move(reader)), options_(options), max_depth_(max_depth) {}

  result<regex_id> parse() {
    any_ = store_.star(store_.code_points(all_code_points()));
    flags f{options_.case_insensitive, options_.dot_matches_new_line};
    const auto whole = alternatives(f, 0);
    if (!whole) return tl::unexpected(whole.error());
    if (!reader_.at_end()) return reader_.invalid("a ')' without its '('");
    if (failed()) return tl::unexpected(*failed());
    const auto& p = whole->parts;
    const regex_id around = options_.anchored ? store_.empty() : any_;
    const regex_id found =
        store_.alternation({store_.concat({around, p[0][0], around}), store_.concat({p[1][0], around}),
                            store_.concat({around, p[0][1]}), p[1][1]});
    if (store_.failure()) return tl::unexpected(*store_.failure());
    return found;
  }

 private:
  regex_id nothing() const { return store_.nothing(); }
  const std::optional<error>& failed() const { return too_much_ ? too_much_ : store_.failure(); }

  // Equal sets are spelled once: a class of letters has hundreds of ranges.
  regex_id spelled(const code_point_set& set) {
    std::u32string key;
    for (const auto& [first, last] : set) key.append({char32_t{first}, char32_t{last}});
    if (const auto known = spelled_.find(key); known != spelled_.end()) return known->second;
    if (auto counted = reader_.spend(steps_per_spelled_range * set.size()); !counted) {
      too_much_ = std::move(counted.error());
      return nothing();
    }
    const regex_id r = store_.code_points(set);
    spelled_.emplace(std::move(key), r);
    return r;
  }
  placed plain(regex_id r) const {
    placed p;
    p.parts = {{{r, nothing()}, {nothing(), nothing()}}};
    return p;
  }
  placed place(bool begin, bool end) const {
    placed p = plain(nothing());
    p.parts[begin][end] = store_.empty();
    return p;
  }

  // Where b asks for the text's begin before it, a must be empty there, and so for its end.
  placed joined(const placed& a, const placed& b) {
    std::array<std::array<std::vector<regex_id>, 2>, 2> ways;
    for (const bool a_begins : {false, true})
      for (const bool a_ends : {false, true})
        for (const bool b_begins : {false, true})
          for (const bool b_ends : {false, true}) {
            regex_id first = a.parts[a_begins][a_ends], second = b.parts[b_begins][b_ends];
            if (first == nothing() || second == nothing()) continue;
            if (b_begins) first = store_.is_nullable(first) ? store_.empty() : nothing();
            if (a_ends) second = store_.is_nullable(second) ? store_.empty() : nothing();
            ways[a_begins || b_begins][a_ends || b_ends].push_back(store_.concat({first, second}));
          }
    placed p;
    for (const bool begins : {false, true})
      for (const bool ends : {false, true}) p.parts[begins][ends] = store_.alternation(ways[begins][ends]);
    return p;
  }

  placed united(const std::vector<placed>& all) {
    placed p;
    for (const bool begins : {false, true})
      for (const bool ends : {false, true}) {
        std::vector<regex_id> ways;
        for (const placed& one : all) ways.push_back(one.parts[begins][ends]);
        p.parts[begins][ends] = store_.alternation(ways);
      }
    return p;
  }

  result<placed> alternatives(flags f, std::size_t depth) {
    if (depth > max_depth_) return tl::unexpected(exceeded("levels of groups", max_depth_, "max_depth"));
    std::vector<placed> all;
    do {
      auto one = branch(f, depth);
      if (!one) return one;
      all.push_back(*one);
    } while (reader_.take_if('|'));
    return all.size() == 1 ? all[0] : united(all);
  }

  // Flags set in a branch hold to the end of its group.
  result<placed> branch(flags& f, std::size_t depth) {
    std::vector<branch_item> items;
    while (!reader_.at_end() && reader_.peek() != '|' && reader_.peek() != ')') {
      auto item = atom(f, depth);
      if (!item) return tl::unexpected(item.error());
      auto counted = quantified(*item);
      if (!counted) return tl::unexpected(counted.error());
      items.push_back(*item);
      if (failed()) return tl::unexpected(*failed());
    }
    return chained(items);
  }

  // Neighbours without places are one chain of expressions, so that a long pattern takes linear time.
  placed chained(const std::vector<branch_item>& items) {
    placed rest = place(false, false);
    std::vector<regex_id> run;
    const auto flush = [&] {
      if (run.empty()) return;
      std::vector<regex_id> forward(run.rbegin(), run.rend());
      if (!rest.has_places(nothing())) {
        forward.push_back(rest.parts[0][0]);
        rest = plain(store_.concat(forward));
      } else {
        rest = joined(plain(store_.concat(forward)), rest);
      }
      run.clear();
    };
    for (std::size_t i = items.size(); i-- > 0;) {
      if (!items[i].is_look_ahead && !items[i].what.has_places(nothing())) {
        run.push_back(items[i].what.parts[0][0]);
        continue;
      }
      flush();
      rest = items[i].is_look_ahead ? looked_ahead(items[i], rest) : joined(items[i].what, rest);
    }
    flush();
    return rest;
  }

  // The rest, to the end of the text, where the text after this place is also (or is not) one that begins so.
  placed looked_ahead(const branch_item& look, const placed& rest) {
    const regex_id after = options_.anchored ? store_.empty() : any_;
    regex_id seen = store_.alternation({store_.concat({look.what.parts[0][0], any_}), look.what.parts[0][1]});
    if (look.negated) seen = store_.difference(any_, seen);
    placed p = plain(nothing());
    for (const bool begins : {false, true}) {
      const regex_id to_the_end =
          store_.alternation({store_.concat({rest.parts[begins][0], after}), rest.parts[begins][1]});
      p.parts[begins][1] = store_.intersection({to_the_end, seen});
    }
    return p;
  }

  result<branch_item> atom(flags& f, std::size_t depth) {
    const std::uint32_t c = reader_.take();
    switch (c) {
      case '(':
        return group(f, depth);
      case '[': {
        const auto set = reader_.char_class(f.case_insensitive);
        if (!set) return tl::unexpected(set.error());
        return branch_item{plain(spelled(*set))};
      }
      case '.':
        return branch_item{plain(spelled(any_character(f)))};
      case '^':
        return branch_item{place(true, false)};
      case '$':
        return branch_item{place(false, true)};
      case '\\':
        return escaped(f);
      case '*':
      case '+':
      case '?':
        return reader_.invalid("a repeat of nothing");
      default:
        return one_of({{c, c}}, f);
    }
  }

  code_point_set any_character(const flags& f) const {
    if (f.dot_matches_new_line) return all_code_points();
    return complement({{'\n', '\n'}});
  }

  result<branch_item> one_of(const code_point_set& set, const flags& f) {
    if (!f.case_insensitive) return branch_item{plain(spelled(set))};
    const auto both = reader_.both_cases(set);
    if (!both) return tl::unexpected(both.error());
    return branch_item{plain(spelled(*both))};
  }

  result<branch_item> escaped(const flags& f) {
    switch (reader_.peek()) {
      case 'A':
      case 'z':
      case 'Z':
        return branch_item{reader_.take() == 'A' ? place(true, false) : place(false, true)};
      case 'b':
      case 'B':
      case '<':
      case '>':
        return reader_.unsupported("a word boundary is");
      default:
        break;
    }
    const auto set = reader_.escape(false);
    if (!set) return tl::unexpected(set.error());
    return one_of(*set, f);
  }

  result<branch_item> group(flags& f, std::size_t depth) {
    branch_item item;
    flags inside = f;
    if (reader_.take_if('?')) {
      const std::uint32_t after = reader_.peek(1);
      if (reader_.peek() == '<' && (after == '=' || after == '!'))
        return reader_.unsupported("look-behind is");
      if (reader_.peek() == '=' || reader_.peek() == '!') {
        if (depth > 0) return reader_.unsupported("look-ahead inside of a group is");
        item.is_look_ahead = true;
        item.negated = reader_.take() == '!';
      } else if (reader_.take_if("P<") || reader_.take_if('<')) {
        while (!reader_.at_end() && reader_.peek() != '>') reader_.take();
        if (!reader_.take_if('>')) return reader_.invalid("a group's name without its end");
      } else {
        const auto more = set_flags(inside);
        if (!more) return tl::unexpected(more.error());
        if (!*more) {
          f = inside;
          item.what = place(false, false);
          return item;
        }
      }
    }
    if (item.negated) reader_.turn();
    const auto body = alternatives(inside, depth + 1);
    if (!body) return tl::unexpected(body.error());
    if (item.negated) reader_.turn();
    if (!reader_.take_if(')')) return reader_.invalid("a '(' without its ')'");
    item.what = *body;
    const bool looks_back = item.what.parts[1][0] != nothing() || item.what.parts[1][1] != nothing();
    if (item.is_look_ahead && looks_back) return reader_.unsupported("'^' in a look-ahead is");
    return item;
  }

  // "i-s:" or "i)" after "(?". Whether a group follows.
  result<bool> set_flags(flags& f) {
    bool on = true;
    for (;;) {
      const std::uint32_t c = reader_.take();
      switch (c) {
        case ':':
          return true;
        case ')':
          return false;
        case '-':
          on = false;
          break;
        case 'i':
          f.case_insensitive = on;
          break;
        case 's':
          f.dot_matches_new_line = on;
          break;
        case 'U':
          break;  // which of many matches is found first
        case 'u':
          if (on) break;
          return reader_.unsupported("the flag -u is");
        case 'm':
          return reader_.unsupported("the flag m is");
        case 'x':
          return reader_.unsupported("the flag x is");
        case '>':
          return reader_.unsupported("an atomic group is");
        case '(':
          return reader_.unsupported("a condition is");
        case 'R':
        case '&':
          return reader_.unsupported("recursion is");
        case 'P':
          return reader_.unsupported(reader_.take_if('=') ? "a back-reference is" : "recursion is");
        default:
          return reader_.invalid("an unknown kind of group");
      }
    }
  }

  struct count {
    std::uint32_t min = 0, max = 0;
  };

  // "{2,5}" and the like; what has another form is text.
  result<std::optional<count>> braces() {
    const std::size_t from = reader_.position();
    reader_.take();
    const auto min = reader_.number();
    if (!min) return tl::unexpected(min.error());
    std::optional<count> found;
    if (reader_.take_if(',')) {
      const auto max = reader_.number();
      if (!max) return tl::unexpected(max.error());
      if (*min || *max) found = count{min->value_or(0), max->value_or(unbounded)};
    } else if (*min) {
      found = count{**min, **min};
    }
    if (!found || !reader_.take_if('}')) {
      reader_.move_to(from);
      return std::nullopt;
    }
    return found;
  }

  result<void> quantified(branch_item& item) {
    for (bool first = true;; first = false) {
      std::optional<count> times;
      const std::uint32_t c = reader_.peek();
      if (c == '*') times = count{0, unbounded};
      if (c == '+') times = count{1, unbounded};
      if (c == '?') times = count{0, 1};
      if (times) reader_.take();
      if (c == '{') {
        const auto found = braces();
        if (!found) return tl::unexpected(found.error());
        times = *found;
      }
      if (!times) return {};
      if (!first) return reader_.unsupported("a possessive or repeated repeat is");
      if (item.is_look_ahead) return reader_.unsupported("a repeated look-ahead is");
      if (times->min > times->max) return reader_.invalid("a repeat from more to less");
      if (auto done = repeat(item.what, *times); !done) return done;
      reader_.take_if('?');
    }
  }

  result<void> repeat(placed& p, const count& times) {
    if (!p.has_places(nothing())) {
      p = plain(store_.repeat(p.parts[0][0], times.min, times.max));
      return {};
    }
    if (times.max != 1) return reader_.unsupported("a repeated '^' or '$' is");
    if (times.min == 0) p = united({p, place(false, false)});
    return {};
  }

  regex_store& store_;
  regex_reader reader_;
  const regex_options& options_;
  std::size_t max_depth_;
  regex_id any_{};
  std::unordered_map<std::u32string, regex_id> spelled_;
  std::optional<error> too_much_;  // of what spelled() was to do
};

}  // namespace

result<regex_id> parse_regex(regex_store& store, std::string_view pattern, const regex_options& options,
                             const grammar_limits& limits) {
  if (pattern.size() > limits.max_source_bytes)
    return tl::unexpected(exceeded("bytes in a pattern", limits.max_source_bytes, "max_source_bytes"));
  auto reader = regex_reader::make(pattern, options, limits);
  if (!reader) return tl::unexpected(reader.error());
  return parser(store, std::move(*reader), options, limits.max_depth).parse();
}

}  // namespace troupe::grammar
