/* SPDX-License-Identifier: Apache-2.0 */
#include "views/allocator_name.h"

#include <string.h>

#include "base/error.h"

/* Complete names, without parameters. */
static const char *const names[] = {
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "valloc",
    "pvalloc",
    "posix_memalign",
    "__libc_malloc",
    "__libc_calloc",
    "__libc_realloc",
    "__libc_memalign",
    "__GI___libc_malloc",
    "__rust_alloc",
    "__rust_alloc_zeroed",
    "__rust_realloc",
    "__rdl_alloc",
    "__rdl_alloc_zeroed",
    "__rdl_realloc",
    /* Python's */
    "PyMem_Malloc",
    "PyMem_Calloc",
    "PyMem_Realloc",
    "PyMem_RawMalloc",
    "PyMem_RawCalloc",
    "PyMem_RawRealloc",
    "_PyMem_RawMalloc",
    "_PyMem_RawCalloc",
    "_PyMem_RawRealloc",
    "PyObject_Malloc",
    "PyObject_Calloc",
    "PyObject_Realloc",
    "_PyObject_Malloc",
    "_PyObject_Calloc",
    "_PyObject_Realloc",
    "pymalloc_realloc",
    "_PyObject_MallocWithType",
    "_PyObject_ReallocWithType",
    "_PyObject_New",
    "_PyObject_NewVar",
    "_PyObject_GC_Alloc",
    "_PyObject_GC_Malloc",
    "_PyObject_GC_Calloc",
    "_PyObject_GC_New",
    "_PyObject_GC_NewVar",
    "_PyObject_GC_Resize",
    "gc_alloc",
    "PyType_GenericAlloc",
    "_PyType_AllocNoTrack",
    "_PyType_NewManagedObject",
};

/* Prefixes of names: C++ templates, and all of Rust's crate alloc. */
static const char *const beginnings[] = {
    "operator new",
    "std::allocator<",
    "std::allocator_traits<",
    "std::__new_allocator<",
    "__gnu_cxx::new_allocator<",
    "__gnu_cxx::__alloc_traits<",
    "alloc::",
    "<alloc::",
};

int kymo_allocator_name(const char *name)
{
    for (size_t i = 0; i < KYMO_ARRAY_LEN(beginnings); i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return 1;
    size_t len = strcspn(name, "(@");
    for (size_t i = 0; i < KYMO_ARRAY_LEN(names); i++)
        if (strlen(names[i]) == len && memcmp(name, names[i], len) == 0)
            return 1;
    return 0;
}
