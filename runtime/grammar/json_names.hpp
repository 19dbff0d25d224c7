// The names of members in a JSON text, as its bytes come: those of each object that is open, and the one that
// is being read. A grammar cannot say that a name stands once where it does not list the names (RFC 8259
// leaves open what a name that stands twice means, and most readers keep the last of its values alone); who
// knows the text so far can.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::grammar {

// A value: copy it to go two ways.
class json_names {
 public:
  enum class reading : std::uint8_t { no_string, name, value };
  // Where the text stands. What came behind is forgotten by back_to().
  class place {
    friend json_names;
    std::int32_t container = -1;   // the innermost one that is open, or none
    std::uint32_t num_open = 0;    // names of all that are open
    std::uint32_t name_begin = 0;  // in raw_: of the name being read
    std::uint32_t raw_size = 0, num_names = 0, num_containers = 0;
    reading string = reading::no_string;
    bool expects_name = false;  // a string that begins here is one
    bool is_escaped = false;    // the next character of the string
    bool has_escape = false;    // the name being read
  };

  // Goes on by the next bytes of a text that is JSON so far. Whether no name was completed by them that its
  // object has already; behind such a name nothing is read.
  bool read(std::string_view bytes);
  const place& here() const { return here_; }
  void back_to(const place& earlier);

  // Whether some object that is open has a name.
  bool has_any() const { return here_.num_open > 0; }
  reading string() const { return here_.string; }
  // Whether nothing but a name follows, behind a comma, or a name or the end, behind a brace.
  bool expects_name() const { return here_.string == reading::no_string && here_.expects_name; }
  // Of the name being read: what there is of it, and whether that is as it is written, without escapes.
  std::string_view partial() const { return std::string_view(raw_).substr(here_.name_begin); }
  bool is_plain() const { return !here_.has_escape; }
  // visit(name) for the names of the innermost object, the newest first, decoded, as long as it gives true.
  // Whether all were visited.
  template <class Visit>
  bool visit_names(Visit visit) const {
    if (here_.container < 0) return true;
    for (std::int32_t i = containers_[index(here_.container)].last_name; i >= 0; i = names_[index(i)].before)
      if (!visit(std::string_view(names_[index(i)].text))) return false;
    return true;
  }
  bool has(std::string_view name) const {
    return !visit_names([name](std::string_view each) { return each != name; });
  }
  bool has_beginning(std::string_view begin) const {
    return !visit_names([begin](std::string_view each) { return !each.starts_with(begin); });
  }

 private:
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
  bool read_in_string(char byte);
  void read_outside(char byte);
  void open(bool is_object);
  void close();
  bool add_name();

  struct container {
    std::int32_t parent = -1, last_name = -1;
    std::uint32_t num_names = 0;
    bool is_object = false;
  };
  struct name {
    std::string text;
    std::int32_t container = -1, before = -1;  // the one before it in the same object
  };
  place here_;
  std::string raw_;  // of all names, one behind the other, as they are written
  std::vector<name> names_;
  std::vector<container> containers_;
};

}  // namespace troupe::grammar
