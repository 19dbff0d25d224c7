#include "runtime/grammar/specification/compile_spec.hpp"

#include <utility>

#include "runtime/grammar/json_schema/json_schema.hpp"
#include "runtime/grammar/notations/after_reasoning.hpp"
#include "runtime/grammar/notations/choice.hpp"
#include "runtime/grammar/notations/ebnf.hpp"
#include "runtime/grammar/notations/structural_tag_json.hpp"
#include "runtime/grammar/notations/tool_calls.hpp"
#include "runtime/grammar/regex/regex_grammar.hpp"

namespace troupe::grammar {

namespace {

// Whose places are JSON pointers, "" among them.
bool is_json(grammar_kind kind) {
  return kind == grammar_kind::json_schema || kind == grammar_kind::structural_tag ||
         kind == grammar_kind::tool_calls;
}

// The rules, by the front end of the kind.
result<grammar_builder> build_answer(const grammar_spec& spec, const grammar_limits& limits) {
  switch (spec.kind) {
    case grammar_kind::json_schema:
      return json_schema::read_json_schema(spec.text, spec.json, limits);
    case grammar_kind::json_object:
      return json_schema::any_json(true, spec.json, limits);
    case grammar_kind::regex:
      return regex_grammar(spec.text, limits);
    case grammar_kind::choice:
      return choice_grammar(spec.choices, limits);
    case grammar_kind::grammar:
      return ebnf_grammar(spec.text, limits);
    case grammar_kind::structural_tag:
      return structural_tag_grammar(spec.text, spec.json, limits);
    case grammar_kind::tool_calls:
      return tool_call_grammar(spec.text, spec.json, limits);
  }
  return fail(error_code::invalid_argument, "grammar: an unknown kind");
}

}  // namespace

grammar_spec schema_spec(std::string schema, const json_schema::schema_options& options) {
  return {.kind = grammar_kind::json_schema, .text = std::move(schema), .json = options};
}

result<void> check_size(const grammar_spec& spec, const grammar_limits& limits) {
  const bool has_text = spec.kind != grammar_kind::json_object;  // of the client's
  if (!has_text || source_bytes(spec) <= limits.max_source_bytes) return {};
  error refusal = exceeded("bytes of text", limits.max_source_bytes, "max_source_bytes");
  refusal.code = error_code::invalid_argument;
  return tl::unexpected(std::move(refusal));
}

result<grammar_builder> build_grammar(const grammar_spec& spec, const grammar_limits& limits) {
  if (auto checked = check_size(spec, limits); !checked) return tl::unexpected(checked.error());
  auto builder = build_answer(spec, limits);
  if (builder) put_after_reasoning(*builder, spec.reasoning);
  return builder;
}

result<compiled_grammar_ptr> compile(const grammar_spec& spec, token_trie_ptr vocabulary,
                                     const grammar_limits& limits) {
  grammar_limits spelled = limits;
  spelled.alphabet = limits.alphabet & vocabulary->alphabet();
  auto builder = build_grammar(spec, spelled);
  auto compiled = builder ? compile(std::move(*builder), std::move(vocabulary))
                          : result<compiled_grammar_ptr>(tl::unexpected(std::move(builder.error())));
  const bool is_empty = builder && !compiled && compiled.error().code == error_code::invalid_argument;
  if (is_empty && spec.kind == grammar_kind::json_schema)
    compiled = tl::unexpected(json_schema::why_no_value(spec.text, spec.json, spelled));
  if (compiled) return compiled;
  error& why = compiled.error();
  why.code = error_code::invalid_argument;
  if (why.param.empty() && !is_json(spec.kind)) why.param = to_string(spec.kind);
  return compiled;
}

bool ran_out_of_steps(const result<compiled_grammar_ptr>& outcome) {
  return !outcome && outcome.error().param == "max_compile_steps";
}

}  // namespace troupe::grammar
