// What all steps from a schema to a grammar share.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/grammar/json_schema/document/closed_objects.hpp"
#include "runtime/grammar/json_schema/document/schema_document.hpp"
#include "runtime/grammar/json_schema/numbers/short_numbers.hpp"
#include "runtime/grammar/json_schema/options.hpp"
#include "runtime/grammar/json_schema/texts/json_text.hpp"
#include "runtime/grammar/json_schema/values/terms.hpp"
#include "runtime/grammar/limits.hpp"
#include "runtime/result.hpp"

namespace troupe::json_schema {

// Of strings.
struct string_bodies {
  regex_id sure{};
  regex_id reach{};  // as in value_set
};

struct number_texts {
  regex_id numbers{};
  regex_id reach{};  // as number_reach in value_set
  regex_id scientific{};
  regex_id outside{};       // as in value_set
  bool only_exact = false;  // as in value_set
};

// The first failure, the store's too, is kept; whoever sees failed() returns at once with anything at all.
class workspace {
 public:
  workspace(const schema_document& read, regex_store& store, const grammar::grammar_limits& compile_limits,
            const schema_options& chosen, grammar::step_budget& steps)
      : document(read), regex(store), limits(compile_limits), options(chosen), text(store), budget(steps) {
    if (options.closed_objects) closed = objects_to_close(document.root());
  }

  const schema_document& document;
  regex_store& regex;
  const grammar::grammar_limits& limits;
  const schema_options& options;
  json_text text;
  std::unordered_set<const json*> closed;  // objects of which other members than those named are left out
  short_numbers numbers;
  term_table terms;
  grammar::step_budget& budget;

  bool failed() const { return failure().has_value(); }
  const std::optional<error>& failure() const { return failure_ ? failure_ : regex.failure(); }

  // `word`, a member of `node`, cannot be served: `why` completes the sentence "... : pattern <why>".
  // `key`: of the word's value, where that is to blame.
  void refuse(const json& node, std::string_view word, std::string_view why,
              error_code code = error_code::unsupported, std::optional<std::string_view> key = {});
  // `word` does not have the form that JSON Schema gives it.
  void malformed(const json& node, std::string_view word, std::string_view why) {
    refuse(node, word, why, error_code::invalid_argument);
  }
  void fail_with(error e) {
    if (!failed()) failure_ = std::move(e);
  }
  // What is worked on while it lives, so that a limit that is passed meanwhile is told with the innermost.
  class place {
   public:
    place(workspace& work, const json& node) : work_(work), node_(node) {}
    ~place() {
      if (work_.failed() && work_.failed_at_ == nullptr) work_.failed_at_ = &node_;
    }
    place(const place&) = delete;
    place& operator=(const place&) = delete;

   private:
    workspace& work_;
    const json& node_;
  };
  // failure(), of which there is one, with the place where it was met.
  error located_failure() const;
  // Counts work; false, and failed(), when there has been too much.
  bool spend(std::uint64_t steps = 1);

  // Whether r matches nothing, as far as a short search finds out.
  bool is_surely_nothing(regex_id r);
  bool matches(regex_id r, std::string_view candidate);
  // Numbers as they are to be written: the short ones of them where the options say so.
  regex_id as_written(regex_id of);

  // Worked out once, however many places ask: the bodies of a format, numbers with a bound by its text, what
  // is exactly_read(), the items that differ from one another by the schema they are in.
  std::unordered_map<std::string, std::optional<string_bodies>> formats;
  std::unordered_map<std::string, number_texts> bounded_numbers;
  std::optional<regex_id> exactly_read, integer_reach;
  std::size_t values_with_reach = 0;  // numbers of an enum or a const whose reach was made one by one
  std::unordered_map<std::uint32_t, std::optional<std::vector<term_id>>> distinct_items;

 private:
  std::optional<error> failure_;
  const json* failed_at_ = nullptr;
};

}  // namespace troupe::json_schema
