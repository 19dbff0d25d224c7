#include "kernels/cuda/compiled_for.hpp"

namespace troupe::kernels::cuda {

std::string_view compiled_for() {
#ifdef TROUPE_COMPILED_FOR
  return TROUPE_COMPILED_FOR;
#else
  return "";
#endif
}

}  // namespace troupe::kernels::cuda
