// cuBLASLt, opened when a device is asked for: the program itself does not need it.
#pragma once
#include <cublasLt.h>

#include <memory>
#include <string>

#include "runtime/result.hpp"

namespace troupe {

// The library's calls, under its own names.
struct cublaslt_calls {
  decltype(&::cublasLtCreate) cublasLtCreate = nullptr;
  decltype(&::cublasLtDestroy) cublasLtDestroy = nullptr;
  decltype(&::cublasLtGetVersion) cublasLtGetVersion = nullptr;
  decltype(&::cublasLtGetStatusString) cublasLtGetStatusString = nullptr;
  decltype(&::cublasLtMatmulDescCreate) cublasLtMatmulDescCreate = nullptr;
  decltype(&::cublasLtMatmulDescDestroy) cublasLtMatmulDescDestroy = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) cublasLtMatmulDescSetAttribute = nullptr;
  decltype(&::cublasLtMatrixLayoutInit_internal) cublasLtMatrixLayoutInit_internal = nullptr;
  decltype(&::cublasLtMatmulPreferenceCreate) cublasLtMatmulPreferenceCreate = nullptr;
  decltype(&::cublasLtMatmulPreferenceDestroy) cublasLtMatmulPreferenceDestroy = nullptr;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) cublasLtMatmulPreferenceSetAttribute = nullptr;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) cublasLtMatmulAlgoGetHeuristic = nullptr;
  decltype(&::cublasLtMatmulAlgoCheck) cublasLtMatmulAlgoCheck = nullptr;
  decltype(&::cublasLtMatmul) cublasLtMatmul = nullptr;
};

class cublaslt_library : public cublaslt_calls {
 public:
  // Looks where the system's loader looks (LD_LIBRARY_PATH, the loader's cache), then where NVIDIA's
  // installers put it. Only of the major version that this program was compiled for. It stays in memory until
  // the program ends. Errors: unavailable, with every name that was tried.
  static result<std::shared_ptr<const cublaslt_library>> open();
  // Whether open() would find it, for who does not want to keep it. The same error.
  static result<void> look_for();
  // Of calls that are there already.
  explicit cublaslt_library(const cublaslt_calls& calls) : cublaslt_calls(calls) {}

  std::string version() const;  // "13.1.0"
  // Throws std::runtime_error that names `call`; device_lost where the device is gone;
  // out_of_device_memory where the library could not have what it needs there.
  void check(cublasStatus_t status, const char* call) const;
};

}  // namespace troupe
