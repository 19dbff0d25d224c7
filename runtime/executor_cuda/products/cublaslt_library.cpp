#include "runtime/executor_cuda/products/cublaslt_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "runtime/executor/executor.hpp"
#include "runtime/executor_cuda/device/cuda_error.hpp"

namespace troupe {
namespace {

std::vector<std::string> places() {
  const std::string name = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  return {name, fmt::format("/usr/local/cuda-{}/lib64/{}", CUBLAS_VER_MAJOR, name),
          "/usr/local/cuda/lib64/" + name};
}

// Nothing where the library lacks a call.
std::optional<cublaslt_calls> find_calls(void* library) {
  cublaslt_calls calls;
  const auto find = [library](auto& call, const char* name) {
    call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(::dlsym(library, name));
    return call != nullptr;
  };
  const bool complete =
      find(calls.cublasLtCreate, "cublasLtCreate") && find(calls.cublasLtDestroy, "cublasLtDestroy") &&
      find(calls.cublasLtGetVersion, "cublasLtGetVersion") &&
      find(calls.cublasLtGetStatusString, "cublasLtGetStatusString") &&
      find(calls.cublasLtMatmulDescCreate, "cublasLtMatmulDescCreate") &&
      find(calls.cublasLtMatmulDescDestroy, "cublasLtMatmulDescDestroy") &&
      find(calls.cublasLtMatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute") &&
      find(calls.cublasLtMatrixLayoutInit_internal, "cublasLtMatrixLayoutInit_internal") &&
      find(calls.cublasLtMatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate") &&
      find(calls.cublasLtMatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy") &&
      find(calls.cublasLtMatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute") &&
      find(calls.cublasLtMatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic") &&
      find(calls.cublasLtMatmulAlgoCheck, "cublasLtMatmulAlgoCheck") &&
      find(calls.cublasLtMatmul, "cublasLtMatmul");
  if (!complete) return std::nullopt;
  return calls;
}

// The first place that has a complete library, opened with these flags.
struct found_library {
  void* library;
  cublaslt_calls calls;
};

result<found_library> find_library(int flags) {
  std::string tried;
  for (const std::string& place : places()) {
    void* const found = ::dlopen(place.c_str(), flags);
    if (found == nullptr) {
      tried += fmt::format("; {}", ::dlerror());
    } else if (const auto calls = find_calls(found)) {
      return found_library{found, *calls};
    } else {
      ::dlclose(found);
      tried += fmt::format("; {} lacks calls that are needed", place);
    }
  }
  return fail(error_code::unavailable, "cuBLASLt cannot be opened" + tried);
}

}  // namespace

// Never closed: kernels of it may be known to the driver for as long as the process is.
result<std::shared_ptr<const cublaslt_library>> cublaslt_library::open() {
  const auto found = find_library(RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!found) return tl::unexpected(found.error());
  return std::make_shared<const cublaslt_library>(found->calls);
}

result<void> cublaslt_library::look_for() {
  const auto found = find_library(RTLD_LAZY | RTLD_LOCAL);
  if (!found) return tl::unexpected(found.error());
  ::dlclose(found->library);
  return {};
}

std::string cublaslt_library::version() const {
  const std::size_t number = cublasLtGetVersion();  // 10000 major + 100 minor + patch
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

// cuBLASLt loads a kernel when it is first used. Where there is no memory for that, it answers one of three
// other statuses than ALLOC_FAILED.
void cublaslt_library::check(cublasStatus_t status, const char* call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string what = fmt::format("{}: {}", call, cublasLtGetStatusString(status));
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw out_of_device_memory(what);
  if (is_device_lost()) throw device_lost(what);
  const bool may_lack_memory = status == CUBLAS_STATUS_EXECUTION_FAILED ||
                               status == CUBLAS_STATUS_INTERNAL_ERROR ||
                               status == CUBLAS_STATUS_NOT_INITIALIZED;
  if (may_lack_memory && lacks_device_memory())
    throw out_of_device_memory(what + ", and the memory is taken");
  throw std::runtime_error(what);
}

}  // namespace troupe
