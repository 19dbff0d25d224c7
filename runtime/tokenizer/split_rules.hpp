// How text is cut into the pieces that byte-pair merges may not cross, as tokenizer.ggml.pre names it.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace troupe {

struct split_rules {
  // For PCRE2, one after the other, each on the pieces that the one before has left: what it matches is a
  // piece, and what stands between two matches is one. None matches an empty text.
  std::span<const char* const> patterns;
  bool whole_pieces = false;  // a piece that is a token needs no merging (Hugging Face's ignore_merges)
  bool add_bos = false;       // where the file is silent
  bool composes = false;      // text is brought to Unicode's NFC first
};

// Null where the name is not known.
const split_rules* find_split_rules(std::string_view name);

// All names, separated by commas.
std::string split_rule_names();

}  // namespace troupe
