// Where the model runs, and what is usual there.
#pragma once
#include <string>
#include <tl/expected.hpp>

#include "config/load.hpp"
#include "runtime/executor/cuda_support.hpp"

namespace troupe {

// Makes device `cuda` of `auto` where there is one that can be used; and then, of what nobody has set, what
// is usual there: steps of 8,192 tokens, 256 sequences. On the CPU steps have 64 tokens for each thread, and
// two for each sequence, 128 to 512 in all, where prompts may be cut. The error is a line that begins with
// the origin of `device`: where `cuda` was asked for, a program without CUDA or a device that cannot be used.
// Why `auto` is the CPU in a program that has CUDA is a note.
tl::expected<void, std::string> choose_device(config::loaded_settings& loaded, const cuda_support& cuda);

// The same for settings that are read again: `in_use`, the device that was chosen at first, is still what
// `auto` means, whatever would be found now.
void keep_device(config::loaded_settings& loaded, const std::string& in_use);

}  // namespace troupe
