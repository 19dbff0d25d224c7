// memcpy, memmove and memset in kernels: the compiler checks no access of theirs, so that they are others
// (memory_check.cpp), which do.
#pragma once
#include <cstddef>
#include <cstring>

extern "C" {
void* memcpy(void* to, const void* from, std::size_t bytes) noexcept __asm__("troupe_checked_memcpy");
void* memmove(void* to, const void* from, std::size_t bytes) noexcept __asm__("troupe_checked_memmove");
void* memset(void* to, int value, std::size_t bytes) noexcept __asm__("troupe_checked_memset");
}
