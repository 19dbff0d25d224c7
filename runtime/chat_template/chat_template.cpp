#include "runtime/chat_template/chat_template.hpp"

#include <fmt/format.h>

#include <utility>

#include "runtime/chat_template/evaluator.hpp"
#include "runtime/chat_template/parser.hpp"
#include "runtime/reasoning.hpp"

namespace troupe {
namespace {

// https://github.com/openai/openai-python/blob/release-v0.28.0/chatml.md, as Hugging Face writes it.
constexpr std::string_view chatml_source =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + "
    "'<|im_end|>' + '\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

}  // namespace

struct chat_template::program {
  std::string source;
  jinja::block statements;
  template_limits limits;
};

result<chat_template> chat_template::compile(std::string_view source, template_limits limits) {
  if (source.size() > limits.max_source) {
    return fail(error_code::unsupported, fmt::format("the chat template has {} bytes; the most is {}",
                                                     source.size(), limits.max_source));
  }
  auto statements = jinja::parse_template(source, limits.max_depth);
  if (!statements) return tl::unexpected(statements.error());
  chat_template compiled;
  compiled.program_ =
      std::make_shared<const program>(program{std::string(source), std::move(*statements), limits});
  compiled.reasons_ = source.find(reasoning_marks::closing) != std::string_view::npos;
  compiled.traits_ = find_traits(compiled);
  return compiled;
}

chat_template chat_template::chatml() { return *compile(chatml_source); }

chat_template chat_template::with_arguments(json arguments) const {
  chat_template other = *this;
  other.arguments_ = std::move(arguments);
  return other;
}

chat_template chat_template::with_reasoning(bool reasons) const {
  chat_template other = *this;
  other.reasons_ = reasons;
  return other;
}

chat_template chat_template::with_tool_use(chat_template for_tools) const {
  chat_template other = *this;
  other.reasons_ = reasons_ || for_tools.reasons_;
  other.tool_use_ = std::make_shared<const chat_template>(std::move(for_tools));
  return other;
}

std::string_view chat_template::source() const { return program_->source; }

result<std::string> chat_template::render(const json& context, const std::optional<std::tm>& now) const {
  const auto globals = jinja::from_json(context);
  if (!globals || !globals->entries()) {
    return fail(error_code::invalid_argument, "the messages are nested too deeply", "messages");
  }
  jinja::budget spent(program_->limits);
  std::string text;
  jinja::evaluator(spent, *globals->entries(), now).run(program_->statements, text);
  if (spent.failed()) return tl::unexpected(*spent.failure());
  return text;
}

}  // namespace troupe
