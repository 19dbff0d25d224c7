// The names of members in a JSON text, as its bytes come: those of each object that is open, and the one that
// is being read. A grammar cannot say that a name stands once where it does not list the names (RFC 8259
// leaves open what a name that stands twice means, and most readers keep the last of its values alone); who
// knows the text so far can.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/reasoning.hpp"

namespace troupe::grammar {

// What the body of a string of JSON means; nothing where it ends within an escape, or in half a surrogate
// pair.
std::optional<std::string> meaning_of_string(std::string_view body);

// Holds all names of the text, once as they are written and once as they are meant: a copy takes as long as
// they are. Of an object of n names one is found in O(log n), and added or taken back in O(n) moves of four
// bytes.
class json_names {
 public:
  // The JSON text begins behind what a model thinks first, if anything.
  explicit json_names(reasoning_start reasoning = reasoning_start::none) { here_.reasoning = reasoning; }

  enum class reading : std::uint8_t { no_string, name, value };
  // Where the text stands. What came behind is forgotten by back_to().
  class place {
    friend json_names;
    std::int32_t container = -1;  // the innermost one that is open, or none
    std::uint32_t num_open = 0;   // names of all that are open
    std::size_t name_begin = 0;   // in written_: of the name being read
    std::size_t num_written = 0, num_meant = 0, num_names = 0, num_containers = 0;  // here() tells these
    reading string = reading::no_string;
    bool expects_name = false;                          // a string that begins here is one
    bool is_escaped = false;                            // the next character of the string
    reasoning_start reasoning = reasoning_start::none;  // of what follows
    std::uint8_t closing = 0;                           // bytes of the closing mark that were read
  };

  // Goes on by the next bytes of a text that is JSON so far. Whether no name was completed by them that its
  // object has already; behind such a name nothing is read.
  bool read(std::string_view bytes);
  place here() const;
  void back_to(const place& earlier);

  // Whether some object that is open has a name.
  bool has_any() const { return here_.num_open > 0; }
  reading string() const { return here_.string; }
  // Whether nothing but a name follows, behind a comma, or a name or the end, behind a brace.
  bool expects_name() const { return here_.string == reading::no_string && here_.expects_name; }
  // What there is of the name being read, as it is written; as it is meant, which is nothing within an escape
  // and for half a surrogate pair; as much of that as stands before what has only begun.
  std::string_view written() const { return std::string_view(written_).substr(here_.name_begin); }
  std::optional<std::string> begun() const { return meaning_of_string(written()); }
  std::string surely_begun() const;

  // Of the innermost object, as they are meant: whether it has this name; one that begins so; all that do, in
  // ascending order.
  bool has(std::string_view name) const;
  bool has_beginning(std::string_view begin) const;
  std::vector<std::string> beginning(std::string_view begin) const;

 private:
  struct container {
    std::int32_t parent = -1;
    bool is_object = false;
    std::vector<std::uint32_t> names = {};  // in ascending order of what they mean
  };
  struct name {
    std::uint32_t begin = 0, size = 0;  // in meant_
    std::int32_t container = -1;
  };
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
  std::string_view text(std::uint32_t name) const {
    return std::string_view(meant_).substr(names_[name].begin, names_[name].size);
  }
  // Of the innermost object.
  std::span<const std::uint32_t> names() const;
  // The first of these that is not before `text`.
  std::size_t find(std::span<const std::uint32_t> names, std::string_view text) const;
  void read_reasoning(char byte);
  bool read_in_string(char byte);
  void read_outside(char byte);
  void open(bool is_object);
  void close();
  bool add_name();

  place here_;
  std::string written_, meant_;  // all names, one behind the other
  std::vector<name> names_;
  std::vector<container> containers_;
};

// At its end the names are those that they were at its beginning, unless it has let go of them.
class kept_names {
 public:
  explicit kept_names(json_names& names) : names_(&names), before_(names.here()) {}
  ~kept_names() {
    if (names_ != nullptr) names_->back_to(before_);
  }
  kept_names(const kept_names&) = delete;
  kept_names& operator=(const kept_names&) = delete;
  void let_go() { names_ = nullptr; }

 private:
  json_names* names_;
  json_names::place before_;
};

}  // namespace troupe::grammar
