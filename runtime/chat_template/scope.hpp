// Which name means what: the template's own variables, and frames of loops and macro calls above them.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/chat_template/value.hpp"

namespace troupe::jinja {

class scope {
 public:
  explicit scope(const dict& context) : context_(context) {}

  // Sets a name in the innermost frame; outside all frames, in the template.
  void set(std::string_view name, value given) {
    if (frames_.empty()) {
      variables_.insert_or_assign(std::string(name), std::move(given));
    } else {
      frames_.back().insert_or_assign(std::string(name), std::move(given));
    }
  }
  // nullptr: unknown.
  const value* find(std::string_view name) const {
    for (auto above = frames_.size(); above > first_visible_; --above) {
      const auto found = frames_[above - 1].find(name);
      if (found != frames_[above - 1].end()) return &found->second;
    }
    const auto found = variables_.find(name);
    return found != variables_.end() ? &found->second : context_.find(name);
  }

  // A frame for the life of the guard. A macro sees the template's variables, but not its caller's.
  class frame {
   public:
    frame(scope& names, bool macro) : names_(names), visible_before_(names.first_visible_) {
      if (macro) names_.first_visible_ = names_.frames_.size();
      names_.frames_.emplace_back();
    }
    ~frame() {
      names_.frames_.pop_back();
      names_.first_visible_ = visible_before_;
    }
    frame(const frame&) = delete;
    frame& operator=(const frame&) = delete;

   private:
    scope& names_;
    std::size_t visible_before_;
  };

 private:
  using names = std::map<std::string, value, std::less<>>;
  const dict& context_;
  names variables_;
  std::vector<names> frames_;
  std::size_t first_visible_ = 0;
};

}  // namespace troupe::jinja
