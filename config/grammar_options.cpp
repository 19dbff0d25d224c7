// What grammars of requests may cost.
#include "config/option_table.hpp"

namespace troupe::config {

using group = option_group;

std::vector<option> grammar_options() {
  constexpr std::int64_t most = 2'000'000'000;
  return {
      switch_option("grammar_jump_forward", group::engine, &settings::grammar_jump_forward,
                    "Tokens that a grammar leaves no choice about take no step each; not for requests that "
                    "want log-probabilities"),
      size_option("grammar_cache_memory", group::engine, &settings::grammar_cache_memory, mib, 16 * tib,
                  "Memory for compiled grammars, kept for later requests that ask for the same"),
      number_option("grammar_threads", group::engine, &settings::grammar_threads, 0, 64,
                    "Threads that fill the masks of a step; 0: half the cores, four at most"),
      duration_option("grammar_refusal_time", group::engine, &settings::grammar_refusal_time, 0, day,
                      "How long a grammar that was refused is refused again without another look"),
      size_option("grammar_max_source_bytes", group::engine, &settings::grammar_max_source_bytes, 1, gib,
                  "Longest text of a grammar; this and the next: what is beyond ends the request with status "
                  "400"),
      number_option("grammar_max_depth", group::engine, &settings::grammar_max_depth, 1, 1000,
                    "Deepest nesting of a grammar's text"),
      number_option("grammar_max_regex_nodes", group::engine, &settings::grammar_max_regex_nodes, 1, most,
                    "Parts of regular expressions in one grammar"),
      number_option("grammar_max_regex_depth", group::engine, &settings::grammar_max_regex_depth, 10, 1000,
                    "Parts of a regular expression within one another"),
      number_option("grammar_max_symbols", group::engine, &settings::grammar_max_symbols, 1, most,
                    "Rules and lexemes of one grammar"),
      number_option("grammar_max_links", group::engine, &settings::grammar_max_links, 1, most,
                    "Rules and lexemes named in all rules of one grammar together"),
      number_option("grammar_max_schema_values", group::engine, &settings::grammar_max_schema_values, 1, most,
                    "Strings, numbers, arrays and objects of one JSON Schema's text"),
      number_option("grammar_max_schema_terms", group::engine, &settings::grammar_max_schema_terms, 1, most,
                    "Different schemas that one JSON Schema combines into"),
      number_option("grammar_max_schema_depth", group::engine, &settings::grammar_max_schema_depth, 1, 1000,
                    "$ref, allOf, anyOf, ... of a JSON Schema within one another at one place"),
      number_option("grammar_max_alternatives", group::engine, &settings::grammar_max_alternatives, 1, most,
                    "Arrays or objects that one place of a JSON Schema may hold, as alternatives"),
      number_option(
          "grammar_max_search_steps", group::engine, &settings::grammar_max_search_steps, 1, most,
          "Work to prove that two parts of a JSON Schema have no value in common, of the compiler's "
          "steps"),
      number_option("grammar_max_compile_steps", group::engine, &settings::grammar_max_compile_steps, 1, most,
                    "Work to compile one grammar, in steps of the compiler"),
      number_option(
          "grammar_max_mask_steps", group::engine, &settings::grammar_max_mask_steps, 1, most,
          "Work to find the tokens that a grammar allows next, in the same steps, about 50 ns each; "
          "a request that needs more ends with an error"),
      number_option("grammar_mask_steps_per_token", group::engine, &settings::grammar_mask_steps_per_token, 1,
                    most, "How many of these steps a request gets back with each token"),
      number_option(
          "grammar_mask_steps_per_step", group::engine, &settings::grammar_mask_steps_per_step, 1, most,
          "For how many of these steps the other requests of a batch wait; a request that needs more is left "
          "out of batches until its mask is worked out, as many steps beside each of them"),
      size_option("grammar_max_memory", group::engine, &settings::grammar_max_memory, mib, tib,
                  "Memory for what one grammar has worked out; beyond it the request ends with an error"),
  };
}

}  // namespace troupe::config
