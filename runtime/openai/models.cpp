#include "runtime/openai/models.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/json/json_writer.hpp"
#include "runtime/utf8.hpp"
#include "runtime/without_blanks.hpp"

namespace troupe::openai {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

void write_model(json_writer& out, std::string_view name, const model_description& model) {
  out.begin_object().key("id").string(name).key("object").string("model");
  out.key("created").integer(model.created).key("owned_by").string("troupe").key("root").string(model.id);
  out.key("max_model_len").integer(model.max_model_len).end_object();
}

}  // namespace

result<std::vector<std::string>> read_model_names(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string_view name = without_blanks(text.substr(start, end - start));
    if (name.empty()) return fail(error_code::invalid_argument, fmt::format("'{}' has an empty name", text));
    if (valid_utf8_prefix(name) != name.size() || std::ranges::any_of(name, is_control))
      return fail(error_code::invalid_argument, "a name is not UTF-8, or has a control character");
    if (std::ranges::find(names, name) != names.end())
      return fail(error_code::invalid_argument, fmt::format("'{}' stands there twice", name));
    names.emplace_back(name);
    start = end + 1;
  }
  return names;
}

bool is_name_of(std::string_view name, const model_description& model) {
  return name == model.id || std::ranges::find(model.aliases, name) != model.aliases.end();
}

std::string model_answer(std::string_view name, const model_description& model) {
  std::string body;
  json_writer out(body);
  write_model(out, name, model);
  return body;
}

std::string model_list_answer(const model_description& model) {
  std::string body;
  json_writer out(body);
  out.begin_object().key("object").string("list").key("data").begin_array();
  write_model(out, model.id, model);
  for (const std::string& alias : model.aliases) write_model(out, alias, model);
  out.end_array().end_object();
  return body;
}

}  // namespace troupe::openai
