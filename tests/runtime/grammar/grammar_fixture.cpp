#include "tests/runtime/grammar/grammar_fixture.hpp"

#include <algorithm>
#include <functional>

namespace troupe::grammar::oracle {

namespace {

std::size_t below(std::mt19937& random, std::size_t n) { return random() % n; }

// Concatenations and stars of small automata can have more states than there is memory for.
constexpr std::size_t max_states = 20'000;
struct too_many_states {};

// The automaton of all sets of states that `step` reaches from `first`. Throws too_many_states.
template <class State>
dfa subsets(const State& first, const std::function<State(const State&, std::size_t)>& step,
            const std::function<bool(const State&)>& accepts) {
  std::map<State, std::size_t> numbers{{first, 0}};
  std::vector<State> states{first};
  dfa result;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states.size() > max_states) throw too_many_states();
    result.accepts.push_back(accepts(states[i]));
    result.next.emplace_back();
    for (std::size_t letter = 0; letter < alphabet.size(); ++letter) {
      State to = step(states[i], letter);
      const auto [entry, added] = numbers.try_emplace(to, states.size());
      if (added) states.push_back(std::move(to));
      result.next[i][letter] = entry->second;
    }
  }
  result.alive = result.accepts;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < result.next.size(); ++i)
      for (const std::size_t to : result.next[i])
        if (result.alive[to] && !result.alive[i]) result.alive[i] = changed = true;
  }
  return result;
}

std::size_t run(const dfa& d, std::string_view text) {
  std::size_t at = 0;
  for (const char c : text) at = d.next[at][letter_of(c)];
  return at;
}

using pair_state = std::pair<std::size_t, std::size_t>;

dfa product(const dfa& a, const dfa& b, const std::function<bool(bool, bool)>& accepts) {
  return subsets<pair_state>(
      {0, 0},
      [&](const pair_state& s, std::size_t l) {
        return pair_state{a.next[s.first][l], b.next[s.second][l]};
      },
      [&](const pair_state& s) { return accepts(a.accepts[s.first], b.accepts[s.second]); });
}

}  // namespace

std::size_t letter_of(char c) {
  return static_cast<std::size_t>(std::ranges::find(alphabet, c) - alphabet.begin());
}

bool dfa::matches(std::string_view text) const { return accepts[run(*this, text)]; }
bool dfa::begins(std::string_view text) const { return alive[run(*this, text)]; }

dfa one_of_letters(const std::set<char>& letters) {
  return subsets<int>(
      0, [&](const int& s, std::size_t l) { return s == 0 && letters.contains(alphabet[l]) ? 1 : 2; },
      [](const int& s) { return s == 1; });
}
dfa nothing() { return one_of_letters({}); }
dfa empty_text() {
  return subsets<int>(
      0, [](const int&, std::size_t) { return 1; }, [](const int& s) { return s == 0; });
}
dfa either(const dfa& a, const dfa& b) {
  return product(a, b, [](bool x, bool y) { return x || y; });
}
dfa both(const dfa& a, const dfa& b) {
  return product(a, b, [](bool x, bool y) { return x && y; });
}
dfa complement(const dfa& a) {
  return product(a, a, [](bool x, bool) { return !x; });
}

dfa concat(const dfa& a, const dfa& b) {
  using state = std::pair<std::size_t, std::set<std::size_t>>;  // in a; in b
  const auto closed = [&](state s) {
    if (a.accepts[s.first]) s.second.insert(0);
    return s;
  };
  return subsets<state>(
      closed({0, {}}),
      [&](const state& s, std::size_t l) {
        state to{a.next[s.first][l], {}};
        for (const std::size_t q : s.second) to.second.insert(b.next[q][l]);
        return closed(std::move(to));
      },
      [&](const state& s) {
        return std::ranges::any_of(s.second, [&](std::size_t q) { return b.accepts[q]; });
      });
}

dfa star(const dfa& a) {
  using state = std::pair<bool, std::set<std::size_t>>;  // at the begin; in copies of a
  return subsets<state>(
      {true, {0}},
      [&](const state& s, std::size_t l) {
        state to{false, {}};
        for (const std::size_t q : s.second) to.second.insert(a.next[q][l]);
        if (std::ranges::any_of(to.second, [&](std::size_t q) { return a.accepts[q]; })) to.second.insert(0);
        return to;
      },
      [&](const state& s) {
        return s.first || std::ranges::any_of(s.second, [&](std::size_t q) { return a.accepts[q]; });
      });
}

namespace {

expression draw_expression(regex_store& store, std::mt19937& random, int depth) {
  const std::size_t choice = depth == 0 ? below(random, 4) : below(random, 12);
  const auto part = [&] { return random_expression(store, random, depth - 1); };
  switch (choice) {
    case 0:
      return {store.literal("a"), one_of_letters({'a'})};
    case 1:
      return {store.bytes(byte_set::range('a', 'b')), one_of_letters({'a', 'b'})};
    case 2:
      return {store.literal("ab"), concat(one_of_letters({'a'}), one_of_letters({'b'}))};
    case 3:
      return {store.code_points(normalized({{0xE9, 0xE9}, {'a', 'a'}})),
              either(one_of_letters({'a'}), concat(one_of_letters({'\xC3'}), one_of_letters({'\xA9'})))};
    case 4: {
      std::vector<std::string> texts;
      dfa meaning = nothing();
      for (int i = 0; i < 5; ++i) {
        texts.emplace_back();
        dfa one = empty_text();
        for (std::size_t size = below(random, 4); size > 0; --size) {
          texts.back().push_back(alphabet[below(random, 2)]);
          one = concat(one, one_of_letters({texts.back().back()}));
        }
        meaning = either(meaning, one);
      }
      return {store.one_of(std::move(texts)), meaning};
    }
    case 5: {
      const expression a = part(), b = part();
      return {store.intersection({a.id, b.id}), both(a.meaning, b.meaning)};
    }
    case 6: {
      const expression a = part();
      const dfa any = star(one_of_letters({alphabet.begin(), alphabet.end()}));
      const regex_id letters =
          store.bytes(byte_set::of('a') | byte_set::of('b') | byte_set::of(0xC3) | byte_set::of(0xA9));
      return {store.difference(store.star(letters), a.id), both(any, complement(a.meaning))};
    }
    case 7: {
      const expression a = part();
      const auto min = static_cast<std::uint32_t>(below(random, 3)),
                 more = static_cast<std::uint32_t>(below(random, 3));
      dfa meaning = empty_text();
      for (std::uint32_t i = 0; i < min; ++i) meaning = concat(meaning, a.meaning);
      for (std::uint32_t i = 0; i < more; ++i) meaning = concat(meaning, either(empty_text(), a.meaning));
      return {store.repeat(a.id, min, min + more), meaning};
    }
    case 8: {
      const expression a = part();
      return {store.star(a.id), star(a.meaning)};
    }
    case 9: {
      const expression a = part(), b = part(), c = part();
      return {store.alternation({a.id, b.id, c.id}), either(either(a.meaning, b.meaning), c.meaning)};
    }
    default: {
      const expression a = part(), b = part();
      return {store.concat({a.id, b.id}), concat(a.meaning, b.meaning)};
    }
  }
}

}  // namespace

expression random_expression(regex_store& store, std::mt19937& random, int depth) {
  for (;;) {
    try {
      expression drawn = draw_expression(store, random, depth);
      if (drawn.meaning.next.size() <= max_states / 20) return drawn;
    } catch (const too_many_states&) {  // another one, then
    }
  }
}

// ---- grammars

// between[rule][from][to]: the rule has a text between two places.
struct grammar::tables {
  std::string_view text;
  std::vector<std::vector<std::vector<bool>>> between;
  bool changed = false;

  std::size_t end() const { return text.size(); }
  std::size_t beyond() const { return text.size() + 1; }
  void set(std::size_t rule, std::size_t from, std::size_t to) {
    if (between[rule][from][to]) return;
    between[rule][from][to] = changed = true;
  }
  // Not the empty text. What begins beyond the end may be any text that begins at the end.
  bool some(std::size_t rule, std::size_t from, std::size_t to) const {
    return from == beyond() ? between[rule][end()][to] : from < to && between[rule][from][to];
  }
};

void grammar::fill_lexeme(tables& t, std::size_t id) const {
  const dfa& d = rules_[id].lexeme;
  for (std::size_t from = 0; from <= t.end(); ++from) {
    for (std::size_t to = from; to <= t.end(); ++to)
      if (d.matches(t.text.substr(from, to - from))) t.set(id, from, to);
    for (const char c : alphabet)
      if (d.begins(std::string(t.text.substr(from)) + c)) t.set(id, from, t.beyond());
  }
  if (!d.is_nothing()) t.set(id, t.beyond(), t.beyond());
}

void grammar::fill_sequence(tables& t, std::size_t id) const {
  for (std::size_t from = 0; from <= t.beyond(); ++from) {
    std::set<std::size_t> places{from};
    for (const std::size_t part : rules_[id].parts) {
      std::set<std::size_t> after;
      for (const std::size_t place : places)
        for (std::size_t to = place; to <= t.beyond(); ++to)
          if (t.between[part][place][to]) after.insert(to);
      places = after;
    }
    for (const std::size_t to : places) t.set(id, from, to);
  }
}

void grammar::fill_repeat(tables& t, std::size_t id) const {
  const rule& r = rules_[id];
  using state = std::pair<std::uint32_t, std::size_t>;  // times, place
  for (std::size_t from = 0; from <= t.beyond(); ++from) {
    std::set<state> seen{{0, from}};
    std::vector<state> todo{{0, from}};
    while (!todo.empty()) {
      const auto [times, place] = todo.back();
      todo.pop_back();
      if (times >= r.min) t.set(id, from, place);
      if (times == r.max) continue;
      for (std::size_t to = place; to <= t.beyond(); ++to) {
        const state next{r.max == unbounded ? std::min(times + 1, r.min) : times + 1, to};
        if (t.between[r.parts[0]][place][to] && seen.insert(next).second) todo.push_back(next);
      }
    }
  }
}

void grammar::fill_any_order(tables& t, std::size_t id) const {
  const rule& r = rules_[id];
  struct state {
    std::size_t used = 0;
    std::uint32_t total = 0;
    std::size_t place = 0;
    int phase = 0;  // 0 at the begin, 1 after a member, 2 after a separator
    auto operator<=>(const state&) const = default;
  };
  std::size_t required = 0;
  for (std::size_t i = 0; i < r.parts.size(); ++i)
    if (r.required[i] && !t.between[r.parts[i]][t.end()][t.end()]) required |= std::size_t{1} << i;
  const auto more = [&](std::uint32_t total) {
    return r.max == unbounded ? std::min(total + 1, r.min + 1) : total + 1;
  };
  for (std::size_t from = 0; from <= t.beyond(); ++from) {
    std::set<state> seen;
    std::vector<state> todo;
    const auto reach = [&](const state& s) {
      if (s.total <= r.max && seen.insert(s).second) todo.push_back(s);
    };
    reach({0, 0, from, 0});
    while (!todo.empty()) {
      const state s = todo.back();
      todo.pop_back();
      if (s.phase != 2 && (s.used & required) == required && s.total >= r.min) t.set(id, from, s.place);
      for (std::size_t to = s.place; to <= t.beyond(); ++to) {
        if (s.phase == 1 && r.separator) {
          if (t.between[*r.separator][s.place][to]) reach({s.used, s.total, to, 2});
          continue;
        }
        for (std::size_t i = 0; i < r.parts.size(); ++i)
          if (!((s.used >> i) & 1) && t.some(r.parts[i], s.place, to))
            reach({s.used | std::size_t{1} << i, more(s.total), to, 1});
        if (r.other && t.some(*r.other, s.place, to)) reach({s.used, more(s.total), to, 1});
      }
    }
  }
}

std::pair<bool, bool> grammar::accepts_or_begins(std::string_view text) const {
  const auto known = known_.find(text);
  if (known != known_.end()) return known->second;
  return known_[std::string(text)] = work_out(text);
}

std::pair<bool, bool> grammar::work_out(std::string_view text) const {
  tables t{text, {}, true};
  const std::vector<bool> row(text.size() + 2);
  t.between.assign(rules_.size(), {text.size() + 2, row});
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i].what == kind::lexeme) fill_lexeme(t, i);
    if (rules_[i].what == kind::empty)
      for (std::size_t place = 0; place <= t.beyond(); ++place) t.set(i, place, place);
  }
  while (t.changed) {
    t.changed = false;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (rules_[i].what == kind::choice)
        for (const std::size_t part : rules_[i].parts)
          for (std::size_t from = 0; from <= t.beyond(); ++from)
            for (std::size_t to = from; to <= t.beyond(); ++to)
              if (t.between[part][from][to]) t.set(i, from, to);
      if (rules_[i].what == kind::sequence) fill_sequence(t, i);
      if (rules_[i].what == kind::repeat) fill_repeat(t, i);
      if (rules_[i].what == kind::any_order) fill_any_order(t, i);
    }
  }
  return {t.between[0][0][t.end()], t.between[0][0][t.beyond()]};
}

std::size_t grammar::add(rule r, symbol_id id) {
  rules_.push_back(std::move(r));
  ids_.push_back(id);
  return rules_.size() - 1;
}

grammar::grammar(grammar_builder& builder, std::mt19937& random, std::size_t num_symbols)
    : num_named_(num_symbols) {
  const bool with_skip = below(random, 4) == 0;
  if (with_skip) builder.set_skip(builder.regex().literal("b"));
  for (std::size_t i = 0; i < num_symbols; ++i) add({.what = kind::choice}, builder.forward());
  for (std::size_t i = 0; i < num_symbols; ++i) {
    std::vector<symbol_id> parts;
    for (std::size_t n = 1 + below(random, 3); n > 0; --n) {
      const std::size_t part = random_rule(builder, random, 2);
      rules_[i].parts.push_back(part);
      parts.push_back(ids_[part]);
    }
    builder.define(ids_[i], builder.choice(parts));
  }
  if (with_skip) {
    const dfa skip = either(empty_text(), one_of_letters({'b'}));
    for (rule& r : rules_)
      if (r.what == kind::lexeme) {
        // An empty lexeme has no skip before it.
        const dfa some = both(r.lexeme, complement(empty_text()));
        const dfa skipped = concat(skip, some);
        r.lexeme = r.lexeme.accepts[0] ? either(skipped, empty_text()) : skipped;
      }
  }
  std::set<char> spelled(alphabet.begin(), alphabet.end());
  std::erase_if(spelled,
                [&](char c) { return !builder.regex().alphabet().contains(static_cast<unsigned char>(c)); });
  if (spelled.size() < alphabet.size()) {
    const dfa any = star(one_of_letters(spelled));
    for (rule& r : rules_)
      if (r.what == kind::lexeme) r.lexeme = both(r.lexeme, any);
  }
  builder.set_start(ids_[0]);
}

std::size_t grammar::random_rule(grammar_builder& builder, std::mt19937& random, int depth) {
  const std::size_t choice = depth == 0 ? below(random, 6) : below(random, 16);
  if (choice < 3) {
    expression e = random_expression(builder.regex(), random, static_cast<int>(below(random, 3)));
    return add({.what = kind::lexeme, .lexeme = e.meaning}, builder.lexeme(e.id));
  }
  if (choice < 6) return below(random, num_named_);
  const auto part = [&] { return random_rule(builder, random, depth - 1); };
  rule r;
  if (choice < 11) {
    r.what = kind::sequence;
    std::vector<symbol_id> parts;
    for (std::size_t n = 1 + below(random, 3); n > 0; --n) {
      r.parts.push_back(part());
      parts.push_back(ids_[r.parts.back()]);
    }
    return add(r, builder.sequence(parts));
  }
  if (choice == 11) return add({.what = kind::empty}, builder.empty());
  if (choice < 14) {
    r.what = kind::repeat;
    r.parts.push_back(part());
    r.min = static_cast<std::uint32_t>(below(random, 3));
    r.max = below(random, 2) == 0 ? unbounded : r.min + static_cast<std::uint32_t>(below(random, 3));
    return add(r, builder.repeat(ids_[r.parts[0]], r.min, r.max));
  }
  if (choice == 14) {
    r.what = kind::choice;
    std::vector<symbol_id> parts;
    for (std::size_t n = 2 + below(random, 2); n > 0; --n) {
      r.parts.push_back(part());
      parts.push_back(ids_[r.parts.back()]);
    }
    return add(r, builder.choice(parts));
  }
  r.what = kind::any_order;
  any_order spec;
  for (std::size_t n = 1 + below(random, 3); n > 0; --n) {
    r.parts.push_back(part());
    r.required.push_back(below(random, 2) == 0);
    spec.members.push_back({ids_[r.parts.back()], r.required.back()});
  }
  if (below(random, 2) == 0) spec.separator = ids_[*(r.separator = part())];
  if (below(random, 3) == 0) spec.other = ids_[*(r.other = part())];
  r.min = spec.min = static_cast<std::uint32_t>(below(random, 3));
  r.max = spec.max = below(random, 2) == 0 ? unbounded : r.min + static_cast<std::uint32_t>(below(random, 3));
  return add(r, builder.any_order_of(std::move(spec)));
}

}  // namespace troupe::grammar::oracle
