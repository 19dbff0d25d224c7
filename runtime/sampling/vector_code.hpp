// Plain loops compiled for the vector units of today's processors beside any processor's, and the one run
// that this machine has. All give the same bits: they are the same operations in the same order, and none is
// contracted (-ffp-contract=off).
#pragma once

namespace troupe {

enum class vector_unit { any, avx2, avx512 };

inline vector_unit vector_unit_here() {
  static const vector_unit found = [] {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      return vector_unit::avx512;
    return __builtin_cpu_supports("avx2") ? vector_unit::avx2 : vector_unit::any;
  }();
  return found;
}

// `Loops`: a function object whose call operator is always inlined, as is all that it calls.
template <class Loops, class... Argument>
[[gnu::target("avx2")]] auto run_on_avx2(Argument... argument) {
  return Loops()(argument...);
}
template <class Loops, class... Argument>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]] auto run_on_avx512(
    Argument... argument) {
  return Loops()(argument...);
}

template <class Loops, class... Argument>
auto run_on(vector_unit unit, Argument... argument) {
  switch (unit) {
    case vector_unit::avx512:
      return run_on_avx512<Loops>(argument...);
    case vector_unit::avx2:
      return run_on_avx2<Loops>(argument...);
    case vector_unit::any:
      break;
  }
  return Loops()(argument...);
}

}  // namespace troupe
