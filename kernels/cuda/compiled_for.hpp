// Which devices the kernels of this program have code for.
#pragma once
#include <string_view>

namespace troupe::kernels::cuda {

// Compute capabilities as -DTROUPE_CUDA_ARCHITECTURES has them, separated by commas: "80,90,100". Empty: the
// kernels are compiled for the host, which any device of the emulation stands for.
std::string_view compiled_for();

// Whether code of these capabilities runs on a device of compute capability major.minor: what is compiled for
// one runs on those of the same major number that are no older; of the newest there is code besides that
// devices from it on compile for themselves. With an `a` it is for its own devices alone, with an `f` for
// those of its family, which has the same major number (CUDA C++ Programming Guide, "Compute Capabilities").
bool runs_on(std::string_view capabilities, int major, int minor);

}  // namespace troupe::kernels::cuda
