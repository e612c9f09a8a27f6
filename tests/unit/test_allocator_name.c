/* SPDX-License-Identifier: Apache-2.0 */
#include "views/allocator_name.h"

#include "unit.h"

static void what_passes_a_request_on(void **state)
{
    (void)state;
    static const char *const all[] = {
        "malloc",
        "malloc@plt",
        "posix_memalign",
        "operator new(unsigned long)",
        "operator new[](unsigned long, std::align_val_t)",
        "std::allocator<char>::allocate(unsigned long)",
        "std::__new_allocator<int>::allocate(unsigned long, void const*)",
        "__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)",
        "std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, ulong)",
        "__rust_alloc",
        "alloc::raw_vec::RawVec<T,A>::grow_one",
        "<alloc::alloc::Global as core::alloc::Allocator>::allocate",
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!kymo_allocator_name(all[i]))
            fail_msg("%s", all[i]);
}

static void what_only_looks_like_it(void **state)
{
    (void)state;
    static const char *const all[] = {"",
                                      "xmalloc",
                                      "malloc_cache_fill(int)",
                                      "my::allocator<int>::allocate(unsigned long)",
                                      "operator delete(void*)",
                                      "std::vector<int>::push_back(int const&)",
                                      "allocate"};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (kymo_allocator_name(all[i]))
            fail_msg("%s", all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_passes_a_request_on),
        cmocka_unit_test(what_only_looks_like_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
