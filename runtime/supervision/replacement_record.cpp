#include "runtime/supervision/replacement_record.hpp"

namespace troupe {
namespace {

// A replacement is usually there within a second, which can be waited for.
constexpr std::chrono::seconds longest_replacement{5};
// In a row, which who has settled ends.
constexpr int most_replacements = 2;

}  // namespace

void replacement_record::ended(steady_time now) {
  if (has_settled(now)) ends_ = 0;
  ++ends_;
  gone_ = gone_.value_or(now);
}

void replacement_record::is_back(steady_time now) {
  gone_.reset();
  back_ = now;
}

bool replacement_record::has_settled(steady_time now) const {
  return !gone_ && now - back_ >= time_to_settle;
}

replacement_record::trouble replacement_record::trouble_at(steady_time now) const {
  if (!has_settled(now) && ends_ > most_replacements) return trouble::recurs;
  return gone_ && now - *gone_ > longest_replacement ? trouble::takes_long : trouble::none;
}

}  // namespace troupe
