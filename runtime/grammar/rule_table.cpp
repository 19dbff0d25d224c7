#include "runtime/grammar/rule_table.hpp"

#include <algorithm>
#include <utility>

namespace troupe::grammar {

namespace {

constexpr std::uint32_t index_of(symbol_id id) { return static_cast<std::uint32_t>(id); }

constexpr std::uint32_t unknown = ~std::uint32_t{0};

// What is true of a symbol's texts.
struct facts {
  bool productive = false;  // there is one
  bool nullable = false;    // the empty one
  bool non_empty = false;   // one that is not
};

class maker {
 public:
  maker(grammar_builder& builder, step_budget& budget) : builder_(builder), budget_(budget) {}

  result<rule_table> make() {
    if (builder_.failure()) return tl::unexpected(*builder_.failure());
    if (!builder_.start()) return fail(error_code::invalid_argument, "grammar: no start symbol");
    symbol_id start = *builder_.start();
    if (builder_.skip() && builder_.skip_at_end())
      start = builder_.sequence({start, builder_.optional(builder_.lexeme(*builder_.skip(), true))});
    if (builder_.failure()) return tl::unexpected(*builder_.failure());
    if (auto resolved = resolve_forwards(); !resolved) return tl::unexpected(resolved.error());
    if (auto reached = reach(names_[index_of(start)]); !reached) return tl::unexpected(reached.error());
    if (auto found = find_facts(); !found) return tl::unexpected(found.error());
    if (!facts_[order_.front()].productive)
      return fail(error_code::invalid_argument,
                  "grammar: no text belongs to it" + builder_.regex().describe_left_out());
    write_rules();
    if (builder_.failure()) return tl::unexpected(*builder_.failure());
    return std::move(table_);
  }

 private:
  error spent() const {
    return exceeded("steps to compile", builder_.limits().max_compile_steps, "max_compile_steps");
  }
  const grammar_builder::symbol& symbol(std::uint32_t id) const { return builder_.symbols()[id]; }

  // names_[symbol]: what a forward, or a forward to a forward, stands for. One that stands for itself is
  // nothing.
  result<void> resolve_forwards() {
    const auto symbols = builder_.symbols();
    names_.assign(symbols.size(), unknown);
    std::vector<std::uint32_t> chain;
    for (std::uint32_t id = 0; id < symbols.size(); ++id) {
      std::uint32_t at = id;
      chain.clear();
      while (names_[at] == unknown && symbols[at].kind == symbol_kind::forward) {
        if (symbols[at].b == 0)
          return fail(error_code::invalid_argument, "grammar: a symbol is named but not defined");
        names_[at] = index_of(builder_.nothing());
        chain.push_back(at);
        at = symbols[at].a;
      }
      if (names_[at] == unknown) names_[at] = at;
      for (const std::uint32_t link : chain) names_[link] = names_[at];
    }
    return {};
  }

  // Calls visit(child) for every symbol named in one.
  template <class F>
  void for_children(std::uint32_t id, F&& visit) const {
    const auto& s = symbol(id);
    if (s.kind == symbol_kind::repeat) visit(names_[s.a]);
    if (s.kind == symbol_kind::choice || s.kind == symbol_kind::sequence)
      for (const symbol_id part : builder_.links().subspan(s.a, s.b)) visit(names_[index_of(part)]);
    if (s.kind == symbol_kind::any_order) {
      const any_order& spec = builder_.any_orders()[s.a];
      for (const any_order::member& m : spec.members) visit(names_[index_of(m.body)]);
      if (spec.separator) visit(names_[index_of(*spec.separator)]);
      if (spec.other) visit(names_[index_of(*spec.other)]);
    }
  }

  // order_: everything below the start; parents_: who names whom.
  result<void> reach(std::uint32_t start) {
    std::vector<bool> seen(builder_.symbols().size());
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    order_.push_back(start);
    seen[start] = true;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      for_children(order_[i], [&](std::uint32_t child) {
        edges.emplace_back(child, order_[i]);
        if (!seen[child]) {
          seen[child] = true;
          order_.push_back(child);
        }
      });
      if (!budget_.spend(1 + edges.size() - edges_counted_)) return tl::unexpected(spent());
      edges_counted_ = edges.size();
    }
    first_parent_.assign(seen.size() + 1, 0);
    for (const auto& [child, parent] : edges) ++first_parent_[child + 1];
    for (std::size_t i = 1; i < first_parent_.size(); ++i) first_parent_[i] += first_parent_[i - 1];
    parents_.resize(edges.size());
    std::vector<std::uint32_t> next(first_parent_.begin(), first_parent_.end() - 1);
    for (const auto& [child, parent] : edges) parents_[next[child]++] = parent;
    return {};
  }

  // The least facts that agree with all rules, each symbol's looked at again when one below it has changed.
  result<void> find_facts() {
    facts_.resize(builder_.symbols().size());
    waiting_.resize(facts_.size());
    is_due_.resize(facts_.size());
    std::vector<std::uint32_t> changed;
    for (std::size_t i = order_.size(); i-- > 0;) {
      const auto& s = symbol(order_[i]);
      waiting_[order_[i]] = {s.b, s.b};
      auto now = facts_of(order_[i]);
      if (!now) return tl::unexpected(now.error());
      if (settle(order_[i], *now)) changed.push_back(order_[i]);
    }
    while (true) {
      if (auto looked = look_at_due(changed); !looked) return looked;
      if (changed.empty()) return {};
      const std::uint32_t child = changed.back();
      changed.pop_back();
      const facts news = facts_[child];
      const facts told = std::exchange(told_[child], news);
      for (std::uint32_t i = first_parent_[child]; i < first_parent_[child + 1]; ++i) {
        const std::uint32_t parent = parents_[i];
        if (!budget_.spend()) return tl::unexpected(spent());
        if (symbol(parent).kind == symbol_kind::any_order)
          look_later(parent);
        else if (settle(parent, hear(parent, told, news)))
          changed.push_back(parent);
      }
    }
  }

  // Members in any order cost as many steps as there are members: looked at when all else is settled.
  void look_later(std::uint32_t id) {
    if (!is_due_[id]) due_.push_back(id);
    is_due_[id] = true;
  }

  result<void> look_at_due(std::vector<std::uint32_t>& changed) {
    while (changed.empty() && !due_.empty()) {
      const std::uint32_t id = due_.back();
      due_.pop_back();
      is_due_[id] = false;
      const auto now = any_order_facts(id);
      if (!now) return tl::unexpected(now.error());
      if (settle(id, *now)) changed.push_back(id);
    }
    return {};
  }

  bool settle(std::uint32_t id, const facts& now) {
    facts& known = facts_[id];
    const facts before = known;
    known.productive |= now.productive;
    known.nullable |= now.nullable;
    known.non_empty |= now.non_empty;
    return before.productive != known.productive || before.nullable != known.nullable ||
           before.non_empty != known.non_empty;
  }

  // What a symbol is before anything is known of those below.
  result<facts> facts_of(std::uint32_t id) {
    const auto& s = symbol(id);
    switch (s.kind) {
      case symbol_kind::lexeme: {
        const auto nothing = builder_.regex().is_nothing(regex_id{s.a}, budget_);
        if (!nothing) return tl::unexpected(builder_.failure() ? *builder_.failure() : spent());
        return facts{!*nothing, false, !*nothing};
      }
      case symbol_kind::sequence:
        return facts{s.b == 0, s.b == 0, false};
      case symbol_kind::repeat:
        return facts{s.b == 0, s.b == 0, false};
      case symbol_kind::any_order:
        return any_order_facts(id);
      case symbol_kind::choice:
      case symbol_kind::forward:
        break;
    }
    return facts{};
  }

  // What a symbol, not members in any order, is when one below it, of which `told` was known, has become
  // `news`.
  facts hear(std::uint32_t parent, const facts& told, const facts& news) {
    const auto& s = symbol(parent);
    switch (s.kind) {
      case symbol_kind::choice:
        return news;
      case symbol_kind::sequence: {
        counts& left = waiting_[parent];
        if (news.productive && !told.productive) --left.unproductive;
        if (news.nullable && !told.nullable) --left.not_nullable;
        left.any_non_empty |= news.non_empty;
        const bool productive = left.unproductive == 0;
        return facts{productive, left.not_nullable == 0, productive && left.any_non_empty};
      }
      case symbol_kind::repeat:
        return facts{news.productive || s.b == 0, news.nullable || s.b == 0, news.non_empty};
      case symbol_kind::any_order:
      case symbol_kind::lexeme:
      case symbol_kind::forward:
        break;
    }
    return facts{};
  }

  facts fact(symbol_id id) const { return facts_[names_[index_of(id)]]; }

  result<facts> any_order_facts(std::uint32_t id) {
    const any_order& spec = builder_.any_orders()[symbol(id).a];
    if (!budget_.spend(spec.members.size())) return tl::unexpected(spent());
    std::size_t usable = 0, required = 0;
    bool possible = true;
    for (const any_order::member& m : spec.members) {
      const facts below = fact(m.body);
      usable += below.non_empty ? 1 : 0;
      if (!m.required || below.nullable) continue;
      ++required;
      possible = possible && below.productive;
    }
    const bool other = spec.other && fact(*spec.other).non_empty;
    const bool many = !spec.separator || fact(*spec.separator).productive;
    const std::uint32_t max = many ? spec.max : std::min<std::uint32_t>(spec.max, 1);
    possible = possible && required <= max && spec.min <= max && (other || usable >= spec.min);
    return facts{possible, possible && required == 0 && spec.min == 0,
                 possible && max > 0 && (other || usable > 0)};
  }

  bool is_kept(std::uint32_t id) const { return facts_[id].non_empty; }

  void write_rules() {
    rule_of_.assign(builder_.symbols().size(), unknown);
    // Rule 0 is the start's own sequence, so that the start symbol is awaited like any other.
    table_.rules.push_back({.kind = symbol_kind::sequence, .nullable = facts_[order_.front()].nullable});
    for (const std::uint32_t id : order_) {
      if (!is_kept(id)) continue;
      rule_of_[id] = static_cast<std::uint32_t>(table_.rules.size());
      table_.rules.push_back({.kind = symbol(id).kind, .nullable = facts_[id].nullable});
    }
    rule& first = table_.rules[0];
    if (is_kept(order_.front())) {
      table_.parts.push_back(rule_of_[order_.front()]);
      first.b = 1;
    }
    table_.rule_of_slot.resize(first.b, 0);
    for (const std::uint32_t id : order_)
      if (is_kept(id)) write_rule(id, table_.rules[rule_of_[id]]);
  }

  void write_rule(std::uint32_t id, rule& r) {
    const auto& s = symbol(id);
    std::uint32_t slots = 0;
    switch (s.kind) {
      case symbol_kind::lexeme:
        write_lexeme(s, r);
        break;
      case symbol_kind::choice:
      case symbol_kind::sequence:
        r.a = static_cast<std::uint32_t>(table_.parts.size());
        for (const symbol_id part : builder_.links().subspan(s.a, s.b))
          if (is_kept(names_[index_of(part)])) table_.parts.push_back(rule_of_[names_[index_of(part)]]);
        r.b = static_cast<std::uint32_t>(table_.parts.size()) - r.a;
        slots = s.kind == symbol_kind::sequence ? r.b : 0;
        break;
      case symbol_kind::repeat:
        r.a = rule_of_[names_[s.a]];
        r.b = facts_[names_[s.a]].nullable ? 0 : s.b;
        r.c = s.c;
        slots = 1;
        break;
      case symbol_kind::any_order:
        write_any_order(builder_.any_orders()[s.a], r);
        slots = 2;
        break;
      case symbol_kind::forward:
        break;
    }
    r.slot = static_cast<std::uint32_t>(table_.rule_of_slot.size());
    table_.rule_of_slot.resize(r.slot + slots, rule_of_[id]);
  }

  void write_lexeme(const grammar_builder::symbol& s, rule& r) {
    regex_store& regex = builder_.regex();
    regex_id text{s.a};
    if (!s.tight && builder_.skip()) text = regex.concat({regex.optional(*builder_.skip()), text});
    r.a = static_cast<std::uint32_t>(table_.terminals.size());
    table_.terminals.push_back(text);
  }

  void write_any_order(const any_order& spec, rule& r) {
    any_order_rule out;
    out.min = spec.min;
    out.max = spec.max;
    for (const any_order::member& m : spec.members) {
      const std::uint32_t body = names_[index_of(m.body)];
      if (!is_kept(body)) continue;
      const bool required = m.required && !facts_[body].nullable;
      out.members.push_back({rule_of_[body], required});
      out.num_required += required ? 1 : 0;
    }
    if (spec.other && is_kept(names_[index_of(*spec.other)]))
      out.other = rule_of_[names_[index_of(*spec.other)]];
    if (spec.separator) {
      const std::uint32_t separator = names_[index_of(*spec.separator)];
      if (is_kept(separator))
        out.separator = rule_of_[separator];
      else if (!facts_[separator].productive)
        out.max = std::min<std::uint32_t>(out.max, 1);
    }
    r.a = static_cast<std::uint32_t>(table_.any_orders.size());
    table_.any_orders.push_back(std::move(out));
  }

  // Of a sequence: parts that are not known to be productive, or nullable, yet.
  struct counts {
    std::uint32_t unproductive = 0, not_nullable = 0;
    bool any_non_empty = false;
  };

  grammar_builder& builder_;
  step_budget& budget_;
  rule_table table_;
  std::vector<std::uint32_t> names_, order_, first_parent_, parents_, rule_of_, due_;
  std::vector<bool> is_due_;
  std::vector<facts> facts_;
  std::unordered_map<std::uint32_t, facts> told_;  // what a symbol's parents have heard of it
  std::vector<counts> waiting_;
  std::size_t edges_counted_ = 0;
};

}  // namespace

std::size_t rule_table::memory_bytes() const {
  std::size_t bytes = rules.capacity() * sizeof(rule) + terminals.capacity() * sizeof(regex_id) +
                      (parts.capacity() + rule_of_slot.capacity()) * sizeof(std::uint32_t);
  for (const any_order_rule& r : any_orders)
    bytes += sizeof(r) + r.members.capacity() * sizeof(any_order_rule::member);
  return bytes;
}

result<rule_table> make_rule_table(grammar_builder& builder, step_budget& budget) {
  return maker(builder, budget).make();
}

}  // namespace troupe::grammar
