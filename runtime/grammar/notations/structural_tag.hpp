// Free text until a trigger, then a tag: its begin, something of a grammar, its end; then free text again.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "runtime/grammar/grammar_builder.hpp"

namespace troupe::grammar {

// Any text that ends with `mark` and in which none of `marks` (of which it is one) was complete before. Both
// are expressions of `regex`.
regex_id text_up_to(regex_store& regex, regex_id mark, regex_id marks);

struct structural_tag {
  std::string begin;  // starts with a trigger
  symbol_id content{};
  std::string end;  // may be empty
};

struct structural_tags {
  std::vector<structural_tag> tags;
  std::vector<std::string> triggers;
  bool at_least_one = false;
  bool stop_after_first = false;  // the end of the first tag ends the text
};

// Free text is any text without a trigger in it: where one is complete, a tag that starts with it must
// follow. The contents are symbols of `builder`; its skip does not stand before the begins and ends. Errors:
// invalid_argument for no triggers, an empty one, one that no tag's begin starts with, a begin that starts
// with none; too_large.
result<symbol_id> structural_tag_symbol(grammar_builder& builder, const structural_tags& spec);

}  // namespace troupe::grammar
