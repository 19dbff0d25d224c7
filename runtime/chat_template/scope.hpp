// Which name means what: the template's own variables, and frames of loops and macro calls above them.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/chat_template/value.hpp"

namespace troupe::jinja {

struct macro;  // ast.hpp

using names = std::map<std::string, value, std::less<>>;
using frames = std::vector<std::shared_ptr<names>>;

// A macro, and the frames in which it was defined: it sees what is set there, also later.
struct closure {
  const macro* defined = nullptr;
  frames around;
};

class scope {
 public:
  explicit scope(const dict& context) : context_(context) {}

  // Sets a name in the innermost frame; outside all frames, in the template.
  void set(std::string_view name, value given) {
    auto& innermost = frames_.empty() ? variables_ : *frames_.back();
    innermost.insert_or_assign(std::string(name), std::move(given));
  }
  // nullptr: unknown.
  const value* find(std::string_view name) const {
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
      const auto found = (*frame)->find(name);
      if (found != (*frame)->end()) return &found->second;
    }
    const auto found = variables_.find(name);
    return found != variables_.end() ? &found->second : context_.find(name);
  }
  const frames& visible() const { return frames_; }

  // A frame for the life of the guard.
  class frame {
   public:
    explicit frame(scope& over) : scope_(over) { scope_.frames_.push_back(std::make_shared<names>()); }
    ~frame() { scope_.frames_.pop_back(); }
    frame(const frame&) = delete;
    frame& operator=(const frame&) = delete;

   private:
    scope& scope_;
  };

  // The frames of a macro's definition in the place of its caller's, and one of its own.
  class call {
   public:
    call(scope& over, frames around) : scope_(over), caller_(std::move(around)) {
      std::swap(scope_.frames_, caller_);
      scope_.frames_.push_back(std::make_shared<names>());
    }
    ~call() { std::swap(scope_.frames_, caller_); }
    call(const call&) = delete;
    call& operator=(const call&) = delete;

   private:
    scope& scope_;
    frames caller_;
  };

 private:
  const dict& context_;
  names variables_;
  frames frames_;
};

}  // namespace troupe::jinja
