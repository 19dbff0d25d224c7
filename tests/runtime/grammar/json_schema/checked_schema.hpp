// A schema, and whether a text is of it.
#pragma once
#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "runtime/grammar/compiled_grammar.hpp"
#include "runtime/grammar/json_schema/json_schema.hpp"
#include "runtime/grammar/matcher.hpp"
#include "runtime/grammar/token_trie.hpp"

namespace troupe::json_schema {

class checked_schema {
 public:
  explicit checked_schema(std::string_view schema, const schema_options& options = {}) {
    auto builder = read_json_schema(schema, options);
    EXPECT_TRUE(builder) << schema << ": " << (builder ? "" : builder.error().message);
    if (!builder) return;
    auto compiled = grammar::compile(std::move(*builder), grammar::byte_token_trie());
    EXPECT_TRUE(compiled) << schema << ": " << (compiled ? "" : compiled.error().message);
    if (compiled) grammar_ = *compiled;
  }

  bool accepts(std::string_view text) const {
    if (!grammar_) return false;
    grammar::matcher matcher(grammar_);
    for (const char c : text)
      if (!matcher.accept(static_cast<unsigned char>(c))) return false;
    return matcher.can_end().value_or(false);
  }

 private:
  grammar::compiled_grammar_ptr grammar_;
};

}  // namespace troupe::json_schema
