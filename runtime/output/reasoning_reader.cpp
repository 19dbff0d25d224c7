#include "runtime/output/reasoning_reader.hpp"

#include <utility>

#include "runtime/text_ends.hpp"

namespace troupe {

reasoning_reader::reasoning_reader(reasoning_start start)
    : place_(start == reasoning_start::none    ? place::answer
             : start == reasoning_start::begun ? place::reasoning
                                               : place::opening),
      has_reasoned_(start == reasoning_start::begun) {}

reasoning_reader::parts reasoning_reader::add(std::string_view piece) {
  parts into;
  kept_ += piece;
  bool goes_on = true;
  while (goes_on && place_ != place::answer) switch (place_) {
      case place::opening:
        goes_on = read_opening();
        break;
      case place::reasoning:
        goes_on = read_reasoning(into);
        break;
      case place::behind:
      case place::answer:
        goes_on = read_behind();
    }
  if (place_ == place::answer) into.answer = std::exchange(kept_, {});
  return into;
}

// Whether there is more to read: each of these.
bool reasoning_reader::read_opening() {
  const std::string_view text = std::string_view(kept_).substr(space_at_start(kept_));
  if (reasoning_marks::opening.starts_with(text) && text != reasoning_marks::opening) return false;
  has_reasoned_ = text.starts_with(reasoning_marks::opening);
  if (has_reasoned_) kept_.erase(0, kept_.size() - text.size() + reasoning_marks::opening.size());
  place_ = has_reasoned_ ? place::reasoning : place::answer;
  return true;
}

bool reasoning_reader::read_reasoning(parts& into) {
  if (!has_told_reasoning_) kept_.erase(0, space_at_start(kept_));
  const mark_search closing = look_for(reasoning_marks::closing, kept_);
  into.reasoning.append(kept_, 0, closing.told);
  has_told_reasoning_ = has_told_reasoning_ || closing.told > 0;
  kept_.erase(0, closing.found() ? closing.at + reasoning_marks::closing.size() : closing.told);
  if (closing.found()) place_ = place::behind;
  return closing.found();
}

bool reasoning_reader::read_behind() {
  kept_.erase(0, space_at_start(kept_));
  if (kept_.empty()) return false;
  place_ = place::answer;
  return true;
}

reasoning_reader::parts reasoning_reader::end() {
  parts last;
  if (place_ == place::opening) last.answer = std::exchange(kept_, {});
  if (place_ == place::reasoning) last.reasoning = kept_.substr(0, without_space_at_end(kept_));
  kept_.clear();
  return last;
}

}  // namespace troupe
