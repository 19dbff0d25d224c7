// The chat template that a model is served with.
#pragma once
#include "actors/start/engine_options.hpp"
#include "runtime/chat_template/chat_template.hpp"
#include "runtime/gguf/gguf.hpp"
#include "runtime/result.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

// Of a file: not_found, io_error, too_large, or what chat_template::compile says of it, naming the file.
result<chat_template> read_chat_template(const std::string& path);

// As the options say: of the file they name, else the model's own, else ChatML, which the log says. Where
// that is the model's, a second one of the model is used for chats that offer tools if it writes calls in the
// form that they are read in; the log says whether it is. What such a model thinks is not told apart where
// the vocabulary does not show its end, which the log says, too. Errors: those of read_chat_template and
// chat_template::compile, of the first.
result<chat_template> load_chat_template(const gguf::file& model, const tokenizer& vocabulary,
                                         const engine_options& options);

}  // namespace troupe
