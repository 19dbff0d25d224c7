// A model's configuration from the metadata of its file.
#pragma once
#include "runtime/gguf/gguf.hpp"
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe {

// Reads and checks everything but vocab_size (that of the embedding, see bind_weights). Errors: not_found (a
// missing key), corrupt_file (a value out of range or against another), unsupported (an architecture or a
// feature that is not served). Key names: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
result<model_config> read_config(const gguf::file& file);

}  // namespace troupe
