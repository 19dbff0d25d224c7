// What a rendering makes that changes, or that others refer to: it lives as long as the rendering, and values
// point to it. So nothing is kept alive in a circle, and no chain of namespaces is too long to be destroyed.
#pragma once
#include <cstddef>
#include <deque>
#include <string>
#include <utility>

#include "runtime/chat_template/scope.hpp"
#include "runtime/chat_template/value.hpp"

namespace troupe::jinja {

// cycler('a', 'b'): one after the other, over and over.
struct cycle {
  list items;  // at least one
  std::size_t at = 0;
};

// joiner(', '): nothing the first time it is called, then the separator.
struct joint {
  value separator;
  bool used = false;
};

class objects {
 public:
  value add(name_space space) { return value(value::variant(&spaces_.emplace_back(std::move(space)))); }
  value add(closure made) {
    return value(value::variant(static_cast<const closure*>(&closures_.emplace_back(std::move(made)))));
  }
  value add(cycle made) { return value(value::variant(&cycles_.emplace_back(std::move(made)))); }
  value add(joint made) { return value(value::variant(&joints_.emplace_back(std::move(made)))); }

 private:
  std::deque<name_space> spaces_;
  std::deque<closure> closures_;
  std::deque<cycle> cycles_;
  std::deque<joint> joints_;
};

}  // namespace troupe::jinja
