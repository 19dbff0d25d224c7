#include "runtime/grammar/json_schema/json_schema.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <utility>

#include "runtime/grammar/json_schema/document/contradiction.hpp"
#include "runtime/grammar/json_schema/document/schema_document.hpp"
#include "runtime/grammar/json_schema/values/set_table.hpp"
#include "runtime/grammar/json_schema/workspace.hpp"
#include "runtime/grammar/json_schema/writing/plan.hpp"
#include "runtime/grammar/json_schema/writing/writer.hpp"
#include "runtime/grammar/rule_table.hpp"

namespace troupe::json_schema {
namespace {

// Whether there may be strings in it that are left out since nobody is sure of them: of a format what is not
// let through, of a denied one what is denied with it.
bool has_unsure_strings(workspace& work, const term_plan& of) {
  const value_set* const set = of.scalars;
  return set != nullptr && set->strings != set->reach && !work.is_surely_nothing(set->reach);
}

void refuse_without_values(workspace& work, const schema_plan& plan, term_id root) {
  const term_id part = plan.part_without_values(root);
  const json& schema = plan.place_of(part);
  const std::string why = contradiction_in(schema);
  std::string fault = "is satisfied by no value";
  if (!why.empty())
    fault += ": " + why;
  else if (has_unsure_strings(work, plan[part]))
    fault +=
        ", as far as can be told: a format without an exact form is let through in part, and denied more "
        "widely than it is";
  work.refuse(schema, "", fault + work.regex.describe_left_out(), error_code::invalid_argument);
}

// Whether the grammar of the term alone has a text; true also where that is not found out.
bool has_text(grammar::grammar_builder builder, grammar::symbol_id start, grammar::step_budget& budget) {
  builder.set_start(start);
  const auto made = grammar::make_rule_table(builder, budget);
  return made.has_value() || made.error().code != error_code::invalid_argument;
}

bool has_objects_alone(const value_set& of, const regex_store& regex) {
  const bool has_numbers = of.numbers != regex.nothing() || of.scientific != regex.nothing();
  return !of.null && !of.yes && !of.no && !has_numbers && of.strings == regex.nothing() && of.arrays.empty();
}

// Of the whole schema; of the objects among its values where the options say so.
term_id root_term(workspace& work, set_table& sets) {
  static const json objects{{"type", "object"}};
  const term_id whole = work.terms.schema(work.document.root());
  if (!work.options.only_objects) return whole;
  const value_set& set = sets.set_of(whole);
  if (has_objects_alone(set, work.regex)) return whole;
  if (set.objects.empty()) work.malformed(work.document.root(), "", R"(must be of the type "object")");
  return work.terms.all_of(whole, work.terms.schema(objects));
}

result<grammar::symbol_id> build(grammar::grammar_builder& builder, const schema_document& document,
                                 const schema_options& options, const grammar::grammar_limits& limits,
                                 grammar::step_budget& steps) {
  workspace work(document, builder.regex(), limits, options, steps);
  set_table sets(work);
  const term_id root = root_term(work, sets);
  const schema_plan plan(work, sets, root);
  if (!work.failed() && !plan.has_values(root)) refuse_without_values(work, plan, root);
  grammar::symbol_id symbol{};
  if (!work.failed()) symbol = grammar_writer(builder, work, plan).write(root);
  if (work.failed()) return tl::unexpected(work.located_failure());
  if (builder.failure()) return tl::unexpected(*builder.failure());
  return symbol;
}

}  // namespace

result<grammar::symbol_id> json_schema_symbol(grammar::grammar_builder& builder, std::string_view text,
                                              const schema_options& options,
                                              const grammar::grammar_limits& limits,
                                              grammar::step_budget& steps) {
  const auto document = schema_document::parse(text, document_limits_of(limits));
  if (!document) return tl::unexpected(document.error());
  return build(builder, *document, options, limits, steps);
}

result<grammar::grammar_builder> read_json_schema(std::string_view text, const schema_options& options,
                                                  const grammar::grammar_limits& limits) {
  grammar::grammar_builder builder(limits);
  grammar::step_budget steps(limits.max_compile_steps);
  const auto root = json_schema_symbol(builder, text, options, limits, steps);
  if (!root) return tl::unexpected(root.error());
  builder.set_start(*root);
  builder.keep_names_apart();
  return builder;
}

error why_no_value(std::string_view text, const schema_options& options,
                   const grammar::grammar_limits& limits) {
  constexpr std::size_t most_terms = 256;  // that are looked at one by one
  const auto document = schema_document::parse(text, document_limits_of(limits));
  if (!document) return document.error();
  grammar::grammar_builder builder(limits);
  grammar::step_budget steps(limits.max_compile_steps);
  workspace work(*document, builder.regex(), limits, options, steps);
  set_table sets(work);
  const term_id root = root_term(work, sets);
  schema_plan plan(work, sets, root);
  const auto terms = plan.terms();
  if (!work.failed() && terms.size() <= most_terms)
    for (auto id = terms.rbegin(); id != terms.rend() && !work.failed(); ++id)
      if (plan.has_values(*id) &&
          !has_text(builder, grammar_writer(builder, work, plan).write(*id), work.budget))
        plan.leave_without_values(*id);
  refuse_without_values(work, plan, root);
  return work.located_failure();
}

result<grammar::grammar_builder> any_json(bool only_objects, const schema_options& options,
                                          const grammar::grammar_limits& limits) {
  const std::string_view text = only_objects ? R"({"type":"object"})" : "true";
  grammar::grammar_limits roomy = limits;  // for a text that is ours
  roomy.max_source_bytes = std::max(limits.max_source_bytes, text.size());
  return read_json_schema(text, options, roomy);
}

}  // namespace troupe::json_schema
