#include "runtime/grammar/json_schema/writing/writer.hpp"

#include "runtime/grammar/json_schema/words/words.hpp"

namespace troupe::json_schema {

using grammar::byte_set;
using grammar::symbol_id;

grammar_writer::grammar_writer(grammar::grammar_builder& builder, workspace& work, const schema_plan& plan)
    : builder_(builder), work_(work), plan_(plan), comma_(builder.literal(",")) {
  regex_store& regex = builder_.regex();
  byte_set blanks = byte_set::of(' ');
  for (const char c : {'\t', '\n', '\r'}) blanks.insert(static_cast<unsigned char>(c));
  const regex_id blank = regex.bytes(blanks);
  const std::uint32_t most = work_.options.max_white_space;
  if (most > 0) builder_.set_skip(regex.repeat(blank, 1, most));
  colon_ = regex.concat({regex.repeat(blank, 0, most), regex.literal(":")});
}

symbol_id grammar_writer::write(term_id root) {
  const symbol_id start = symbol_of(root);
  while (!open_.empty() && work_.spend() && !builder_.failure()) {
    const term_id id = open_.back();
    open_.pop_back();
    builder_.define(*symbols_[static_cast<std::size_t>(id)], body_of(id));
  }
  return start;
}

symbol_id grammar_writer::symbol_of(term_id id) {
  if (!plan_.has_values(id)) return builder_.nothing();
  const auto i = static_cast<std::size_t>(id);
  if (symbols_.size() <= i) symbols_.resize(work_.terms.size());
  if (symbols_[i]) return *symbols_[i];
  const term_plan& plan = plan_[id];
  if (plan.arrays.empty() && plan.objects.empty()) {
    const workspace::place here(work_, plan_.place_of(id));
    symbols_[i] = builder_.lexeme(scalars_of(*plan.scalars));
  } else {
    symbols_[i] = builder_.forward();
    open_.push_back(id);
  }
  return *symbols_[i];
}

regex_id grammar_writer::scalars_of(const value_set& of) {
  regex_store& regex = builder_.regex();
  std::vector<std::string> words;
  if (of.null) words.emplace_back("null");
  if (of.yes) words.emplace_back("true");
  if (of.no) words.emplace_back("false");
  return regex.alternation({regex.one_of(std::move(words)), written_numbers(work_, of),
                            written_scientific(work_, of), quoted(regex, of.strings)});
}

symbol_id grammar_writer::body_of(term_id id) {
  const workspace::place here(work_, plan_.place_of(id));
  const term_plan& plan = plan_[id];
  std::vector<symbol_id> choices{builder_.lexeme(scalars_of(*plan.scalars))};
  for (const array_layout& each : plan.arrays)
    if (plan_.has_values(each)) choices.push_back(array_of(each));
  for (const object_layout& each : plan.objects)
    if (plan_.has_values(each)) choices.push_back(object_of(each));
  return builder_.choice(choices);
}

}  // namespace troupe::json_schema
