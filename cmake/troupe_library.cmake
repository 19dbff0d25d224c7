# Compile options that every target of this project shares, and the one way to declare a layer.
add_library(troupe_options INTERFACE)
target_include_directories(troupe_options INTERFACE "${PROJECT_SOURCE_DIR}")
# No contraction: the bits of a result must not depend on what the compiler chose to fuse.
target_compile_options(troupe_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                                                -Werror -ffp-contract=off -fno-math-errno)
# GCC 12's flow analysis reports false positives inside the standard library under optimisation and sanitizers.
target_compile_options(troupe_options INTERFACE -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds
                                                -Wno-restrict)
if(TROUPE_SANITIZE)
  target_compile_options(troupe_options INTERFACE -fsanitize=${TROUPE_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(troupe_options INTERFACE -fsanitize=${TROUPE_SANITIZE})
  # ThreadSanitizer does not understand standalone fences; nothing here relies on one.
  target_compile_options(troupe_options INTERFACE -Wno-tsan)
endif()

# troupe_library(NAME [LINK target...]): every .cpp below the calling folder is one library of that name.
function(troupe_library name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "_bench\\.cpp$")
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC troupe_options ${arg_LINK})
endfunction()

# troupe_benchmarks(LINK target...): every *_bench.cpp below the calling folder is a Google Benchmark program.
function(troupe_benchmarks)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  if(NOT TROUPE_BENCHMARKS)
    return()
  endif()
  find_package(benchmark REQUIRED)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*_bench.cpp")
  foreach(source ${sources})
    get_filename_component(program "${source}" NAME_WE)
    add_executable(${program} "${source}")
    target_link_libraries(${program} PRIVATE troupe_options ${arg_LINK} benchmark::benchmark)
  endforeach()
endfunction()
