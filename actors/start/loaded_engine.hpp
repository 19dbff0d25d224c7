// A model ready to be served, without its file: load_engine() makes one from a file, a test by hand.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "actors/start/engine_steps.hpp"
#include "actors/start/runner_device.hpp"
#include "runtime/chat_template/chat_template.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

struct loaded_engine {
  std::shared_ptr<executor> device;
  // Another such device (and draft model), once the first is gone; unset: there is none.
  device_opener open_device;
  device_opener open_last_resort;         // in place of that once it does not help; unset: nothing does
  std::optional<device_process> process;  // that the device runs in; nothing: this one
  std::shared_ptr<draft_model> draft;     // null: there is none
  tokenizer_ptr vocabulary;
  std::shared_ptr<const chat_template> chat;
  std::string name;                // the file's name without its extension
  std::int32_t max_model_len = 0;  // longest context in tokens
  engine_steps steps;
};

}  // namespace troupe
