#include "runtime/grammar/tool_calls.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/grammar/embedded_schema.hpp"
#include "runtime/grammar/structural_tag.hpp"
#include "runtime/grammar/tool_call_form.hpp"
#include "runtime/openai/json_reader.hpp"

namespace troupe::grammar {

namespace {

using openai::json;

tl::unexpected<error> wrong(const std::string& at, const std::string& what) {
  return fail(error_code::invalid_argument, fmt::format("tools: {} (at \"{}\")", what, at), at);
}

struct called_tool {
  std::string begin;
  symbol_id arguments{};
};

class tool_call_writer {
 public:
  tool_call_writer(const json_schema::schema_options& options, const grammar_limits& limits)
      : options_(options), limits_(limits), builder_(limits) {}

  result<grammar_builder> write(const json& document) {
    const auto tools = document.find("tools");
    if (tools == document.end() || !tools->is_array() || tools->empty()) return wrong("/tools", "no tools");
    limits_.max_compile_steps /= tools->size();  // which they share
    const std::string only = document.value("only", "");
    for (std::size_t i = 0; i < tools->size(); ++i)
      if (auto added = add((*tools)[i], only, fmt::format("/tools/{}/function", i)); !added)
        return tl::unexpected(added.error());
    const auto start = text(document);
    if (!start) return tl::unexpected(start.error());
    builder_.set_start(*start);
    return std::move(builder_);
  }

 private:
  result<void> add(const json& tool, const std::string& only, const std::string& at) {
    const json function = tool.value("function", json());
    if (!function.is_object() || !function.value("name", json()).is_string() ||
        !function.contains("parameters"))
      return wrong(at, "no function with a name and parameters");
    const auto& name = function["name"].get_ref<const std::string&>();
    if (!only.empty() && name != only) return {};
    auto arguments = schema_symbol(builder_, function["parameters"], at + "/parameters", options_, limits_);
    if (!arguments) return tl::unexpected(arguments.error());
    tools_.push_back(
        {fmt::format("{}{}{}", tool_call_form::before_name, name, tool_call_form::before_arguments),
         *arguments});
    return {};
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
      openai::read_json(text, {.max_depth = limits.max_depth, .max_values = limits.max_schema_values},
                        {.everywhere = true}, "tools: their text");
  if (!document) return tl::unexpected(document.error());
  if (!document->is_object()) return wrong("", "not an object");
  return tool_call_writer(options, limits).write(*document);
}

}  // namespace troupe::grammar
