// Regular expressions over bytes, each equal one held once (hash-consed), with what matching by derivatives
// needs: Brzozowski, "Derivatives of regular expressions" (1964); Owens, Reppy, Turon, "Regular-expression
// derivatives re-examined" (2009), whose smart constructors keep the number of different derivatives small.
// Intersection, complement and counted repeats are nodes of their own: nothing is expanded.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/grammar/byte_set.hpp"
#include "runtime/grammar/limits.hpp"
#include "runtime/grammar/regex/code_points.hpp"

namespace troupe::grammar {

enum class regex_id : std::uint32_t {};
inline constexpr std::uint32_t unbounded = std::numeric_limits<std::uint32_t>::max();

enum class regex_kind : std::uint8_t {
  nothing,       // no text at all
  empty,         // the empty text
  bytes,         // one byte of a set
  literal,       // these bytes
  strings,       // one of many texts: a slice of a sorted table, from a common depth on
  concat,        // first, then rest
  alternation,   // any of
  intersection,  // all of
  complement,    // every byte string but
  repeat,        // min to max times
  multiple,      // digits that make a multiple of a number
};

// Texts are those over the alphabet: what has another byte is left out of every expression as it is made, and
// "every byte string" means every one of these.
//
// Building never fails: past a limit every constructor returns nothing(), and failure() says what was
// exceeded. Not for use by two threads at once. Copies are independent.
class regex_store {
 public:
  explicit regex_store(std::size_t max_nodes = grammar_limits{}.max_regex_nodes,
                       std::uint64_t max_steps = std::numeric_limits<std::uint64_t>::max(),
                       const byte_set& alphabet = byte_set::all(),
                       std::size_t max_depth = grammar_limits{}.max_regex_depth);

  regex_id nothing() const { return regex_id{0}; }
  regex_id empty() const { return regex_id{1}; }
  regex_id any_bytes() const { return regex_id{3}; }  // every byte string
  regex_id bytes(const byte_set& set);
  regex_id literal(std::string_view text);
  // Any of the texts; in time n log n and space linear in their bytes.
  regex_id one_of(std::vector<std::string> texts);
  // One code point of the set, as UTF-8.
  regex_id code_points(const code_point_set& set);
  // Every text of whole, valid UTF-8 characters.
  regex_id any_text();
  regex_id concat(std::span<const regex_id> parts);
  regex_id concat(std::initializer_list<regex_id> parts) {
    return concat(std::span(parts.begin(), parts.size()));
  }
  regex_id alternation(std::span<const regex_id> parts);
  regex_id alternation(std::initializer_list<regex_id> parts) {
    return alternation(std::span(parts.begin(), parts.size()));
  }
  regex_id intersection(std::span<const regex_id> parts);
  regex_id intersection(std::initializer_list<regex_id> parts) {
    return intersection(std::span(parts.begin(), parts.size()));
  }
  // Of all byte strings: intersect with any_text() where only text is meant.
  regex_id complement(regex_id r);
  // a but not b.
  regex_id difference(regex_id a, regex_id b) { return intersection({a, complement(b)}); }
  // min to max times, max may be `unbounded`.
  regex_id repeat(regex_id r, std::uint32_t min, std::uint32_t max);
  // Decimal digits that read as a multiple of `divisor`, 1 to 2^59; points in between are skipped, no digits
  // are 0.
  regex_id multiple_of(std::uint64_t divisor);
  regex_id star(regex_id r) { return repeat(r, 0, unbounded); }
  regex_id plus(regex_id r) { return repeat(r, 1, unbounded); }
  regex_id optional(regex_id r) { return repeat(r, 0, 1); }
  // The same texts without the empty one.
  regex_id non_empty(regex_id r);

  bool is_nullable(regex_id r) const { return node_of(r).nullable; }
  bool has_boolean(regex_id r) const { return node_of(r).boolean; }  // an intersection or complement inside
  bool has_multiple(regex_id r) const { return node_of(r).has_multiple; }  // inside
  regex_kind kind(regex_id r) const { return node_of(r).kind; }
  // Levels that a walk which derives it goes down.
  std::size_t depth(regex_id r) const { return node_of(r).depth; }

  // What may follow `byte` in a text of r. nothing() when the budget is spent.
  regex_id derivative(regex_id r, unsigned char byte, step_budget& budget);
  // Bytes that were seen to have the last derivative in common (Owens, Reppy, Turon, section 4.2).
  const byte_set& derived_alike() const { return alike_; }
  // Whether r matches no text at all; exact also under intersection and complement, by a search over
  // derivatives. Nothing: the budget is spent.
  std::optional<bool> is_nothing(regex_id r, step_budget& budget);
  // Whether r matches this text. Nothing: the budget is spent.
  std::optional<bool> matches(regex_id r, std::string_view text, step_budget& budget);

  // The texts of r where there are no more than `most`; nothing where there are, or the budget is spent.
  std::optional<std::vector<std::string>> list(regex_id r, std::size_t most, step_budget& budget);

  // Bytes that no expression made so far tells apart have equal numbers; numbers are 0, 1, ... count - 1.
  struct byte_classes {
    std::array<std::uint8_t, 256> of{};
    std::vector<unsigned char> representatives;  // [class]
    std::size_t count() const { return representatives.size(); }
  };
  byte_classes classes();

  const byte_set& alphabet() const { return alphabet_; }
  // For who is told that nothing is left: "; no token of the vocabulary has the byte 0xF1 of a text or a
  // character of it"; empty where no text and no set of characters was left out as a whole.
  std::string describe_left_out() const;

  std::size_t size() const { return nodes_.size(); }
  std::size_t memory_bytes() const;
  const std::optional<error>& failure() const { return failure_; }
  // What `search` gives; what it makes meanwhile does not count for max_nodes.
  template <class Search>
  auto beside_building(Search&& search) {
    struct exemption {
      explicit exemption(regex_store& of)
          : store(of),
            before(of.nodes_.size()),
            limit(std::exchange(of.max_nodes_, std::numeric_limits<std::uint32_t>::max())) {}
      ~exemption() { store.max_nodes_ = limit + store.nodes_.size() - before; }
      regex_store& store;
      const std::size_t before, limit;
    };
    const exemption exempt(*this);
    return search();
  }
  // From here on there are derivatives alone, which may go on past the limits that held for building.
  void end_building(std::size_t max_nodes);

 private:
  struct node {
    regex_kind kind = regex_kind::nothing;
    bool nullable = false;
    bool may_be_nothing = false;  // below an intersection or complement: is_nothing() must search
    bool boolean = false;         // an intersection or complement is inside
    bool has_multiple = false;    // inside
    std::uint16_t depth = 0;      // of a walk that derives
    // bytes: a = index in sets_. literal: a, b = offset and size in text_. strings: a = table, b, c = first
    // and past the last entry, d = depth. concat: a, b. alternation, intersection: a, b = first and count in
    // links_. complement: a. repeat: a, b = min, c = max. multiple: a = index in divisors_, b, c = halves of
    // the remainder so far.
    std::uint32_t a = 0, b = 0, c = 0, d = 0;
  };
  struct text_slice {
    std::uint32_t offset = 0, size = 0;  // in text_
  };
  using string_table = std::vector<text_slice>;  // sorted by text, each once
  struct byte_set_hash {
    std::size_t operator()(const byte_set& set) const;
  };
  // Text and links of max_nodes nodes together: rules that name each other twice double them by a line each.
  static constexpr std::size_t text_bytes_per_node = 128, links_per_node = 16;
  // What is copied or looked up in the time of a step.
  static constexpr std::size_t text_bytes_in_a_step = 64, links_in_a_step = 8, chained_in_a_step = 4;
  static constexpr std::size_t steps_per_range = 4;

  const node& node_of(regex_id r) const { return nodes_[static_cast<std::uint32_t>(r)]; }
  std::string_view text_of(const text_slice& slice) const {
    return std::string_view(text_).substr(slice.offset, slice.size);
  }
  std::span<const regex_id> links_of(const node& n) const { return std::span(links_).subspan(n.a, n.b); }
  void fail_with(error e);
  // Whether it is over the alphabet; else describe_left_out() names its first byte that is not.
  bool is_spelled(std::string_view text);
  void note_left_out(std::uint32_t code_point);
  // What building copies and looks up, in steps: past the most of them failure() says so.
  void count(std::uint64_t steps);

  // The constructors as derivatives use them: nothing is merged that was not merged before.
  regex_id intern(const node& n);
  regex_id make_links(regex_kind kind, const std::vector<regex_id>& parts);
  regex_id make_multiple(std::uint32_t divisor, std::uint64_t remainder);
  regex_id make_concat(regex_id first, regex_id rest);
  regex_id make_literal(std::uint32_t offset, std::uint32_t size);
  regex_id make_strings(std::uint32_t table, std::uint32_t first, std::uint32_t last, std::uint32_t depth);
  regex_id make_alternation(std::vector<regex_id>& parts);
  regex_id make_intersection(std::vector<regex_id>& parts);
  // Whether so many more bytes are within the limit; otherwise failure() says so.
  bool has_room_for_text(std::size_t bytes);
  void tell_apart(const byte_set& set);
  std::optional<std::uint32_t> add_text(std::string_view text);
  regex_id utf8_sequences(std::span<const code_point_range> ranges, int size, bool lead);

  regex_id derive(regex_id r, unsigned char byte, step_budget& budget);
  // The same, remembered for a while. Narrows alike_ to the bytes that lead to the same.
  regex_id derive_cached(regex_id r, unsigned char byte, step_budget& budget);
  regex_id derive_concat(regex_id r, unsigned char byte, step_budget& budget);
  regex_id derive_strings(const node& n, unsigned char byte);
  regex_id derive_literal(const node& n, unsigned char byte);
  regex_id derive_multiple(regex_id r, unsigned char byte);
  bool surely_something(regex_id r) const;
  std::optional<bool> search_any(regex_id r, step_budget& budget);
  // Whether r matches any text, where arithmetic tells: what asks for multiples, and is digits otherwise.
  std::optional<bool> decide_by_digits(regex_id r, step_budget& budget) const;
  class digit_search;
  class digit_texts;
  bool is_nothing_loosened(regex_id r, step_budget& budget);
  // r with any digits for multiples, and none of them where they are denied: it matches whatever r matches.
  regex_id loosened(regex_id r, bool is_denied);
  regex_id loosened_parts(const node& n, bool is_denied);

  std::uint64_t hash_of(const node& n) const;
  bool equal(const node& a, const node& b) const;
  void grow_index();

  struct known_derivative {
    std::uint64_t key = ~std::uint64_t{0};
    regex_id value{};
    byte_set alike;
  };

  std::vector<node> nodes_;
  std::vector<byte_set> sets_;
  std::unordered_map<byte_set, std::uint32_t, byte_set_hash> set_ids_;
  std::string text_;
  std::array<bool, 256> in_text_{};  // told apart from all others
  // What the first of sets_ tell apart: each search wants the classes, and sets come one by one.
  std::array<std::uint8_t, 256> apart_{};
  std::size_t num_apart_ = 1;  // numbers in it
  std::size_t sets_told_apart_ = 0;
  std::vector<regex_id> links_;
  std::vector<std::uint64_t> divisors_;
  std::vector<std::shared_ptr<const string_table>> tables_;
  std::vector<std::uint32_t> index_;                       // open addressing over nodes_, 0 = free
  std::unordered_map<std::string, regex_id> literals_;     // whole literals, as built
  std::unordered_map<std::u32string, regex_id> spelled_;   // by the ranges of the set
  std::unordered_map<std::uint32_t, bool> nothing_known_;  // answers of is_nothing()
  std::unordered_map<std::uint64_t, regex_id> loosened_;   // by number and is_denied
  std::vector<known_derivative> derivatives_;              // a cache, by hash
  byte_set alike_;
  byte_set alphabet_;
  std::optional<unsigned char> left_out_;
  std::size_t max_nodes_, max_depth_;
  std::uint64_t max_steps_;
  std::uint64_t steps_ = 0;       // of building, and of the derivative being made
  std::uint64_t steps_paid_ = 0;  // of these, by the budget of that derivative
  std::optional<error> failure_;
};

}  // namespace troupe::grammar
