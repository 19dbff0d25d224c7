// The values that a template computes with: Python's, as far as templates use them. Immutable but for
// namespaces.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/json/json.hpp"

namespace troupe::jinja {

struct closure;  // scope.hpp
struct cycle;    // objects.hpp
struct joint;
class value;
using list = std::vector<value>;

struct undefined {
  std::string name;  // what was looked for
};
struct none {};
// A whole number beyond 64 bits: kept and printed as it was written, and not computed with.
struct large_integer {
  std::shared_ptr<const std::string> digits;  // with its sign where that is '-'
};
enum class function {
  range,
  make_namespace,
  make_dict,
  make_cycler,
  make_joiner,
  raise_exception,
  strftime_now
};

using dict_key = std::variant<std::string, std::int64_t>;

// An ordered mapping from strings and whole numbers.
class dict {
 public:
  using entry = std::pair<dict_key, value>;

  dict() = default;
  // The first place of a key and its last value count, as in Python.
  explicit dict(std::vector<entry> entries);
  const value* find(const dict_key& key) const;
  const value* find(std::string_view key) const;
  const std::vector<entry>& entries() const { return entries_; }

 private:
  template <class Is>
  const value* find_entry(Is is_it) const;  // the first of whose key `is_it` says so

  std::vector<entry> entries_;
  std::unordered_map<dict_key, std::size_t> index_;
};

struct loop_state {
  std::shared_ptr<const list> items;
  std::size_t index = 0;
  std::shared_ptr<std::optional<list>> seen;  // what loop.changed() was last called with, in any round
};

// What changes: {% set ns.x = ... %}. It belongs to the rendering (objects.hpp), so that namespaces may hold
// each other.
using name_space = std::map<std::string, value, std::less<>>;

class value {
 public:
  using text = std::shared_ptr<const std::string>;
  // Containers know how deep they are, so that no walk over them and no destructor goes deeper than that.
  struct sequence {
    std::shared_ptr<const list> items;
    std::uint32_t depth = 1;
    bool tuple = false;
  };
  struct mapping {
    std::shared_ptr<const dict> entries;
    std::uint32_t depth = 1;
  };
  using variant =
      std::variant<undefined, none, bool, std::int64_t, double, text, sequence, mapping, name_space*,
                   std::shared_ptr<loop_state>, const closure*, function, cycle*, joint*, large_integer>;
  static constexpr std::uint32_t max_depth = 100;

  value() = default;
  value(variant data) : data_(std::move(data)) {}
  static value of(std::string text) {
    return value(variant(std::make_shared<const std::string>(std::move(text))));
  }
  static value of(std::int64_t number) { return value(variant(number)); }
  static value large(std::string digits) {
    return value(variant(large_integer{std::make_shared<const std::string>(std::move(digits))}));
  }
  static value truth(bool truth) { return value(variant(truth)); }
  static value nothing() { return value(variant(none{})); }
  static value missing(std::string_view name) { return value(variant(undefined{std::string(name)})); }
  // Nothing where the nesting gets deeper than max_depth, or where a loop is put into a container.
  static std::optional<value> of(list items, bool tuple = false);
  static std::optional<value> of(dict entries);

  const variant& data() const { return data_; }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&data_);
  }
  const std::string* string() const { return get<text>() ? get<text>()->get() : nullptr; }
  const list* items() const { return get<sequence>() ? get<sequence>()->items.get() : nullptr; }
  const dict* entries() const { return get<mapping>() ? get<mapping>()->entries.get() : nullptr; }
  bool is_undefined() const { return get<undefined>() != nullptr; }
  bool is_none() const { return get<none>() != nullptr; }
  bool is_number() const {
    return get<std::int64_t>() || get<double>() || get<bool>() || get<large_integer>();
  }
  bool may_be_stored() const;  // in a container or a namespace
  std::uint32_t depth() const;

  bool truthy() const;
  // bool, int of 64 bits: the integer; otherwise nothing.
  std::optional<std::int64_t> integer() const;
  std::optional<double> number() const;
  const char* type_name() const;  // Python's
  std::size_t size() const;       // bytes of a string, elements of a container: what walking over it costs

 private:
  variant data_;
};

// The key that a value is in Python's mappings, where 1, 1.0 and True are the same one; nothing for one that
// is neither a string nor a whole number.
std::optional<dict_key> key_of(const value& given);
value value_of(const dict_key& key);

// Nothing where the document is nested too deeply.
std::optional<value> from_json(const json& document, std::uint32_t depth = 0);

}  // namespace troupe::jinja
