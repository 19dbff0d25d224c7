#include "actors/start/load_chat_template.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <string_view>
#include <utility>

#include "runtime/bucketing/text_file.hpp"
#include "runtime/reasoning.hpp"

namespace troupe {
namespace {

constexpr const char* template_key = "tokenizer.chat_template";
// A second one, for chats that offer tools, by the name that transformers gives it.
constexpr const char* tool_use_key = "tokenizer.chat_template.tool_use";

result<chat_template> compile(std::string_view source, std::string_view from) {
  result<chat_template> compiled = chat_template::compile(source);
  if (!compiled) return fail(compiled.error().code, fmt::format("{}: {}", from, compiled.error().message));
  return compiled;
}

result<chat_template> template_of(const gguf::file& model, const std::string& path) {
  if (!path.empty()) return read_chat_template(path);
  if (model.find(template_key) == nullptr) {
    spdlog::warn("the model has no chat template: ChatML is used");
    return chat_template::chatml();
  }
  const result<std::string_view> source = model.get_string(template_key);
  if (!source) return tl::unexpected<error>(source.error());
  return compile(*source, template_key);
}

// A model is served without its second template where that cannot be used.
chat_template with_tool_use(chat_template first, const gguf::file& model) {
  if (model.find(tool_use_key) == nullptr) return first;
  const auto second = model.get_string(tool_use_key).and_then([](std::string_view source) {
    return compile(source, tool_use_key);
  });
  if (!second) {
    spdlog::warn("the model's chat template for tools is not used: {}", second.error().message);
    return first;
  }
  if (!second->writes_tool_calls()) {
    spdlog::info("the model's chat template for tools ({}) is not used: it writes calls in a form of its own",
                 tool_use_key);
    return first;
  }
  spdlog::info("the model has two chat templates: {} is used for chats with tools", tool_use_key);
  return first.with_tool_use(*second);
}

// Whether the end of it would not be seen, since control tokens are not shown.
bool hides_reasoning(const tokenizer& vocabulary) {
  const auto closing = vocabulary.find(reasoning_marks::closing);
  return closing && vocabulary.is_special(*closing);
}

}  // namespace

result<chat_template> read_chat_template(const std::string& path) {
  const auto source = read_text_file(path, template_limits{}.max_source);
  if (!source) return tl::unexpected<error>(source.error());
  return compile(*source, path);
}

result<chat_template> load_chat_template(const gguf::file& model, const tokenizer& vocabulary,
                                         const engine_options& options) {
  auto loaded = template_of(model, options.chat_template_path);
  if (!loaded) return loaded;
  if (options.chat_template_path.empty()) loaded = with_tool_use(std::move(*loaded), model);
  const chat_template chosen = loaded->with_arguments(options.template_arguments);
  const bool reasons = options.reasons.value_or(chosen.reasons());
  const bool is_hidden = reasons && hides_reasoning(vocabulary);
  if (is_hidden)
    spdlog::warn("{} is no text in this model: what it thinks is not told from its answers",
                 reasoning_marks::closing);
  return chosen.with_reasoning(reasons && !is_hidden);
}

}  // namespace troupe
