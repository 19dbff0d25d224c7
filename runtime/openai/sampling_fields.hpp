// The members of a body that say how to sample, the same for every endpoint.
#pragma once
#include "runtime/openai/field_reader.hpp"
#include "runtime/openai/request.hpp"
#include "runtime/request.hpp"

namespace troupe::openai {

// Types, sizes and 32-bit ranges are checked here; the ranges of meaning by troupe::validate().
sampling_params read_sampling(field_reader& fields, const request_context& context);

// Refuses, by name, what would change the answer and is not served.
void refuse_unsupported(field_reader& fields);

}  // namespace troupe::openai
