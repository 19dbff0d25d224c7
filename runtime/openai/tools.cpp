#include "runtime/openai/tools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/grammar/json_schema/document/unknown_words.hpp"
#include "runtime/json/exact_number.hpp"
#include "runtime/openai/schema_warnings.hpp"

namespace troupe::openai {
namespace {

constexpr std::size_t most_tools = 128;  // as OpenAI
constexpr std::size_t longest_name = 128;

bool is_tool_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-.:/").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= longest_name && std::ranges::all_of(name, allowed);
}

// Arguments are an object.
result<json> schema_of_arguments(json parameters) {
  if (parameters.empty()) parameters = {{"properties", json::object()}};
  const auto type = parameters.find("type");
  const bool may_be_object = type == parameters.end() || type->is_null() || *type == "object" ||
                             (type->is_array() && std::ranges::find(*type, "object") != type->end());
  if (!may_be_object) return fail(error_code::invalid_argument, ".parameters must be of the type \"object\"");
  parameters["type"] = "object";
  return parameters;
}

// The text may be a client's, and need not be JSON.
result<json> schema_in(const std::string& text) {
  auto schema = read_json(text, {}, {.everywhere = true}, "the JSON Schema");
  if (schema && !schema->is_object() && !schema->is_boolean())
    return fail(error_code::invalid_argument, "a JSON Schema is an object or a Boolean");
  return schema;
}

// Functions stand in a member of tools and choices, or, as /v1/responses has it, they are these themselves.
bool is_flat(const json& tool) { return !tool.contains("function") && tool.contains("name"); }

json function_of(const json& tool) { return is_flat(tool) ? tool : tool.value("function", json()); }

// As templates know them.
json nested(json tool) {
  if (!is_flat(tool)) return tool;
  tool.erase("type");
  return {{"type", "function"}, {"function", std::move(tool)}};
}

// Of a "tool_choice", nullptr where there is none.
bool asks_for_no_call(const json* choice) {
  return choice == nullptr || says_nothing(*choice) || *choice == "auto" || *choice == "none";
}

class tools_reader {
 public:
  tools_reader(field_reader& fields, const grammar_spec_ptr& asked) : fields_(fields), asked_(asked) {}

  // null: nothing, or something is wrong.
  json read_offered() {
    const json* const tools = fields_.find("tools");
    const bool has_tools = tools != nullptr && !says_nothing(*tools);
    if (has_tools) read_functions(*tools);
    const bool is_on = read_choice(has_tools);
    fields_.read("parallel_tool_calls", parallel_);
    return has_tools && is_on && fields_.ok() ? for_template(*tools) : json(nullptr);
  }

  tool_use read() {
    json offered = read_offered();
    if (offered.is_null()) return {.grammar = asked_};
    return {.offered = std::move(offered), .grammar = grammar()};
  }

 private:
  void reject(std::string_view at, std::string_view what) {
    fields_.reject(at.substr(0, at.find('[')), fmt::format("{}{}", at, what));
  }

  void read_functions(const json& tools) {
    if (!tools.is_array()) return reject("tools", " must be an array");
    if (tools.size() > most_tools) return reject("tools", fmt::format(" holds more than {}", most_tools));
    for (std::size_t i = 0; i < tools.size() && fields_.ok(); ++i)
      read_function(tools[i], fmt::format("tools[{}]", i));
  }

  void read_function(const json& tool, const std::string& at) {
    if (!tool.is_object() || tool.value("type", json()) != "function")
      return reject(at, ".type must be \"function\": no other tools are served");
    const json function = function_of(tool);
    if (!function.is_object()) return reject(at, ".function must be an object");
    add_function(function, is_flat(tool) ? at : at + ".function");
  }

  void add_function(const json& function, const std::string& at) {
    const json name = function.value("name", json());
    if (!name.is_string() || !is_tool_name(name.get_ref<const std::string&>()))
      return reject(at, fmt::format(".name must be 1 to {} letters, digits and '_-.:/'", longest_name));
    if (is_known(name)) return reject(at, ".name names a function that is there already");
    const json description = function.value("description", json());
    if (!description.is_null() && !description.is_string())
      return reject(at, ".description must be a string");
    const json strict = function.value("strict", json());
    if (!strict.is_null() && !strict.is_boolean()) return reject(at, ".strict must be true or false");
    const json parameters = function.value("parameters", json());
    if (!parameters.is_null() && !parameters.is_object())
      return reject(at, ".parameters must be a JSON Schema, an object");
    auto arguments = schema_of_arguments(parameters);
    if (!arguments) return reject(at, arguments.error().message);
    json known{{"name", name}, {"parameters", std::move(*arguments)}};
    if (strict == true) known["strict"] = true;
    functions_.push_back({{"function", std::move(known)}});
    if (!at.ends_with(".function")) functions_.back()["flat"] = true;
  }

  bool is_known(const json& name) const {
    return std::ranges::any_of(functions_,
                               [&](const json& known) { return known["function"]["name"] == name; });
  }

  // Whether tools are offered at all.
  bool read_choice(bool has_tools) {
    const json* const choice = fields_.find("tool_choice");
    if (choice != nullptr && *choice == "none") return false;
    if (asks_for_no_call(choice)) return true;
    if (!has_tools) {
      reject("tool_choice", " needs tools");
    } else if (*choice == "required") {
      must_call_ = true;
    } else if (choice->is_object() && choice->value("type", json()) == "function") {
      read_named(*choice);
    } else if (choice->is_object() && choice->value("type", json()) == "allowed_tools") {
      read_allowed(choice->value("allowed_tools", *choice));
    } else {
      reject("tool_choice",
             " must be \"none\", \"auto\", \"required\", {\"type\": \"function\", ...} with a name, or "
             "{\"type\": \"allowed_tools\", ...}");
    }
    return true;
  }

  void read_named(const json& choice) {
    if (!allow(choice)) return reject("tool_choice", " names none of the tools");
    must_call_ = true;
    only_once_ = true;
  }

  // {"mode": "auto", "tools": [{"type": "function", ...}, ...]}
  void read_allowed(const json& allowed) {
    const json mode = allowed.is_object() ? allowed.value("mode", json("auto")) : json();
    if (mode != "auto" && mode != "required")
      return reject("tool_choice", " of allowed tools needs a mode, \"auto\" or \"required\"");
    const json tools = allowed.value("tools", json());
    if (!tools.is_array() || tools.empty() || tools.size() > most_tools)
      return reject("tool_choice", fmt::format(" of allowed tools needs tools, {} at most", most_tools));
    for (const json& tool : tools)
      if (!allow(tool)) return reject("tool_choice", " allows a tool that is none of the tools");
    must_call_ = mode == "required";
  }

  // Whether there is such a one.
  bool allow(const json& tool) {
    const json function = tool.is_object() ? function_of(tool) : json();
    const json name = function.is_object() ? function.value("name", json()) : json();
    if (!is_known(name)) return false;
    if (std::ranges::find(allowed_, name) == allowed_.end()) allowed_.push_back(name);
    return true;
  }

  static json for_template(const json& tools) {
    json offered = json::array();
    for (const json& tool : tools) offered.push_back(nested(tool));
    return offered;
  }

  grammar_spec_ptr grammar() {
    grammar_spec spec = asked_ ? *asked_ : grammar_spec{.json = json_schema::as_clients_expect};
    std::string response;
    if (asked_ && spec.kind == grammar_kind::json_schema) {
      const auto schema = schema_in(spec.text);
      if (!schema) {
        fields_.reject(schema.error().param, schema.error().message);
        return nullptr;
      }
      response = dump_exactly(*schema);
    }
    if (asked_ && spec.kind == grammar_kind::json_object) response = R"({"type": "object"})";
    if (asked_ && response.empty()) {
      fields_.reject("tools", fmt::format("tools cannot be used beside a {}", to_string(spec.kind)));
      return nullptr;
    }
    if (must_call_) {
      response.clear();
      spec.warnings.clear();
    }
    spec.kind = grammar_kind::tool_calls;
    spec.text = fmt::format(R"({{"tools":{},"allowed":{},"must_call":{},"only_once":{}{}{}}})",
                            dump_exactly(functions_), allowed_.dump(), must_call_, !parallel_ || only_once_,
                            response.empty() ? "" : R"(,"response":)", response);
    spec.choices.clear();
    add_warnings(spec);
    return std::make_shared<const grammar_spec>(std::move(spec));
  }

  void add_warnings(grammar_spec& spec) const {
    for (std::size_t i = 0; i < functions_.size() && spec.warnings.size() < most_schema_warnings; ++i) {
      auto words = json_schema::unknown_words(functions_[i]["function"]["parameters"],
                                              most_schema_warnings - spec.warnings.size());
      for (json_schema::unknown_word& word : words)
        word.pointer.insert(
            0, fmt::format("/tools/{}{}/parameters", i, functions_[i].contains("flat") ? "" : "/function"));
      std::ranges::move(warnings_about(words), std::back_inserter(spec.warnings));
    }
  }

  field_reader& fields_;
  const grammar_spec_ptr& asked_;
  json functions_ = json::array();  // what is to be known of them when a grammar is made
  bool parallel_ = true;
  bool must_call_ = false;
  bool only_once_ = false;
  json allowed_ = json::array();  // the names of those that may be called; empty: all may
};

}  // namespace

json read_offered_tools(field_reader& fields) { return tools_reader(fields, nullptr).read_offered(); }

void refuse_tools(field_reader& fields) {
  const json* const choice = fields.find("tool_choice");
  if (const json* const tools = fields.find("tools"); tools != nullptr && !says_nothing(*tools))
    fields.reject("tools", "tools are for chats");
  if (!asks_for_no_call(choice)) fields.reject("tool_choice", "tool_choice is for chats");
}

tool_use read_tools(field_reader& fields, const grammar_spec_ptr& asked) {
  return tools_reader(fields, asked).read();
}

}  // namespace troupe::openai
