// What the files of a model and its draft model hold, whatever device it is for.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "actors/start/load_draft_model.hpp"
#include "runtime/chat_template/chat_template.hpp"
#include "runtime/model/model.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

struct model_files {
  model_ptr model;
  tokenizer_ptr vocabulary;
  std::shared_ptr<const chat_template> chat;
  std::int32_t context = 0;  // the longest that is wanted
  std::optional<draft_file> draft;
};

}  // namespace troupe
