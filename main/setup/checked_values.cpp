#include "main/setup/checked_values.hpp"

#include "actors/net/http/cross_origin.hpp"
#include "actors/start/load_chat_template.hpp"
#include "main/setup/trace_options.hpp"
#include "runtime/bucketing/bucket_file.hpp"
#include "runtime/bucketing/text_file.hpp"
#include "runtime/chat_template/template_arguments.hpp"
#include "runtime/drafting/speculative_config.hpp"
#include "runtime/openai/models.hpp"

namespace troupe {
namespace {

result<void> check_drafts(const config::settings& settings) {
  const std::string& text = settings.speculative_config;
  if (text.empty() || text == "off") return {};
  return parse_speculative_config(text).map([](const speculative_config&) {});
}

result<void> check_chat_template(const config::settings& settings, const config::file_observer& before_file) {
  if (settings.chat_template.empty()) return {};
  before_file(settings.chat_template);
  return read_chat_template(settings.chat_template).map([](const chat_template&) {});
}

// Beside unified buckets it is refused by whoever makes them, whatever it holds.
result<void> check_bucket_file(const config::loaded_settings& loaded,
                               const config::file_observer& before_file) {
  const config::settings& settings = loaded.values;
  if (settings.bucketing_from_file.empty() || settings.bucketing_strategy == "unified") return {};
  before_file(settings.bucketing_from_file);
  const auto text = read_text_file(settings.bucketing_from_file, max_bucket_file_bytes);
  if (!text)
    return fail(text.error().code, "bucketing_from_file cannot be used: " + text.error().message,
                "bucketing_from_file");
  return parse_buckets(*text, settings.bucketing_from_file).map([](const auto&) {});
}

result<void> check_model_names(const std::string& names) {
  if (names.empty()) return {};
  return openai::read_model_names(names).map([](const auto&) {});
}

}  // namespace

tl::expected<void, std::string> check_values(const config::loaded_settings& loaded,
                                             const config::file_observer& before_file) {
  const auto told = [&loaded](const char* option, const error& wrong) {
    return tl::unexpected(config::origin_of(loaded, option) + ": " + wrong.message);
  };
  if (const auto checked = parse_template_arguments(loaded.values.default_chat_template_kwargs); !checked)
    return told("default_chat_template_kwargs", checked.error());
  if (const auto checked = check_chat_template(loaded.values, before_file); !checked)
    return told("chat_template", checked.error());
  if (const auto checked = check_model_names(loaded.values.served_model_name); !checked)
    return told("served_model_name", checked.error());
  if (const auto checked = net::read_origins(loaded.values.cors_origins); !checked)
    return told("cors_origins", checked.error());
  if (const auto checked = check_drafts(loaded.values); !checked)
    return told("speculative_config", checked.error());
  if (const auto checked = check_bucket_file(loaded, before_file); !checked)
    return told("bucketing_from_file", checked.error());
  if (const auto checked = to_trace_options(loaded.values); !checked)
    return told(checked.error().param.c_str(), checked.error());
  return {};
}

}  // namespace troupe
