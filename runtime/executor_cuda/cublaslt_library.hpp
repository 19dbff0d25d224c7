// cuBLASLt, opened when a device is asked for: the program itself does not need it.
#pragma once
#include <cublasLt.h>

#include <memory>
#include <string>

#include "runtime/result.hpp"

namespace troupe {

// The library's calls, under its own names. The library is closed with the last owner.
class cublaslt_library {
 public:
  // Looks where the system's loader looks (LD_LIBRARY_PATH, the loader's cache), then where NVIDIA's
  // installers put it. Only of the major version that this program was compiled for. Errors: unavailable,
  // with every name that was tried.
  static result<std::shared_ptr<const cublaslt_library>> open();
  ~cublaslt_library();
  cublaslt_library(const cublaslt_library&) = delete;
  cublaslt_library& operator=(const cublaslt_library&) = delete;

  std::string version() const;  // "13.1.0"
  // Throws std::runtime_error that names `call`; device_lost where the device is gone; std::bad_alloc where
  // the host has no memory.
  void check(cublasStatus_t status, const char* call) const;

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

 private:
  explicit cublaslt_library(void* library) : library_(library) {}
  // Whether it has every call.
  bool bind();

  void* library_;
};

}  // namespace troupe
