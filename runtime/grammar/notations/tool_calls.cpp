#include "runtime/grammar/notations/tool_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/grammar/json_schema/document/left_out_words.hpp"
#include "runtime/grammar/notations/embedded_schema.hpp"
#include "runtime/grammar/notations/structural_tag.hpp"
#include "runtime/grammar/notations/tool_call_form.hpp"
#include "runtime/json/json_reader.hpp"

namespace troupe::grammar {

namespace {

tl::unexpected<error> wrong_tools(const std::string& at, const std::string& what) {
  return fail(error_code::invalid_argument, fmt::format("tools: {} (at \"{}\")", what, at), at);
}

struct called_tool {
  std::string begin;
  symbol_id arguments{};
};

constexpr std::size_t most_left_out = 8;  // words of a tool that are refused

// Where a function stood in what its client sent: in a member of its tool, or, flat, in the tool itself.
std::string place_of(const json& tool, std::size_t index) {
  const bool is_flat = tool.is_object() && tool.value("flat", false);
  return fmt::format("/tools/{}{}", index, is_flat ? "" : "/function");
}

class tool_call_writer {
 public:
  tool_call_writer(const json_schema::schema_options& options, const grammar_limits& limits)
      : options_(options), limits_(limits), builder_(limits) {}

  result<grammar_builder> write(const json& document) {
    const auto tools = document.find("tools");
    if (tools == document.end() || !tools->is_array() || tools->empty())
      return wrong_tools("/tools", "no tools");
    limits_.max_compile_steps /= tools->size();  // which they share
    const json allowed = document.value("allowed", json::array());
    for (std::size_t i = 0; i < tools->size(); ++i)
      if (auto added = add((*tools)[i], allowed, place_of((*tools)[i], i)); !added)
        return tl::unexpected(added.error());
    const auto start = text(document);
    if (!start) return tl::unexpected(start.error());
    builder_.set_start(*start);
    return std::move(builder_);
  }

 private:
  // `allowed`: the names of those that may be called; empty: all may.
  result<void> add(const json& tool, const json& allowed, const std::string& at) {
    const json function = tool.value("function", json());
    if (!function.is_object() || !function.value("name", json()).is_string() ||
        !function.contains("parameters"))
      return wrong_tools(at, "no function with a name and parameters");
    const json& name = function["name"];
    if (!allowed.empty() && std::ranges::find(allowed, name) == allowed.end()) return {};
    auto arguments =
        arguments_of(function["parameters"], at + "/parameters", function.value("strict", false));
    if (!arguments) return tl::unexpected(arguments.error());
    tools_.push_back({fmt::format("{}{}{}", tool_call_form::before_name, name.get_ref<const std::string&>(),
                                  tool_call_form::before_arguments),
                      *arguments});
    return {};
  }

  // Who offers tools has not always written their schemas: what of them cannot be enforced is left out, word
  // by word, unless the tool is strict. All readings together have the steps of one.
  result<symbol_id> arguments_of(json parameters, const std::string& at, bool strict) {
    json_schema::leave_out_unset(parameters);
    json_schema::schema_options options = options_;
    options.only_objects = true;
    step_budget steps(limits_.max_compile_steps);
    const auto read = [&] { return schema_symbol(builder_, parameters, at, options, limits_, steps); };
    auto symbol = read();
    for (std::size_t i = 0; !symbol && !strict && !builder_.failure() && i < most_left_out; ++i) {
      error why = symbol.error();
      if (!why.param.starts_with(at)) break;
      why.param.erase(0, at.size());
      if (!json_schema::leave_out(parameters, why, limits_)) break;
      symbol = read();
    }
    return symbol;
  }

  result<symbol_id> text(const json& document) {
    const bool only_once = document.value("only_once", false);
    const auto response = document.find("response");
    if (document.value("must_call", false)) return calls(only_once);
    if (response == document.end()) return text_with_calls(only_once);
    const auto answer = schema_symbol(builder_, *response, "", options_, limits_);
    if (!answer) return answer;
    return builder_.choice({*answer, calls(only_once)});
  }

  symbol_id calls(bool only_once) {
    std::vector<symbol_id> each;
    for (const called_tool& tool : tools_)
      each.push_back(builder_.sequence({builder_.literal(tool.begin, true), tool.arguments,
                                        builder_.literal(tool_call_form::after_arguments, true)}));
    return builder_.list(builder_.choice(each), builder_.literal(tool_call_form::between_calls, true), 1,
                         only_once ? 1 : unbounded);
  }

  result<symbol_id> text_with_calls(bool only_once) {
    structural_tags spec;
    spec.triggers.emplace_back(tool_call_form::opening);
    spec.stop_after_first = only_once;
    for (const called_tool& tool : tools_)
      spec.tags.push_back({tool.begin, tool.arguments, std::string(tool_call_form::after_arguments)});
    return structural_tag_symbol(builder_, spec);
  }

  json_schema::schema_options options_;
  grammar_limits limits_;  // of one tool
  grammar_builder builder_;
  std::vector<called_tool> tools_;
};

}  // namespace

result<grammar_builder> tool_call_grammar(std::string_view text, const json_schema::schema_options& options,
                                          const grammar_limits& limits) {
  const auto document =
      read_json(text, {.max_depth = limits.max_depth, .max_values = limits.max_schema_values},
                {.everywhere = true}, "tools: their text");
  if (!document) return tl::unexpected(document.error());
  if (!document->is_object()) return wrong_tools("", "not an object");
  return tool_call_writer(options, limits).write(*document);
}

}  // namespace troupe::grammar
