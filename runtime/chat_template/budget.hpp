// What a rendering may still spend, and the first thing that went wrong.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/chat_template/chat_template.hpp"
#include "runtime/chat_template/value.hpp"

namespace troupe::jinja {

// Once something has failed, every operation gives up at once and returns an undefined value.
class budget {
 public:
  explicit budget(const template_limits& limits) : limits_(limits), steps_(limits.max_steps) {}

  bool failed() const { return failure_.has_value(); }
  const std::optional<error>& failure() const { return failure_; }
  value fail(std::string message, error_code code = error_code::invalid_argument) {
    if (!failure_) {
      failure_ =
          error{code,
                (line_ > 0 ? "chat template, line " + std::to_string(line_) + ": " : std::string()) + message,
                {}};
    }
    return {};
  }
  // raise_exception(): the template's own words.
  value refuse(std::string message) {
    if (!failure_) failure_ = error{error_code::invalid_argument, std::move(message), "messages"};
    return {};
  }

  // One step, and one more for every 256 bytes or elements that it walks over. False: no more.
  bool spend(std::size_t walked = 0) {
    const auto cost = 1 + walked / 256;
    if (failed()) return false;
    if (cost > steps_) return fail("too many steps"), false;
    steps_ -= cost;
    return true;
  }
  bool check_length(std::size_t bytes) {
    if (bytes > limits_.max_output) return fail("the text gets too long"), false;
    return !failed();
  }
  std::size_t longest() const { return limits_.max_output; }
  void at_line(std::uint32_t line) { line_ = line; }

  class level {
   public:
    explicit level(budget& spent) : spent_(spent) {
      if (++spent_.depth_ > 8 * spent_.limits_.max_depth) spent_.fail("calls are nested too deeply");
    }
    ~level() { --spent_.depth_; }
    level(const level&) = delete;
    level& operator=(const level&) = delete;

   private:
    budget& spent_;
  };

 private:
  template_limits limits_;
  std::size_t steps_;
  std::size_t depth_ = 0;
  std::uint32_t line_ = 0;
  std::optional<error> failure_;
};

}  // namespace troupe::jinja
