#include "runtime/executor_cuda/cublaslt_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <vector>

#include "runtime/executor/executor.hpp"
#include "runtime/executor_cuda/cuda_error.hpp"

namespace troupe {
namespace {

std::vector<std::string> places() {
  const std::string name = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  return {name, fmt::format("/usr/local/cuda-{}/lib64/{}", CUBLAS_VER_MAJOR, name),
          "/usr/local/cuda/lib64/" + name};
}

}  // namespace

result<std::shared_ptr<const cublaslt_library>> cublaslt_library::open() {
  std::string tried;
  for (const std::string& place : places()) {
    if (void* const found = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      const std::shared_ptr<cublaslt_library> library(new cublaslt_library(found));
      if (library->bind()) return library;
      tried += fmt::format("; {} lacks calls that are needed", place);
    } else {
      tried += fmt::format("; {}", ::dlerror());
    }
  }
  return fail(error_code::unavailable, "cuBLASLt cannot be opened" + tried);
}

cublaslt_library::~cublaslt_library() { ::dlclose(library_); }

bool cublaslt_library::bind() {
  const auto find = [this](auto& call, const char* name) {
    call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(::dlsym(library_, name));
    return call != nullptr;
  };
  return find(cublasLtCreate, "cublasLtCreate") && find(cublasLtDestroy, "cublasLtDestroy") &&
         find(cublasLtGetVersion, "cublasLtGetVersion") &&
         find(cublasLtGetStatusString, "cublasLtGetStatusString") &&
         find(cublasLtMatmulDescCreate, "cublasLtMatmulDescCreate") &&
         find(cublasLtMatmulDescDestroy, "cublasLtMatmulDescDestroy") &&
         find(cublasLtMatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute") &&
         find(cublasLtMatrixLayoutInit_internal, "cublasLtMatrixLayoutInit_internal") &&
         find(cublasLtMatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate") &&
         find(cublasLtMatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy") &&
         find(cublasLtMatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute") &&
         find(cublasLtMatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic") &&
         find(cublasLtMatmulAlgoCheck, "cublasLtMatmulAlgoCheck") && find(cublasLtMatmul, "cublasLtMatmul");
}

std::string cublaslt_library::version() const {
  const std::size_t number = cublasLtGetVersion();  // 10000 major + 100 minor + patch
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

void cublaslt_library::check(cublasStatus_t status, const char* call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  check_cuda(cudaDeviceSynchronize(), call);
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw std::bad_alloc();
  throw std::runtime_error(fmt::format("{}: {}", call, cublasLtGetStatusString(status)));
}

}  // namespace troupe
