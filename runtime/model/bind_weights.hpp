// Finds a model's weights among the tensors of its file.
#pragma once
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe {

// Fills every weight of `target` and config.vocab_size from target.file and the rest of target.config.
// Errors: not_found (a missing tensor), corrupt_file (a shape against the metadata), unsupported (a type that
// is not served, a tensor that no part of the model uses); the message names the tensor.
result<void> bind_weights(model& target);

}  // namespace troupe
