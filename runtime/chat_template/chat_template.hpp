// The model file's own chat template (a Jinja subset), rendered with limits on steps, depth and output.
#pragma once
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/chat_template/template_traits.hpp"
#include "runtime/json/json.hpp"
#include "runtime/result.hpp"

namespace troupe {

struct template_limits {
  std::size_t max_steps = 1'000'000;    // evaluated nodes
  std::size_t max_depth = 64;           // nesting of blocks and expressions, in the source and at run time
  std::size_t max_output = 64U << 20U;  // bytes
  std::size_t max_source = 1U << 20U;   // bytes of the template itself
};

// Compiled once, immutable, safe to share between threads.
class chat_template {
 public:
  // Errors: unsupported (a construct outside the subset) or invalid_argument, with line and column.
  static result<chat_template> compile(std::string_view source, template_limits limits = {});
  // The template of a model that has none: ChatML.
  static chat_template chatml();

  // With arguments (template_arguments.hpp) that chats have which set none of that name themselves.
  chat_template with_arguments(json arguments) const;
  const json& arguments() const { return arguments_; }  // null: none

  // Renders with `context` as the global variables: messages, add_generation_prompt, bos_token, eos_token,
  // tools, ... `now`: the local time that strftime_now() tells; without it templates find no such function.
  // Errors: invalid_argument (raise_exception, a type error), resource limits by name.
  result<std::string> render(const json& context, const std::optional<std::tm>& now = std::nullopt) const;

  std::string_view source() const;

  // Whether it offers `tools` and writes their calls in the form of
  // runtime/grammar/notations/tool_call_form.hpp.
  bool writes_tool_calls() const { return traits_.writes_tool_calls; }

  // Whether it has a way of its own for messages of the role `developer`.
  bool knows_developers() const { return traits_.knows_developers; }

  // Whether it refuses a second system message behind a first one, or leaves one of them out.
  bool takes_one_system_message() const { return traits_.takes_one_system_message; }

  // With another for chats that offer tools, as files of models may have two. What the one or the other tells
  // of reasoning, and the arguments, are of both.
  chat_template with_tool_use(chat_template for_tools) const;
  // For chats that offer tools: that one, else itself.
  const chat_template& for_tools() const { return tool_use_ ? *tool_use_ : *this; }

  // Whether it is one of a model that may reason before it answers (runtime/reasoning.hpp): by its words, or
  // as said here.
  bool reasons() const { return reasons_; }
  chat_template with_reasoning(bool reasons) const;

 private:
  struct program;
  std::shared_ptr<const program> program_;
  std::shared_ptr<const chat_template> tool_use_;
  json arguments_ = nullptr;
  template_traits traits_;
  bool reasons_ = false;
};

}  // namespace troupe
