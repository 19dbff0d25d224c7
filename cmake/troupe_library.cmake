# Compile options that every target of this project shares, and the one way to declare a layer.
add_library(troupe_options INTERFACE)
target_include_directories(troupe_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_features(troupe_options INTERFACE cxx_std_20)
# A project that adds this one keeps its own warnings.
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(troupe_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Werror)
endif()
# No contraction: the bits of a result must not depend on what the compiler chose to fuse. That is nothing to the files
# of a project that adds this one.
set(exact_arithmetic -ffp-contract=off -fno-math-errno)
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(troupe_options INTERFACE ${exact_arithmetic})
else()
  add_compile_options(${exact_arithmetic})
endif()
option(TROUPE_UNITY "Compile the files of a folder together" ON)
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(troupe_options INTERFACE -Wshadow=local)
  if(TROUPE_UNITY)
    # What would be said of names in anonymous namespaces is not meant for files that are included in another.
    target_compile_options(troupe_options INTERFACE -Wno-subobject-linkage)
  endif()
  # GCC 12's flow analysis reports false positives inside the standard library under optimisation and sanitizers.
  target_compile_options(troupe_options INTERFACE -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds
                                                  -Wno-restrict)
endif()
if(TROUPE_SANITIZE)
  target_compile_options(troupe_options INTERFACE -fsanitize=${TROUPE_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(troupe_options INTERFACE -fsanitize=${TROUPE_SANITIZE})
  # ThreadSanitizer does not understand standalone fences; nothing here relies on one.
  target_compile_options(troupe_options INTERFACE -Wno-tsan)
endif()

# Most of the time to compile a file goes into headers, so those of one folder are compiled together, up to ten at a
# time: their anonymous namespaces are one. That goes for tests as well (their compiling takes a third of the time so).
# Files with compile options of their own stay alone. -DTROUPE_UNITY=OFF compiles each by itself, for work on few of them.
function(troupe_unity name sources)
  if(NOT TROUPE_UNITY)
    return()
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  list(SORT sources)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE folder)
    cmake_path(REMOVE_FILENAME folder)
    cmake_path(GET folder PARENT_PATH folder)
    file(RELATIVE_PATH group "${PROJECT_SOURCE_DIR}" "${folder}")
    string(MAKE_C_IDENTIFIER "${group}" group)
    math(EXPR place "${count_${group}} + 0")
    math(EXPR count_${group} "${place} + 1")
    math(EXPR part "${place} / 10")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}_${part}")
  endforeach()
endfunction()

# troupe_library(NAME [LINK target...] [WITHOUT folder]): every .cpp below the calling folder, but not below that other
# one, is one library of that name.
function(troupe_library name)
  cmake_parse_arguments(arg "" "WITHOUT" "LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "_bench\\.cpp$")
  if(arg_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${arg_WITHOUT}/")
  endif()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC troupe_options ${arg_LINK})
  troupe_unity(${name} "${sources}")
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
