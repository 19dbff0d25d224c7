// Where the model file is, and what it is called in the API.
#pragma once
#include <string>

#include "runtime/result.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

// `model` where it is not empty and a file; else the first of the default model's places that exists: models/
// of the current folder, models/ beside the folder of this program, $XDG_DATA_HOME/troupe
// (~/.local/share/troupe), /var/lib/troupe. Errors: not_found, saying where it looked and what to do.
result<std::string> find_model(const std::string& model);

// The tokenizer of the model that find_model() gives, without its weights. Errors: those of find_model(),
// gguf::file::open() and load_tokenizer().
result<tokenizer_ptr> load_vocabulary(const std::string& model);

// "SmolLM2-135M-Instruct" of "models/SmolLM2-135M-Instruct.Q4_1.gguf": no folder, no extension, no
// quantisation.
std::string model_name(const std::string& path);

}  // namespace troupe
