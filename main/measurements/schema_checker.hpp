// Whether texts belong to the grammar of a JSON Schema, without any model.
#pragma once
#include <cstddef>
#include <string_view>
#include <utility>

#include "runtime/grammar/compiled_grammar.hpp"
#include "runtime/grammar/json_schema/options.hpp"
#include "runtime/result.hpp"

namespace troupe::cli {

class schema_checker {
 public:
  // Errors: as json_schema::read_json_schema and grammar::compile.
  static result<schema_checker> make(std::string_view schema, const json_schema::schema_options& options);

  struct verdict {
    bool accepted = false;
    std::size_t bytes = 0;  // that a text of the grammar can begin with
  };
  // Errors: too_large, naming the limit of one step.
  result<verdict> check(std::string_view text) const;

 private:
  explicit schema_checker(grammar::compiled_grammar_ptr grammar) : grammar_(std::move(grammar)) {}
  grammar::compiled_grammar_ptr grammar_;
};

}  // namespace troupe::cli
