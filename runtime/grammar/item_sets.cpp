#include "runtime/grammar/item_sets.hpp"

#include <algorithm>
#include <bit>

#include "runtime/grammar/hash.hpp"

namespace troupe::grammar {

namespace {

constexpr std::size_t items_in_a_step = 4;  // that are copied, against working out one item
constexpr std::size_t words_in_a_step = 8;  // of the members that were used, which every change copies

// Sorting, hashing and comparing so many items.
std::size_t steps_to_sort(std::size_t items) {
  constexpr std::size_t comparisons_in_a_step = 16;
  return items * static_cast<std::size_t>(std::bit_width(items)) / comparisons_in_a_step;
}

std::size_t words_of(const any_order_rule& r) { return (r.members.size() + 63) / 64; }

}  // namespace

item_sets::item_sets(const rule_table& table)
    : table_(table),
      flat_(table.rules.size()),
      flat_known_(table.rules.size()),
      call_of_rule_(table.rules.size(), none) {
  clear_content();
  content_.accepts = true;
  const std::uint32_t end = intern();
  clear_content();
  const rule& first = table_.rules[table_.start];
  settle(
      first, 0, 0,
      [&](std::uint32_t slot, std::uint32_t count) {
        content_.items.push_back({slot, count, end});
      },
      [&] { content_.accepts = true; });
  start_ = intern();
}

// ---- contents

void item_sets::clear_content() {
  content_.items.clear();
  content_.links.clear();
  content_.accepts = false;
}

void item_sets::add_content(std::uint32_t set, step_budget& budget) {
  const item_set& s = sets_[set];
  if (!budget.spend((s.num_items + s.num_links) / items_in_a_step)) return;
  if (!s.complete) {
    content_.links.push_back(set);
    return;
  }
  content_.items.insert(content_.items.end(), items_of(s).begin(), items_of(s).end());
  content_.links.insert(content_.links.end(), links_of(s).begin(), links_of(s).end());
  content_.accepts = content_.accepts || s.accepts;
}

bool item_sets::spend_on_content(step_budget& budget) const {
  return budget.spend(steps_to_sort(content_.items.size() + content_.links.size()));
}

std::uint32_t item_sets::reserve_set() {
  sets_.push_back({});
  sets_.back().complete = false;
  return static_cast<std::uint32_t>(sets_.size() - 1);
}

void item_sets::fill(std::uint32_t set) {
  std::ranges::sort(content_.items);
  content_.items.erase(std::unique(content_.items.begin(), content_.items.end()), content_.items.end());
  std::ranges::sort(content_.links);
  content_.links.erase(std::unique(content_.links.begin(), content_.links.end()), content_.links.end());
  std::erase(content_.links, set);
  item_set& s = sets_[set];
  s.items = static_cast<std::uint32_t>(items_.size());
  s.num_items = static_cast<std::uint32_t>(content_.items.size());
  s.links = static_cast<std::uint32_t>(links_.size());
  s.num_links = static_cast<std::uint32_t>(content_.links.size());
  s.accepts = content_.accepts;
  s.complete = true;
  if (content_.links.empty()) s.whole = set;
  items_.insert(items_.end(), content_.items.begin(), content_.items.end());
  links_.insert(links_.end(), content_.links.begin(), content_.links.end());
}

std::uint32_t item_sets::intern() {
  std::ranges::sort(content_.items);
  content_.items.erase(std::unique(content_.items.begin(), content_.items.end()), content_.items.end());
  std::ranges::sort(content_.links);
  content_.links.erase(std::unique(content_.links.begin(), content_.links.end()), content_.links.end());
  std::uint64_t hash = content_.accepts ? 1 : 0;
  for (const item& i : content_.items)
    hash = mix(mix(hash, (std::uint64_t{i.slot} << 32) | i.count), i.origin);
  for (const std::uint32_t link : content_.links) hash = mix(hash, link);
  const auto known = index_.find(hash, [&](std::uint32_t id) {
    const item_set& s = sets_[id];
    return s.accepts == content_.accepts && std::ranges::equal(items_of(s), content_.items) &&
           std::ranges::equal(links_of(s), content_.links);
  });
  if (known) return *known;
  const std::uint32_t id = reserve_set();
  fill(id);
  index_.insert(hash, id);
  return id;
}

// The set with what its links stand for, links of links included.
std::uint32_t item_sets::whole(std::uint32_t set, step_budget& budget) {
  if (sets_[set].whole != none) return sets_[set].whole;
  clear_content();
  std::vector<std::uint32_t> todo{set}, seen;
  while (!todo.empty()) {
    const std::uint32_t id = todo.back();
    todo.pop_back();
    if (std::ranges::find(seen, id) != seen.end()) continue;
    seen.push_back(id);
    const item_set& s = sets_[id];
    if (!budget.spend((seen.size() + s.num_items + s.num_links) / items_in_a_step)) return set;
    content_.items.insert(content_.items.end(), items_of(s).begin(), items_of(s).end());
    content_.accepts = content_.accepts || s.accepts;
    todo.insert(todo.end(), links_of(s).begin(), links_of(s).end());
  }
  if (!spend_on_content(budget)) return set;
  const std::uint32_t id = intern();
  sets_[set].whole = id;
  return id;
}

std::uint32_t item_sets::unite(std::span<const std::uint32_t> sets, step_budget& budget) {
  if (sets.size() == 1) return whole(sets[0], budget);
  std::vector<std::uint32_t> parts;
  for (const std::uint32_t set : sets) parts.push_back(whole(set, budget));
  clear_content();
  for (const std::uint32_t part : parts) add_content(part, budget);
  return spend_on_content(budget) ? intern() : start_;
}

// ---- places in rules

template <class Go, class Done>
void item_sets::settle(const rule& r, std::uint32_t position, std::uint32_t count, Go&& go, Done&& done) {
  if (r.kind == symbol_kind::any_order) return settle_any_order(r, position, count, go, done);
  if (r.kind == symbol_kind::repeat) {
    if (r.c == unbounded) count = std::min(count, r.b);
    if (count < r.c) go(r.slot, count);
    if (count >= r.b) done();
    return;
  }
  for (; position < r.b; ++position) {
    go(r.slot + position, 0);
    if (!table_.rules[table_.parts[r.a + position]].nullable) return;
  }
  done();
}

// Position 0 is before a member, 1 after one.
template <class Go, class Done>
void item_sets::settle_any_order(const rule& r, std::uint32_t position, std::uint32_t count, Go&& go,
                                 Done&& done) {
  const any_order_rule& spec = table_.any_orders[r.a];
  const used_members& used = used_[count];
  const bool room = has_room(spec, count);
  if (position == 0) {
    if (room) go(r.slot, count);
  } else if (room && spec.separator) {
    go(r.slot + 1, count);
    if (table_.rules[*spec.separator].nullable) go(r.slot, count);
  } else if (room) {
    go(r.slot, count);
  }
  // After a separator a member must follow; before the first one nothing need.
  const bool may_end = used.required == spec.num_required && used.total >= spec.min;
  if (may_end && (position == 1 || used.total == 0)) done();
}

bool item_sets::is_used(std::uint32_t used, std::size_t member) const {
  return (used_words_[used_[used].words + member / 64] >> (member % 64)) & 1;
}

// Whether one more can follow, so that the required ones that are left still fit.
bool item_sets::has_room(const any_order_rule& r, std::uint32_t number) const {
  const used_members& used = used_[number];
  const std::uint32_t left = r.num_required - used.required;
  if (left > 0) return true;
  if (used.total >= r.max) return false;
  const auto members = used.total - used.others;
  return r.other || members < r.members.size();
}

std::uint32_t item_sets::intern_used(const any_order_rule& r, const used_members& used,
                                     std::span<const std::uint64_t> words) {
  const auto order = static_cast<std::uint64_t>(&r - table_.any_orders.data());
  std::uint64_t hash = mix(order, (std::uint64_t{used.others} << 32) | used.total);
  for (const std::uint64_t word : words) hash = mix(hash, word);
  // Rules of equal shape may share a number: what was used is all that counts.
  const auto known = used_index_.find(hash, [&](std::uint32_t id) {
    const used_members& u = used_[id];
    return u.others == used.others && u.total == used.total && u.required == used.required &&
           u.words + words.size() <= used_words_.size() &&
           std::ranges::equal(std::span(used_words_).subspan(u.words, words.size()), words);
  });
  if (known) return *known;
  used_members added = used;
  added.words = static_cast<std::uint32_t>(used_words_.size());
  used_words_.insert(used_words_.end(), words.begin(), words.end());
  used_.push_back(added);
  const auto id = static_cast<std::uint32_t>(used_.size() - 1);
  used_index_.insert(hash, id);
  return id;
}

std::uint32_t item_sets::with_member(const any_order_rule& r, std::uint32_t number, std::size_t member) {
  used_members used = used_[number];
  const std::size_t size = words_of(r);
  std::vector<std::uint64_t> words(used_words_.begin() + used.words,
                                   used_words_.begin() + used.words + static_cast<std::ptrdiff_t>(size));
  words[member / 64] |= std::uint64_t{1} << (member % 64);
  ++used.total;
  used.required += r.members[member].required ? 1 : 0;
  return intern_used(r, used, words);
}

std::uint32_t item_sets::with_other(const any_order_rule& r, std::uint32_t number) {
  used_members used = used_[number];
  const std::size_t size = words_of(r);
  const std::vector<std::uint64_t> words(
      used_words_.begin() + used.words, used_words_.begin() + used.words + static_cast<std::ptrdiff_t>(size));
  // Past the least number, without a most, more others change nothing.
  if (r.max == unbounded && used.total >= r.min && used.total > 0) return number;
  ++used.total;
  ++used.others;
  return intern_used(r, used, words);
}

// ---- expansion

// What a choice may come to, without choices. Other rules come to themselves.
std::span<const std::uint32_t> item_sets::flat(std::uint32_t rule, step_budget& budget) {
  std::vector<std::uint32_t>& result = flat_[rule];
  if (flat_known_[rule]) return result;
  result.clear();
  std::vector<std::uint32_t> todo{rule};
  std::vector<bool> seen(table_.rules.size());
  seen[rule] = true;
  while (!todo.empty()) {
    const std::uint32_t id = todo.back();
    todo.pop_back();
    const struct rule& r = table_.rules[id];
    if (r.kind != symbol_kind::choice) {
      result.push_back(id);
      continue;
    }
    if (!budget.spend(r.b)) return result;
    for (const std::uint32_t part : table_.parts_of(r)) {
      if (seen[part]) continue;
      seen[part] = true;
      todo.push_back(part);
    }
  }
  std::ranges::sort(result);
  flat_known_[rule] = true;
  flat_bytes_ += result.capacity() * sizeof(std::uint32_t);
  return result;
}

void item_sets::add_goer(call& c, goer g, step_budget& budget) {
  if (!budget.spend()) return;
  g.link = c.first;
  c.first = static_cast<std::uint32_t>(goers_.size());
  goers_.push_back(g);
}

void item_sets::enter(std::uint32_t rule, std::uint32_t call_number) {
  const struct rule& r = table_.rules[rule];
  std::uint32_t count = 0;
  if (r.kind == symbol_kind::any_order) {
    const any_order_rule& spec = table_.any_orders[r.a];
    const std::vector<std::uint64_t> words(words_of(spec));
    count = intern_used(spec, {}, words);
  }
  settle(
      r, 0, count,
      [&](std::uint32_t slot, std::uint32_t c) {
        queue_.push_back({{slot, c, call_number}, true});
      },
      [] {});
}

// `by` awaits the rule, and is then at `position` with `count`.
void item_sets::await(std::uint32_t rule, const awaiting& by, std::uint32_t count, std::uint32_t position,
                      step_budget& budget) {
  std::uint32_t number = call_of_rule_[rule];
  if (number == none) {
    number = static_cast<std::uint32_t>(calls_.size());
    call_of_rule_[rule] = number;
    calls_.push_back({rule});
    for (const std::uint32_t part : flat(rule, budget)) {
      const struct rule& r = table_.rules[part];
      const bool is_any_order = r.kind == symbol_kind::any_order;
      if (!budget.spend(1 + (is_any_order ? words_of(table_.any_orders[r.a]) / words_in_a_step : 0))) return;
      if (r.kind == symbol_kind::lexeme)
        found_.push_back({r.a, number});
      else
        enter(part, number);
    }
  }
  settle(
      table_.rules[table_.rule_of_slot[by.at.slot]], position, count,
      [&](std::uint32_t slot, std::uint32_t c) {
        add_goer(calls_[number], {{slot, c, by.at.origin}, by.is_call, false}, budget);
      },
      [&] {
        add_goer(calls_[number], {{0, 0, by.at.origin}, by.is_call, true}, budget);
      });
}

void item_sets::expand(const awaiting& a, step_budget& budget) {
  const rule& r = table_.rules[table_.rule_of_slot[a.at.slot]];
  const std::uint32_t position = a.at.slot - r.slot, count = a.at.count;
  if (r.kind == symbol_kind::sequence) return await(table_.parts[r.a + position], a, 0, position + 1, budget);
  if (r.kind == symbol_kind::repeat) return await(r.a, a, count + 1, 0, budget);
  const any_order_rule& spec = table_.any_orders[r.a];
  if (position == 1) return await(*spec.separator, a, count, 0, budget);
  const used_members used = used_[count];
  const bool room = used.total + (spec.num_required - used.required) < spec.max;
  for (std::size_t i = 0; i < spec.members.size(); ++i) {
    if (!budget.spend()) return;
    if (is_used(count, i) || !(room || spec.members[i].required)) continue;
    if (!budget.spend(words_of(spec) / words_in_a_step)) return;
    await(spec.members[i].body, a, with_member(spec, count, i), 1, budget);
  }
  if (!budget.spend(words_of(spec) / words_in_a_step)) return;
  if (spec.other && room) await(*spec.other, a, with_other(spec, count), 1, budget);
}

// Gives the call its set: the items that go on after it. Calls that it needs are resolved first; one that
// needs itself gets a set before its content is known.
void item_sets::resolve(std::uint32_t first, step_budget& budget) {
  struct visit {
    std::uint32_t call, next;
  };
  std::vector<visit> path{{first, calls_[first].first}};
  calls_[first].state = 1;
  while (!path.empty() && !budget.is_spent()) {
    visit& top = path.back();
    if (top.next == none) {
      if (!budget.spend()) return;
      finish(top.call, budget);
      path.pop_back();
      continue;
    }
    const goer& g = goers_[top.next];
    top.next = g.link;
    if (!g.is_call) continue;
    call& needed = calls_[g.next.origin];
    if (needed.state == 1 && needed.set == none) needed.set = reserve_set();
    if (needed.state != 0) continue;
    needed.state = 1;
    path.push_back({g.next.origin, needed.first});
  }
}

void item_sets::finish(std::uint32_t number, step_budget& budget) {
  clear_content();
  for (std::uint32_t i = calls_[number].first; i != none; i = goers_[i].link) {
    const goer& g = goers_[i];
    const std::uint32_t origin = g.is_call ? calls_[g.next.origin].set : g.next.origin;
    if (g.is_done)
      add_content(origin, budget);
    else
      content_.items.push_back({g.next.slot, g.next.count, origin});
  }
  if (!spend_on_content(budget)) return;
  call& c = calls_[number];
  c.state = 2;
  if (c.set == none)
    c.set = intern();
  else
    fill(c.set);
}

std::optional<std::span<const item_sets::transition>> item_sets::transitions(std::uint32_t set,
                                                                             step_budget& budget) {
  if (!sets_[set].expanded) {
    for (const item& i : items_of(sets_[set])) queue_.push_back({i, false});
    for (std::size_t next = 0; next < queue_.size() && !budget.is_spent(); ++next) {
      const awaiting a = queue_[next];
      if (budget.spend()) expand(a, budget);
    }
    for (std::uint32_t number = 0; number < calls_.size() && !budget.is_spent(); ++number)
      if (calls_[number].state == 0) resolve(number, budget);
    if (budget.spend(steps_to_sort(found_.size()))) {
      for (transition& t : found_) t.to = calls_[t.to].set;
      std::ranges::sort(found_);
      found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
      item_set& s = sets_[set];
      s.transitions = static_cast<std::uint32_t>(transitions_.size());
      s.num_transitions = static_cast<std::uint32_t>(found_.size());
      s.expanded = true;
      transitions_.insert(transitions_.end(), found_.begin(), found_.end());
    }
    for (const call& c : calls_) call_of_rule_[c.rule] = none;
    calls_.clear();
    goers_.clear();
    queue_.clear();
    found_.clear();
    if (budget.is_spent()) return std::nullopt;
  }
  return std::span<const transition>(transitions_)
      .subspan(sets_[set].transitions, sets_[set].num_transitions);
}

std::size_t item_sets::memory_bytes() const {
  return sets_.capacity() * sizeof(item_set) + items_.capacity() * sizeof(item) +
         (links_.capacity() + transitions_.capacity() * 2 + used_words_.capacity() * 2) *
             sizeof(std::uint32_t) +
         used_.capacity() * sizeof(used_members) + index_.memory_bytes() + used_index_.memory_bytes() +
         flat_bytes_ + goers_.capacity() * sizeof(goer) + queue_.capacity() * sizeof(awaiting) +
         content_.items.capacity() * sizeof(item);
}

}  // namespace troupe::grammar
