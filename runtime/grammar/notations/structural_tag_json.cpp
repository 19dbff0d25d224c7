#include "runtime/grammar/notations/structural_tag_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/grammar/notations/embedded_schema.hpp"
#include "runtime/grammar/notations/structural_tag.hpp"
#include "runtime/grammar/regex/regex_syntax.hpp"
#include "runtime/json/json_reader.hpp"

namespace troupe::grammar {

namespace {

constexpr std::size_t longest_told_name = 64;

tl::unexpected<error> wrong(const std::string& at, const std::string& what,
                            error_code code = error_code::invalid_argument) {
  return fail(code, fmt::format("structural tags: {} (at \"{}\")", what, at), at);
}

class reader {
 public:
  reader(const json_schema::schema_options& options, const grammar_limits& limits)
      : options_(options), limits_(limits), builder_(limits) {}

  result<grammar_builder> read(const json& document) {
    if (!document.is_object()) return wrong("", "not an object");
    auto read = document.contains("structures") ? read_structures(document) : read_format(document);
    if (!read) return tl::unexpected(std::move(read.error()));
    const auto start = structural_tag_symbol(builder_, spec_);
    if (!start) return tl::unexpected(start.error());
    builder_.set_start(*start);
    return std::move(builder_);
  }

 private:
  // A member that may stand there, with this value alone.
  struct fixed_member {
    std::string_view name;
    json value;
  };
  // A member that is not among these would be passed over, though it may say something.
  static result<void> check_members(const json& from, const std::string& at,
                                    std::initializer_list<std::string_view> free,
                                    const std::vector<fixed_member>& fixed = {}) {
    for (const auto& [name, value] : from.items()) {
      if (std::ranges::find(free, name) != free.end()) continue;
      const auto known = std::ranges::find(fixed, name, &fixed_member::name);
      if (known != fixed.end() && known->value == value) continue;
      return wrong(
          at + "/" + escape_pointer(name.substr(0, longest_told_name)),
          known == fixed.end() ? "this member is not served" : "only " + known->value.dump() + " is served",
          error_code::unsupported);
    }
    return {};
  }

  // The tags share the steps of one compile.
  void share_steps(const json& from, const char* name) {
    const auto tags = from.find(name);
    if (tags != from.end() && tags->size() > 1) limits_.max_compile_steps /= tags->size();
  }

  result<void> read_structures(const json& document) {
    if (auto done = check_members(document, "", {"structures", "triggers"}, {{"type", "structural_tag"}});
        !done)
      return done;
    share_steps(document, "structures");
    if (auto done = read_triggers(document, ""); !done) return done;
    return read_list(document, "structures", "", [this](const json& tag, const std::string& at) {
      return read_tag(tag, at, [this](const json& from, const std::string& where) -> result<symbol_id> {
        if (auto done = check_members(from, where, {"begin", "schema", "end"}); !done)
          return tl::unexpected(done.error());
        const auto schema = from.find("schema");
        if (schema == from.end()) return wrong(where, "no schema");
        return schema_symbol(builder_, *schema, where + "/schema", options_, limits_);
      });
    });
  }

  result<void> read_format(const json& document) {
    const auto format = document.find("format");
    if (document.value("type", json()) != "structural_tag" || format == document.end() ||
        !format->is_object())
      return wrong("", "neither \"structures\" nor a \"structural_tag\" with its \"format\"");
    if (format->value("type", json()) != "triggered_tags")
      return wrong("/format/type", "no format but triggered_tags is served", error_code::unsupported);
    if (auto done = check_members(document, "", {"type", "format"}); !done) return done;
    if (auto done = check_members(*format, "/format",
                                  {"type", "triggers", "tags", "at_least_one", "stop_after_first"},
                                  {{"excludes", json::array()}});
        !done)
      return done;
    share_steps(*format, "tags");
    if (auto done = read_triggers(*format, "/format"); !done) return done;
    for (const auto& [name, flag] :
         {std::pair{"at_least_one", &spec_.at_least_one}, {"stop_after_first", &spec_.stop_after_first}})
      if (auto done = read_flag(*format, name, *flag); !done) return done;
    return read_list(*format, "tags", "/format", [this](const json& tag, const std::string& at) {
      return read_tag(tag, at, [this](const json& from, const std::string& where) -> result<symbol_id> {
        if (auto done = check_members(from, where, {"begin", "content", "end"}, {{"type", "tag"}}); !done)
          return tl::unexpected(done.error());
        const auto content = from.find("content");
        if (content == from.end() || !content->is_object()) return wrong(where, "no content");
        return content_symbol(*content, where + "/content");
      });
    });
  }

  static result<void> read_flag(const json& format, const char* name, bool& flag) {
    const auto found = format.find(name);
    if (found == format.end()) return {};
    if (!found->is_boolean()) return wrong(std::string("/format/") + name, "not a Boolean");
    flag = found->get<bool>();
    return {};
  }

  result<void> read_triggers(const json& from, const std::string& at) {
    return read_list(from, "triggers", at, [this](const json& trigger, const std::string& where) {
      if (!trigger.is_string()) return result<void>(wrong(where, "not a string"));
      spec_.triggers.push_back(trigger.get<std::string>());
      return result<void>();
    });
  }

  template <class Each>
  static result<void> read_list(const json& from, const char* name, const std::string& at, Each each) {
    const std::string where = at + "/" + name;
    const auto found = from.find(name);
    if (found == from.end() || !found->is_array()) return wrong(where, "not an array");
    std::size_t index = 0;
    for (const json& item : *found)
      if (auto done = each(item, where + "/" + std::to_string(index++)); !done) return done;
    return {};
  }

  template <class Content>
  result<void> read_tag(const json& from, const std::string& at, Content content) {
    if (!from.is_object()) return wrong(at, "not an object");
    structural_tag tag;
    for (const auto& [name, text] : {std::pair{"begin", &tag.begin}, {"end", &tag.end}}) {
      const auto found = from.find(name);
      if (found == from.end() || !found->is_string()) return wrong(at + "/" + name, "not a string");
      *text = found->template get<std::string>();
    }
    const result<symbol_id> symbol = content(from, at);
    if (!symbol) return tl::unexpected(symbol.error());
    tag.content = *symbol;
    spec_.tags.push_back(std::move(tag));
    return {};
  }

  result<symbol_id> content_symbol(const json& content, const std::string& at) {
    const json type = content.value("type", json());
    if (type == "json_schema") {
      if (auto done = check_members(content, at, {"type", "json_schema"}, {{"style", "json"}}); !done)
        return tl::unexpected(done.error());
      const auto schema = content.find("json_schema");
      if (schema == content.end()) return wrong(at, "no json_schema");
      return schema_symbol(builder_, *schema, at + "/json_schema", options_, limits_);
    }
    const char* name = type == "regex" ? "pattern" : type == "const_string" ? "value" : nullptr;
    if (name == nullptr)
      return wrong(at + "/type", "no content but json_schema, regex and const_string is served",
                   error_code::unsupported);
    if (auto done = check_members(content, at, {"type", name}, {{"excludes", json::array()}}); !done)
      return tl::unexpected(done.error());
    const auto text = content.find(name);
    if (text == content.end() || !text->is_string()) return wrong(at + "/" + name, "not a string");
    if (type == "const_string") return builder_.literal(text->get<std::string>(), true);
    const auto expression = parse_regex(builder_.regex(), text->get<std::string>(), {}, limits_);
    if (!expression) return tl::unexpected(expression.error());
    return builder_.lexeme(*expression, true);
  }

  json_schema::schema_options options_;
  grammar_limits limits_;  // of one tag
  grammar_builder builder_;
  structural_tags spec_;
};

// Schemas stand where a content says that it is one, and, in the older form, in the structures.
class schema_search {
 public:
  explicit schema_search(std::size_t most) : most_(most) {}

  std::vector<json_schema::unknown_word> found() && { return std::move(found_); }

  void look_at(const json& part, const std::string& at) {
    if (found_.size() >= most_) return;
    if (part.is_array())
      for (std::size_t i = 0; i < part.size(); ++i) look_at(part[i], fmt::format("{}/{}", at, i));
    if (!part.is_object()) return;
    for (const auto& [name, value] : part.items()) {
      const std::string place = fmt::format("{}/{}", at, escape_pointer(name));
      const bool is_content = name == "json_schema" && part.value("type", json()) == name;
      const bool is_structure = name == "schema" && at.starts_with("/structures/");
      is_content || is_structure ? add(value, place) : look_at(value, place);
    }
  }

 private:
  void add(const json& schema, const std::string& at) {
    for (json_schema::unknown_word& each : json_schema::unknown_words(schema, most_ - found_.size())) {
      each.pointer.insert(0, at);
      found_.push_back(std::move(each));
    }
  }

  const std::size_t most_;
  std::vector<json_schema::unknown_word> found_;
};

}  // namespace

std::vector<json_schema::unknown_word> unknown_words_in_tags(const json& tags, std::size_t most) {
  schema_search search(most);
  search.look_at(tags, "");
  return std::move(search).found();
}

result<grammar_builder> structural_tag_grammar(std::string_view text,
                                               const json_schema::schema_options& options,
                                               const grammar_limits& limits) {
  const auto document =
      read_json(text, {.max_depth = limits.max_depth, .max_values = limits.max_schema_values},
                {.everywhere = true}, "structural tags: their text");
  if (!document) return tl::unexpected(document.error());
  return reader(options, limits).read(*document);
}

}  // namespace troupe::grammar
