// The model file's own chat template (a Jinja subset), rendered with limits on steps, depth and output.
#pragma once
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

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

  // Whether it offers `tools` and has their calls written in the form of
  // runtime/grammar/notations/tool_calls.hpp.
  bool writes_tool_calls() const;

  // Whether it is one of a model that may reason before it answers (runtime/reasoning.hpp): by its words, or
  // as said here.
  bool reasons() const { return reasons_; }
  chat_template with_reasoning(bool reasons) const;

 private:
  struct program;
  std::shared_ptr<const program> program_;
  json arguments_ = nullptr;
  bool reasons_ = false;
};

}  // namespace troupe
