// Measuring grammars over files of MaskBench's form (guidance-ai/jsonschemabench): a schema, and instances
// with their verdicts.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "runtime/grammar/json_schema/options.hpp"
#include "runtime/grammar/token_trie.hpp"
#include "runtime/result.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe::cli {

struct grammar_benchmark {
  std::size_t schemas = 0;
  std::size_t compiled = 0;
  std::size_t refused_by_name = 0;
  std::size_t all_tests_right = 0;  // schemas, each of whose instances got the right verdict
  std::size_t valid = 0, valid_rejected = 0;
  std::size_t invalid = 0, invalid_accepted = 0;
  std::vector<double> compile_ms;  // of each compiled schema
  std::vector<double> mask_us;     // of each token of each instance
  // As grammar_limits counts them: for each of these masks, and for reading each instance that is accepted
  // when nothing is worked out.
  std::vector<double> mask_steps, reading_steps;
  // By file: what was refused, and which verdict was wrong.
  std::vector<std::pair<std::string, std::string>> remarks;
};

// Every *.json of the folder, by name. A schema is compiled from its text on; an instance is the tokens of
// its text as Python's json.dumps writes it, and for each token the mask is filled and looked at. Errors:
// not_found and io_error for the folder and its files, invalid_argument for a file of another form.
result<grammar_benchmark> measure_schema_files(const std::string& folder, const tokenizer& tokenizer,
                                               const grammar::token_trie_ptr& vocabulary,
                                               const json_schema::schema_options& options);

}  // namespace troupe::cli
