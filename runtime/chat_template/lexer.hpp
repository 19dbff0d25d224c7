// A template's source as tokens, with the whitespace rules that Hugging Face's chat templates are written
// for: trim_blocks and lstrip_blocks on, one line break at the end dropped
// (https://jinja.palletsprojects.com/templates/).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"

namespace troupe::jinja {

struct token {
  enum class kind {
    text,
    output_begin,
    output_end,
    block_begin,
    block_end,
    name,
    string,
    integer,
    real,
    symbol,
    end
  };
  kind what = kind::end;
  std::string text;  // of strings: with escapes resolved
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

// "chat template, line 3, column 7: ...".
error source_error(error_code code, std::uint32_t line, std::uint32_t column, std::string_view message);

// Closed by one token of kind end. Errors: invalid_argument.
result<std::vector<token>> tokenize_template(std::string_view source);

}  // namespace troupe::jinja
