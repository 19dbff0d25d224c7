#include "runtime/openai/grammar_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/grammar/notations/structural_tag_json.hpp"
#include "runtime/json/exact_number.hpp"
#include "runtime/openai/schema_warnings.hpp"

namespace troupe::openai {
namespace {

constexpr std::size_t max_source_bytes = 64U << 20U;  // a body's; what a grammar may cost is limited later

constexpr std::size_t longest_told_name = 64;

// Collects the one thing that a body asks for.
class grammar_reader {
 public:
  explicit grammar_reader(field_reader& fields) : fields_(fields) {}

  void read_response_format() {
    const json* const format = fields_.find("response_format");
    if (format == nullptr) return;
    const auto type = format->is_object() ? format->find("type") : format->end();
    if (!format->is_object() || type == format->end() || !type->is_string())
      return reject("response_format", "response_format must be an object with a \"type\"");
    const auto& name = type->get_ref<const std::string&>();
    if (name == "text") return;
    if (name == "json_object") return read_json_object(*format);
    if (name == "json_schema") return read_json_schema(*format);
    if (name == "structural_tag") return take_tags("response_format", *format);
    reject("response_format",
           "the type of response_format must be \"text\", \"json_object\", \"json_schema\" or "
           "\"structural_tag\"");
  }

  // Whoever says more, such as a schema, wants what it does not do.
  void read_json_object(const json& format) {
    for (const auto& [name, value] : format.items())
      if (name != "type" && !value.is_null())
        return reject("response_format",
                      fmt::format("response_format of type \"json_object\" has no \"{}\"; a "
                                  "schema is given by type \"json_schema\"",
                                  name.substr(0, longest_told_name)));
    take("response_format", {.kind = grammar_kind::json_object});
  }

  void read_structured_outputs() {
    const json* const wanted = fields_.find("structured_outputs");
    if (wanted == nullptr) return;
    if (!wanted->is_object()) return reject("structured_outputs", "structured_outputs must be an object");
    for (const auto& [name, value] : wanted->items()) {
      const std::string path = "structured_outputs." + name;
      if (value.is_null() || read_option(path, name, value)) continue;
      // A name that is not known may be anybody's text, which stays out of the log.
      if (!read_kind(path, name, value))
        return reject("structured_outputs",
                      fmt::format("structured_outputs has a member \"{}\" that is not known",
                                  name.substr(0, longest_told_name)));
    }
    if (!spec_ && fields_.ok())
      reject("structured_outputs",
             "structured_outputs needs one of json, regex, choice, grammar, json_object and structural_tag");
  }

  void read_guided() {
    // llama.cpp's and SGLang's names.
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> others{
        {{"grammar", "grammar"}, {"ebnf", "grammar"}, {"json_schema", "json"}, {"regex", "regex"}}};
    for (const auto& [name, kind] : others)
      if (const json* const value = fields_.find(name); value != nullptr && *value != "" && *value != false)
        read_kind(std::string(name), kind, *value);
    for (const std::string_view name : {"json", "regex", "choice", "grammar", "json_object"}) {
      const std::string path = "guided_" + std::string(name);
      if (const json* const value = fields_.find(path)) read_kind(path, name, *value);
    }
    if (const json* const value = fields_.find("structural_tag"))
      read_kind("structural_tag", "structural_tag", *value);
    if (const json* const value = fields_.find("guided_whitespace_pattern"))
      read_option("guided_whitespace_pattern", "whitespace_pattern", *value);
  }

  grammar_spec_ptr finish() {
    if (!spec_ || !fields_.ok()) return nullptr;
    json_.fixed_order = fixed_order_.value_or(is_response_schema_);
    json_.plain_integers = plain_integers_.value_or(is_response_schema_);
    spec_->json = json_;
    return std::make_shared<const grammar_spec>(std::move(*spec_));
  }

 private:
  void reject(std::string_view name, std::string message) { fields_.reject(name, std::move(message)); }

  void take(const std::string& path, grammar_spec spec) {
    if (spec_) return reject(path, fmt::format("{} and {} cannot both be asked for", from_, path));
    from_ = path;
    spec_ = std::move(spec);
  }

  void take_tags(const std::string& path, const json& tags) {
    take(path, {.kind = grammar_kind::structural_tag,
                .text = dump_exactly(tags),
                .warnings = warnings_about(grammar::unknown_words_in_tags(tags, most_schema_warnings))});
  }

  void read_json_schema(const json& format) {
    const auto outer = format.find("json_schema");
    const bool has_schema = outer != format.end() && outer->is_object() && outer->contains("schema");
    if (!has_schema)
      return reject("response_format.json_schema",
                    "response_format needs \"json_schema\": {\"schema\": ...}");
    const auto strict = outer->find("strict");
    if (strict != outer->end() && !strict->is_null() && !strict->is_boolean())
      return reject("response_format.json_schema.strict", "strict must be true or false");
    is_response_schema_ = true;
    read_kind("response_format.json_schema.schema", "json", (*outer)["schema"]);
  }

  // Whether `name` is one of vLLM's kinds.
  bool read_kind(const std::string& path, std::string_view name, const json& value) {
    if (name == "json") {
      // As vLLM: a schema, or its text.
      if (value.is_string()) {
        const bool is_known = read_text(path, grammar_kind::json_schema, value);
        if (spec_ && fields_.ok())
          spec_->warnings =
              warnings_about(json_schema::unknown_words_in_text(spec_->text, most_schema_warnings));
        return is_known;
      }
      if (value.is_object() || value.is_boolean())
        take(path, {.kind = grammar_kind::json_schema,
                    .text = dump_exactly(value),
                    .warnings = warnings_about(json_schema::unknown_words(value, most_schema_warnings))});
      else
        reject(path, path + " must be a JSON Schema");
      return true;
    }
    if (name == "json_object") {
      if (!value.is_boolean()) reject(path, path + " must be true or false");
      if (value == true) take(path, {.kind = grammar_kind::json_object});
      return true;
    }
    if (name == "choice") return read_choice(path, value);
    if (name == "regex") return read_text(path, grammar_kind::regex, value);
    if (name == "grammar") return read_text(path, grammar_kind::grammar, value);
    if (name != "structural_tag") return false;
    if (value.is_object()) {
      take_tags(path, value);
      return true;
    }
    const bool is_known = read_text(path, grammar_kind::structural_tag, value);
    if (spec_ && fields_.ok())
      if (const auto tags = read_json(spec_->text, {}, {.everywhere = true}))
        spec_->warnings = warnings_about(grammar::unknown_words_in_tags(*tags, most_schema_warnings));
    return is_known;
  }

  bool read_text(const std::string& path, grammar_kind kind, const json& value) {
    if (!value.is_string() || value.get_ref<const std::string&>().empty())
      reject(path, path + " must be a string that is not empty");
    else if (value.get_ref<const std::string&>().size() > max_source_bytes)
      reject(path, fmt::format("{} is longer than {} bytes", path, max_source_bytes));
    else
      take(path, {.kind = kind, .text = value.get<std::string>()});
    return true;
  }

  bool read_choice(const std::string& path, const json& value) {
    grammar_spec spec{.kind = grammar_kind::choice};
    if (value.is_array()) {
      spec.choices.reserve(value.size());
      for (const json& text : value)
        if (text.is_string()) spec.choices.push_back(text.get<std::string>());
    }
    if (!value.is_array() || value.empty() || spec.choices.size() != value.size())
      reject(path, path + " must be an array of strings that is not empty");
    else
      take(path, std::move(spec));
    return true;
  }

  // Whether `name` is an option that is on or off. Of vLLM's, disable_additional_properties is so unless
  // closed_objects says otherwise, since its clients send a false that nobody has meant; disable_fallback
  // holds in any case, since nothing else enforces a grammar here, and _backend_was_auto is its own note.
  bool read_flag(const std::string& path, std::string_view name, const json& value) {
    constexpr std::array<std::string_view, 8> flags{"disable_any_whitespace", "fixed_order",
                                                    "closed_objects",         "plain_integers",
                                                    "short_numbers",          "disable_additional_properties",
                                                    "disable_fallback",       "_backend_was_auto"};
    if (std::ranges::find(flags, name) == flags.end()) return false;
    if (!value.is_boolean()) reject(path, path + " must be true or false");
    if (name == "fixed_order") fixed_order_ = value == true;
    if (name == "plain_integers") plain_integers_ = value == true;
    if (name == "closed_objects") json_.closed_objects = value == true;
    if (name == "short_numbers") json_.short_numbers = value == true;
    if (name == "disable_any_whitespace" && value == true) json_.max_white_space = 0;
    return true;
  }

  // Whether `name` is an option beside the kinds: vLLM's, and max_white_space, fixed_order, plain_integers,
  // closed_objects and short_numbers of our own.
  bool read_option(const std::string& path, std::string_view name, const json& value) {
    constexpr std::int64_t most_white_space = 1024;
    if (read_flag(path, name, value)) return true;
    if (name == "max_white_space") {
      const auto number = as_integer(value);
      if (number && *number >= 0 && *number <= most_white_space)
        json_.max_white_space = static_cast<std::uint32_t>(*number);
      else
        reject(path, fmt::format("{} must be an integer from 0 to {}", path, most_white_space));
      return true;
    }
    if (name == "whitespace_pattern")
      reject(path, path + " is not supported: bound it by structured_outputs.max_white_space");
    else if (name == "_backend")
      reject(path, path + " is not supported: there is one, which no request chooses");
    else
      return false;
    return true;
  }

  field_reader& fields_;
  std::optional<grammar_spec> spec_;
  std::string from_;  // where in the body spec_ stood
  json_schema::schema_options json_{.closed_objects = true, .short_numbers = true};
  std::optional<bool> fixed_order_, plain_integers_;  // as asked for
  bool is_response_schema_ = false;                   // response_format: whose clients count on both of these
};

}  // namespace

grammar_spec_ptr read_grammar(field_reader& fields) {
  grammar_reader reader(fields);
  reader.read_response_format();
  reader.read_structured_outputs();
  reader.read_guided();
  return reader.finish();
}

}  // namespace troupe::openai
