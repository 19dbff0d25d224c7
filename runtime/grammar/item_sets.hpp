// An Earley parser (1970) over lexemes whose item sets do not know their position, so that equal sets of
// different positions, and of different requests, are one: an item's origin is the set of items that go on
// when its rule is done, itself held once, by content. Such sets are at once the parser's stack and its
// states.
//
// - Rules that may be empty are passed over where they are awaited (Aycock, Horspool 2002).
// - Where a rule's last part is awaited, that part returns straight to whoever awaits the rule, so right
//   recursion needs no longer chain than its first turn (Leo 1991; here also where several rules await it).
// - A rule that begins with itself makes a set that holds itself as origin; such a set is known by its maker.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/grammar/id_index.hpp"
#include "runtime/grammar/limits.hpp"
#include "runtime/grammar/rule_table.hpp"

namespace troupe::grammar {

class item_sets {
 public:
  // A rule at a place where it awaits a symbol.
  struct item {
    std::uint32_t slot = 0;
    std::uint32_t count = 0;   // repeat: times so far; any_order: the number of what was used
    std::uint32_t origin = 0;  // the set that goes on when the rule is done
    friend auto operator<=>(const item&, const item&) = default;
  };
  struct transition {
    std::uint32_t terminal = 0, to = 0;
    friend auto operator<=>(const transition&, const transition&) = default;
  };

  explicit item_sets(const rule_table& table);

  std::uint32_t start() const { return start_; }
  // Whether a text of the grammar ends here.
  bool accepts(std::uint32_t set) const { return sets_[set].accepts; }
  // Which terminals may come next, and the sets after them; sorted, a terminal may have several. Nothing when
  // the budget is spent.
  std::optional<std::span<const transition>> transitions(std::uint32_t set, step_budget& budget);
  // The set of all items of these sets; any set when the budget is spent.
  std::uint32_t unite(std::span<const std::uint32_t> sets, step_budget& budget);

  std::size_t num_sets() const { return sets_.size(); }
  // Of all sets that were asked for theirs.
  std::size_t num_transitions() const { return transitions_.size(); }
  std::size_t memory_bytes() const;

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  // Set 0 is the end: no items, accepts.
  struct item_set {
    std::uint32_t items = 0, num_items = 0;
    // Sets that belong to this one and were not complete when it was made.
    std::uint32_t links = 0, num_links = 0;
    std::uint32_t transitions = 0, num_transitions = 0;
    std::uint32_t whole = none;  // the equal set without links, once known
    bool accepts = false;
    bool complete = true;  // false: being made
    bool expanded = false;
  };
  // What of any_order stands already.
  struct used_members {
    std::uint32_t words = 0;  // first in used_words_
    std::uint32_t others = 0, total = 0, required = 0;
  };
  // A symbol awaited in the set being expanded, and the items that go on after it.
  struct call {
    std::uint32_t rule = 0;
    std::uint32_t first = none;  // in goers_
    std::uint32_t set = none;
    std::uint8_t state = 0;  // 0 new, 1 being resolved, 2 resolved
  };
  struct goer {
    item next;                              // origin is a call's number where is_call is set
    bool is_call = false, is_done = false;  // done: the origin goes on in its place
    std::uint32_t link = none;
  };
  struct awaiting {
    item at;
    bool is_call = false;
  };

  void expand(const awaiting& a, step_budget& budget);
  void await(std::uint32_t rule, const awaiting& by, std::uint32_t count, std::uint32_t position,
             step_budget& budget);
  void enter(std::uint32_t rule, std::uint32_t call_number);
  // Calls go(slot, count) for every place where the rule may await a symbol from this position on, and done()
  // where it may end.
  template <class Go, class Done>
  void settle(const rule& r, std::uint32_t position, std::uint32_t count, Go&& go, Done&& done);
  template <class Go, class Done>
  void settle_any_order(const rule& r, std::uint32_t position, std::uint32_t count, Go&& go, Done&& done);
  bool has_room(const any_order_rule& r, std::uint32_t used) const;
  bool is_used(std::uint32_t used, std::size_t member) const;
  std::uint32_t with_member(const any_order_rule& r, std::uint32_t used, std::size_t member);
  std::uint32_t with_other(const any_order_rule& r, std::uint32_t used);
  std::uint32_t intern_used(const any_order_rule& r, const used_members& used,
                            std::span<const std::uint64_t> words);

  void resolve(std::uint32_t call_number, step_budget& budget);
  void finish(std::uint32_t call_number, step_budget& budget);
  void add_goer(call& c, goer g, step_budget& budget);
  std::span<const std::uint32_t> flat(std::uint32_t rule, step_budget& budget);

  std::uint32_t reserve_set();
  std::uint32_t intern();                                    // of the scratch content
  void fill(std::uint32_t set);                              // with the scratch content
  void add_content(std::uint32_t set, step_budget& budget);  // to the scratch content
  bool spend_on_content(step_budget& budget) const;  // on interning the scratch content, or filling with it
  void clear_content();
  std::uint32_t whole(std::uint32_t set, step_budget& budget);
  std::span<const item> items_of(const item_set& s) const {
    return std::span(items_).subspan(s.items, s.num_items);
  }
  std::span<const std::uint32_t> links_of(const item_set& s) const {
    return std::span(links_).subspan(s.links, s.num_links);
  }

  const rule_table& table_;
  std::vector<item_set> sets_;
  std::vector<item> items_;
  std::vector<std::uint32_t> links_;
  std::vector<transition> transitions_;
  id_index index_;
  std::uint32_t start_ = 0;

  std::vector<used_members> used_;
  std::vector<std::uint64_t> used_words_;
  id_index used_index_;

  std::vector<std::vector<std::uint32_t>> flat_;  // [rule]: what a choice comes to, choices in it replaced
  std::vector<bool> flat_known_;
  std::size_t flat_bytes_ = 0;

  // Scratch of one expansion.
  std::vector<call> calls_;
  std::vector<std::uint32_t> call_of_rule_;  // none: not awaited
  std::vector<goer> goers_;
  std::vector<awaiting> queue_;
  std::vector<transition> found_;  // to = a call's number
  struct content {
    std::vector<item> items;
    std::vector<std::uint32_t> links;
    bool accepts = false;
  } content_;
};

}  // namespace troupe::grammar
