#include "runtime/grammar/json_schema/document/schema_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "runtime/grammar/json_schema/document/uri_reference.hpp"
#include "runtime/grammar/json_schema/document/word_lists.hpp"
#include "runtime/json/json_reader.hpp"

namespace troupe::json_schema {
namespace {

constexpr std::size_t most_uri_bytes = 1024;
constexpr std::size_t few_members = 16;  // are looked through one by one

std::string unescape_pointer(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1')) {
      out += token[++i] == '0' ? '~' : '/';
    } else {
      out += token[i];
    }
  }
  return out;
}

std::optional<std::string> path_to(const json& from, const json& wanted) {
  if (&from == &wanted) return "";
  if (from.is_object()) {
    for (const auto& [name, child] : from.items())
      if (const auto rest = path_to(child, wanted)) return fmt::format("/{}{}", escape_pointer(name), *rest);
  } else if (from.is_array()) {
    for (std::size_t i = 0; i < from.size(); ++i)
      if (const auto rest = path_to(from[i], wanted)) return fmt::format("/{}{}", i, *rest);
  }
  return std::nullopt;
}

error too_long(const std::string& pointer) {
  return {error_code::invalid_argument,
          fmt::format("JSON Schema, at \"{}\": is longer than {} bytes, written in full", pointer,
                      most_uri_bytes),
          pointer};
}

const std::string* text_member(const json& node, const char* name) {
  const auto found = node.find(name);
  return found == node.end() ? nullptr : found->get_ptr<const std::string*>();
}

// What the reader says of a text that is a schema, with the limit that it passes by the option's name.
error error_of_schema(const error& why, const document_limits& limits) {
  if (why.message.ends_with("levels")) return {why.code, why.message + " (max_depth)", "max_depth"};
  if (why.message.ends_with("too many values"))
    return {why.code, fmt::format("{}, more than {} (max_schema_values)", why.message, limits.max_values),
            "max_schema_values"};
  return why;
}

bool is_recursive_anchor(const json& node) {
  if (!node.is_object()) return false;
  const auto found = node.find("$recursiveAnchor");
  return found != node.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace

result<schema_document> schema_document::parse(std::string_view text, const document_limits& limits) {
  if (text.size() > limits.max_bytes)
    return fail(error_code::invalid_argument,
                fmt::format("the JSON Schema is larger than {} bytes", limits.max_bytes));
  auto read = read_json(text,
                        {.max_depth = limits.max_depth,
                         .max_values = limits.max_values,
                         .max_large_values = limits.max_values,
                         .max_members = limits.max_values},
                        {.everywhere = true}, "the JSON Schema");
  if (!read) return tl::unexpected(error_of_schema(read.error(), limits));
  if (!read->is_object() && !read->is_boolean())
    return fail(error_code::invalid_argument, "a JSON Schema is an object or a Boolean");
  schema_document out;
  out.root_ = std::make_unique<json>(std::move(*read));
  out.read_version();
  if (auto indexed = out.index(); !indexed) return tl::unexpected(indexed.error());
  return out;
}

void schema_document::read_version() {
  if (!root_->is_object()) return;
  const std::string* uri = text_member(*root_, "$schema");
  if (uri == nullptr) return;
  const auto names = [&](const char* part) { return uri->find(part) != std::string::npos; };
  if (names("draft-03") || names("draft-04"))
    version_ = draft::draft4;
  else if (names("draft-06"))
    version_ = draft::draft6;
  else if (names("draft-07"))
    version_ = draft::draft7;
  else if (names("2019-09"))
    version_ = draft::draft2019;
}

result<void> schema_document::index() {
  struct place {
    const json* node;
    base_uri base;
    bool is_map = false;
  };
  resources_.emplace("", root_.get());
  std::vector<place> open{{root_.get(), std::make_shared<const std::string>()}};
  // Below members that JSON Schema does not know: what only looks like a name there has none beside a real
  // one.
  std::vector<place> unknown;
  while (!open.empty() || !unknown.empty()) {
    std::vector<place>& from = open.empty() ? unknown : open;
    const place here = std::move(from.back());
    from.pop_back();
    if (here.node->is_array()) {
      for (const json& child : *here.node)
        if (child.is_structured()) open.push_back({&child, here.base});
    } else if (here.is_map && here.node->is_object()) {
      for (const auto& [name, child] : here.node->items())
        if (child.is_structured()) open.push_back({&child, here.base});
    } else if (here.node->is_object()) {
      const auto base = enter(*here.node, here.base);
      if (!base) return tl::unexpected(base.error());
      for (const auto& [name, child] : here.node->items()) {
        if (!child.is_structured() || is_one_of(data_words, name)) continue;
        const bool is_map = is_one_of(map_words, name);
        (is_map || is_one_of(schema_words, name) ? open : unknown).push_back({&child, *base, is_map});
      }
    }
  }
  return {};
}

// Notes the names that `node` gives itself; the base URI of its members. Each name below it holds that base.
result<schema_document::base_uri> schema_document::enter(const json& node, const base_uri& outer) {
  base_uri base = outer;
  // Up to draft 7 a $ref hides its neighbours: the node has no name of its own.
  if (version_ <= draft::draft7 && node.contains("$ref")) {
    if (!base->empty()) base_of_.emplace(&node, base);
    return base;
  }
  const char* id_word = version_ == draft::draft4 ? "id" : "$id";
  if (const std::string* id = text_member(node, id_word)) {
    const std::size_t hash = id->find('#');
    if (hash != 0) {
      base = std::make_shared<const std::string>(resolve_uri(*outer, std::string_view(*id).substr(0, hash)));
      if (base->size() > most_uri_bytes) return tl::unexpected(too_long(pointer_of(node) + "/" + id_word));
      resources_.emplace(*base, &node);
    }
    if (hash != std::string::npos && hash + 1 < id->size())
      anchors_.emplace(*base + "#" + id->substr(hash + 1), &node);
  }
  for (const char* word : {"$anchor", "$dynamicAnchor"})
    if (const std::string* anchor = text_member(node, word)) anchors_.emplace(*base + "#" + *anchor, &node);
  if (const std::string* anchor = text_member(node, "$dynamicAnchor")) ++dynamic_anchors_[*anchor];
  if (is_recursive_anchor(node)) ++recursive_anchors_;
  if (!base->empty() &&
      (node.contains("$ref") || node.contains("$dynamicRef") || node.contains("$recursiveRef")))
    base_of_.emplace(&node, base);
  return base;
}

const json* schema_document::member_of(const json& object, const std::string& name) const {
  if (object.size() <= few_members) {
    const auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
  }
  const auto [index, is_new] = wide_.try_emplace(&object);
  if (is_new)
    for (const auto& [key, child] : object.get_ref<const json::object_t&>())
      index->second.emplace(key, &child);
  const auto found = index->second.find(name);
  return found == index->second.end() ? nullptr : found->second;
}

const json* schema_document::step_into(const json& node, const std::string& token) const {
  if (node.is_object()) return member_of(node, token);
  if (!node.is_array()) return nullptr;
  std::size_t index = 0;
  const auto read = std::from_chars(token.data(), token.data() + token.size(), index);
  const bool is_number = read.ec == std::errc() && read.ptr == token.data() + token.size();
  if (!is_number || (token.size() > 1 && token.front() == '0') || index >= node.size()) return nullptr;
  return &node[index];
}

// `pointer` is "" or "/a/b", already percent-decoded.
const json* schema_document::follow(const json& from, std::string_view pointer) const {
  const json* node = &from;
  while (node != nullptr && !pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    node = step_into(*node, unescape_pointer(pointer.substr(0, end)));
    pointer.remove_prefix(end);
  }
  return node;
}

result<const json*> schema_document::resolve(const json& node, const std::string& reference) const {
  const auto known = base_of_.find(&node);
  const std::string_view base = known == base_of_.end() ? "" : std::string_view(*known->second);
  const std::size_t hash = std::min(reference.find('#'), reference.size());
  const std::string uri = resolve_uri(base, std::string_view(reference).substr(0, hash));
  const std::string fragment =
      hash == reference.size() ? "" : percent_decode(std::string_view(reference).substr(hash + 1));
  const auto resource = resources_.find(uri);
  const json* target = nullptr;
  if (fragment.empty() || fragment.front() == '/') {
    if (resource != resources_.end()) target = follow(*resource->second, fragment);
  } else if (const auto anchor = anchors_.find(uri + "#" + fragment); anchor != anchors_.end()) {
    target = anchor->second;
  }
  // Written against the whole document, though an $id stands in between: as authors mean it.
  if (target == nullptr && hash == 0 && fragment.starts_with("/")) target = follow(*root_, fragment);
  if (target == nullptr)
    return fail(error_code::invalid_argument,
                fmt::format("\"{}\" is nowhere in the schema{}", reference,
                            hash > 0 ? "; other documents are not fetched" : ""));
  return target;
}

bool schema_document::depends_on_the_way(const json& node, std::string_view word, const json& target) const {
  if (word == "$recursiveRef") return recursive_anchors_ > 1 && is_recursive_anchor(target);
  const std::string* reference = word == "$dynamicRef" ? text_member(node, "$dynamicRef") : nullptr;
  const std::string* anchor = target.is_object() ? text_member(target, "$dynamicAnchor") : nullptr;
  if (reference == nullptr || anchor == nullptr || !reference->ends_with("#" + *anchor)) return false;
  const auto places = dynamic_anchors_.find(*anchor);
  return places != dynamic_anchors_.end() && places->second > 1;
}

std::string schema_document::pointer_of(const json& node) const { return path_to(*root_, node).value_or(""); }

}  // namespace troupe::json_schema
