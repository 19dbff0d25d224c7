// How a call of a tool is written by models whose chat templates explain it as Qwen 2.5's does
// (https://huggingface.co/Qwen/Qwen2.5-0.5B-Instruct, tokenizer_config.json):
//   <tool_call>
//   {"name": "NAME", "arguments": {...}}
//   </tool_call>
// with the white space shown; arguments may have their own.
#pragma once
#include <string_view>

namespace troupe::grammar {

struct tool_call_form {
  static constexpr std::string_view opening = "<tool_call>";
  static constexpr std::string_view before_name = "<tool_call>\n{\"name\": \"";
  static constexpr std::string_view before_arguments = "\", \"arguments\": ";
  static constexpr std::string_view after_arguments = "}\n</tool_call>";
  static constexpr std::string_view between_calls = "\n";
};

}  // namespace troupe::grammar
