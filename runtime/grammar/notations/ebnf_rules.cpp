#include "runtime/grammar/notations/ebnf_rules.hpp"

namespace troupe::grammar {

namespace {

tl::unexpected<error> problem(const std::string& what, std::size_t line) {
  return fail(error_code::invalid_argument, "grammar: " + what + ", line " + std::to_string(line));
}

}  // namespace

ebnf_rules::expression_id ebnf_rules::add(const expression& e) {
  const grammar_limits& limits = builder_.limits();
  if (expressions_.size() >= limits.max_links) {
    builder_.fail_with(exceeded("symbols in rules", limits.max_links, "max_links"));
    return 0;
  }
  expressions_.push_back(e);
  return static_cast<expression_id>(expressions_.size() - 1);
}

ebnf_rules::expression_id ebnf_rules::add_parts(kind what, const std::vector<expression_id>& parts) {
  if (parts.size() == 1) return parts[0];
  expression e{.what = what};
  e.a = static_cast<std::uint32_t>(parts_.size());
  e.b = static_cast<std::uint32_t>(parts.size());
  parts_.insert(parts_.end(), parts.begin(), parts.end());
  return add(e);
}

std::uint32_t ebnf_rules::rule_named(const std::string& name, std::size_t line) {
  const auto [entry, added] = names_.try_emplace(name, static_cast<std::uint32_t>(rules_.size()));
  if (added) {
    rules_.emplace_back();
    rules_.back().name = name;
    rules_.back().line = line;
  }
  return entry->second;
}

ebnf_rules::expression_id ebnf_rules::reference(const std::string& name, std::size_t line) {
  return add({.what = kind::reference, .a = rule_named(name, line)});
}

result<void> ebnf_rules::define(const std::string& name, expression_id body, std::size_t line,
                                bool is_lexeme) {
  rule& r = rules_[rule_named(name, line)];
  if (r.is_defined) return problem("'" + name + "' is defined twice", line);
  r.is_defined = true;
  r.is_lexeme = is_lexeme;
  r.line = line;
  r.body = body;
  return {};
}

// Expressions nest no deeper than a reader's limit, so this and the walks below may call themselves.
void ebnf_rules::collect_references(expression_id id, std::vector<std::uint32_t>& found) const {
  const expression& e = expressions_[id];
  if (e.what == kind::reference) found.push_back(e.a);
  if (e.what == kind::repeat) collect_references(e.a, found);
  if (e.what == kind::sequence || e.what == kind::alternatives)
    for (std::uint32_t i = 0; i < e.b; ++i) collect_references(parts_[e.a + i], found);
}

bool ebnf_rules::is_too_deep(const rule& r) const {
  constexpr std::size_t share = 4;  // of the limit, since the bodies around it have levels of their own
  return !r.is_lexeme && builder_.regex().depth(r.regex) > builder_.limits().max_regex_depth / share;
}

tl::unexpected<error> ebnf_rules::failure_in(const rule& r) const {
  error why = *builder_.failure();
  why.message += ", in '" + r.name + "' of line " + std::to_string(r.line);
  return tl::unexpected(std::move(why));
}

// Rules whose references are all regular are regular, from those without references on. With something
// ignored, only lexemes are: it may stand between the parts of all others.
result<void> ebnf_rules::find_regular() {
  std::vector<std::vector<std::uint32_t>> named_by(rules_.size());
  std::vector<std::size_t> waiting(rules_.size());
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < rules_.size(); ++i) {
    if (!rules_[i].is_defined) return problem("'" + rules_[i].name + "' is not defined", rules_[i].line);
    std::vector<std::uint32_t> found;
    collect_references(rules_[i].body, found);
    waiting[i] = found.size();
    for (const std::uint32_t name : found) named_by[name].push_back(i);
    if (found.empty()) ready.push_back(i);
  }
  while (!ready.empty()) {
    const std::uint32_t i = ready.back();
    ready.pop_back();
    if (!rules_[i].is_lexeme && !ignored_.empty()) continue;
    rules_[i].regex = regex_of(rules_[i].body);
    if (builder_.failure()) return failure_in(rules_[i]);
    if (is_too_deep(rules_[i])) continue;
    rules_[i].is_regular = true;
    for (const std::uint32_t parent : named_by[i])
      if (--waiting[parent] == 0) ready.push_back(parent);
  }
  for (const rule& r : rules_)
    if (r.is_lexeme && !r.is_regular)
      return problem("the terminal '" + r.name + "' names itself or a rule", r.line);
  return {};
}

regex_id ebnf_rules::regex_of(expression_id id) {
  const expression e = expressions_[id];
  switch (e.what) {
    case kind::terminal:
      return regex_id{e.a};
    case kind::reference:
      return rules_[e.a].regex;
    case kind::repeat:
      return regex().repeat(regex_of(e.a), e.b, e.c);
    case kind::sequence:
    case kind::alternatives:
      break;
  }
  std::vector<regex_id> parts;
  for (std::uint32_t i = 0; i < e.b; ++i) parts.push_back(regex_of(parts_[e.a + i]));
  return e.what == kind::sequence ? regex().concat(parts) : regex().alternation(parts);
}

// Regular neighbours are one lexeme, unless something ignored may stand between them.
ebnf_rules::value ebnf_rules::value_of_parts(const expression& e) {
  const bool is_sequence = e.what == kind::sequence;
  std::vector<value> parts;
  std::vector<regex_id> run;
  const auto flush = [&] {
    if (!run.empty())
      parts.push_back({true, is_sequence ? regex().concat(run) : regex().alternation(run), {}});
    run.clear();
  };
  for (std::uint32_t i = 0; i < e.b; ++i) {
    const value part = value_of(parts_[e.a + i]);
    if (!part.is_regular || (is_sequence && !ignored_.empty())) flush();
    if (part.is_regular)
      run.push_back(part.regex);
    else
      parts.push_back(part);
  }
  flush();
  if (parts.size() == 1) return parts[0];
  std::vector<symbol_id> symbols;
  for (const value& part : parts) symbols.push_back(symbol_of(part));
  return {false, {}, is_sequence ? builder_.sequence(symbols) : builder_.choice(symbols)};
}

ebnf_rules::value ebnf_rules::value_of(expression_id id) {
  const expression e = expressions_[id];
  switch (e.what) {
    case kind::terminal:
      return {true, regex_id{e.a}, {}};
    case kind::reference: {
      const rule& r = rules_[e.a];
      return r.is_regular ? value{true, r.regex, {}} : value{false, {}, r.symbol};
    }
    case kind::repeat: {
      const value body = value_of(e.a);
      if (body.is_regular && ignored_.empty()) return {true, regex().repeat(body.regex, e.b, e.c), {}};
      return {false, {}, builder_.repeat(symbol_of(body), e.b, e.c)};
    }
    case kind::sequence:
    case kind::alternatives:
      break;
  }
  return value_of_parts(e);
}

result<grammar_builder> ebnf_rules::build(const std::string& start) {
  if (builder_.failure()) return tl::unexpected(*builder_.failure());
  const auto root = names_.find(start);
  if (root == names_.end()) return fail(error_code::invalid_argument, "grammar: no rule '" + start + "'");
  if (auto found = find_regular(); !found) return tl::unexpected(found.error());
  if (!ignored_.empty()) {
    std::vector<regex_id> skips;
    for (const expression_id id : ignored_) skips.push_back(regex_of(id));
    builder_.set_skip(regex().plus(regex().alternation(skips)), true);
  }
  for (rule& r : rules_)
    if (!r.is_regular) r.symbol = builder_.forward();
  if (builder_.failure()) return tl::unexpected(*builder_.failure());
  for (const rule& r : rules_) {
    if (!r.is_regular) builder_.define(r.symbol, symbol_of(value_of(r.body)));
    if (builder_.failure()) return failure_in(r);
  }
  const rule& first = rules_[root->second];
  builder_.set_start(symbol_of({first.is_regular, first.regex, first.symbol}));
  if (builder_.failure()) return tl::unexpected(*builder_.failure());
  return std::move(builder_);
}

}  // namespace troupe::grammar
