#include "runtime/drafting/gathered_news.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

void gathered_news::add(request_id id, std::span<const token_id> tokens) {
  if (tokens.empty() || !open_.contains(id)) return;
  pieces_.push_back({id, tokens_.size(), tokens.size()});
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

void gathered_news::end(request_id id) {
  if (open_.erase(id) > 0) ended_.push_back(id);
}

draft_news gathered_news::take() {
  std::ranges::stable_sort(pieces_, {}, &piece::id);
  draft_news news;
  news.outputs.reserve(pieces_.size());
  news.tokens.reserve(tokens_.size());
  for (const piece& each : pieces_) {
    if (news.outputs.empty() || news.outputs.back().id != each.id) news.outputs.push_back({each.id});
    news.outputs.back().count += static_cast<std::int32_t>(each.count);
    const std::span<const token_id> tokens = std::span(tokens_).subspan(each.begin, each.count);
    news.tokens.insert(news.tokens.end(), tokens.begin(), tokens.end());
  }
  news.ended = std::move(ended_);
  pieces_.clear();
  tokens_.clear();
  ended_.clear();
  num_steps_ = 0;
  return news;
}

}  // namespace troupe
