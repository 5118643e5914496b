/* SPDX-License-Identifier: MIT
 * Counts heap memory: preloaded into a Python process, it sees every allocation of every library in it.
 *   heap_peak_start()  forgets the past;  heap_peak_bytes()  the most that was held at once since then, above
 * the start. glibc only: its allocator can be called by other names. Memory from mmap itself (thread stacks)
 * is not seen. */
#include <errno.h>
#include <malloc.h>
#include <stddef.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

static long held, start, peak;

static void* took(void* block) {
  if (block != NULL) {
    const long now = __atomic_add_fetch(&held, (long)malloc_usable_size(block), __ATOMIC_RELAXED);
    long seen = __atomic_load_n(&peak, __ATOMIC_RELAXED);
    while (now > seen &&
           !__atomic_compare_exchange_n(&peak, &seen, now, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
  }
  return block;
}

static void gave(void* block) {
  if (block != NULL) __atomic_sub_fetch(&held, (long)malloc_usable_size(block), __ATOMIC_RELAXED);
}

void heap_peak_start(void) {
  start = __atomic_load_n(&held, __ATOMIC_RELAXED);
  __atomic_store_n(&peak, start, __ATOMIC_RELAXED);
}

long heap_peak_bytes(void) { return __atomic_load_n(&peak, __ATOMIC_RELAXED) - start; }

void* malloc(size_t bytes) { return took(__libc_malloc(bytes)); }

void* calloc(size_t count, size_t bytes) { return took(__libc_calloc(count, bytes)); }

void* realloc(void* block, size_t bytes) {
  gave(block);
  void* moved = __libc_realloc(block, bytes);
  if (moved == NULL && bytes != 0) took(block); /* the old block stays */
  return took(moved);
}

void* memalign(size_t alignment, size_t bytes) { return took(__libc_memalign(alignment, bytes)); }

void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

int posix_memalign(void** block, size_t alignment, size_t bytes) {
  void* made = memalign(alignment, bytes);
  if (made == NULL) return ENOMEM;
  *block = made;
  return 0;
}

void free(void* block) {
  gave(block);
  __libc_free(block);
}
