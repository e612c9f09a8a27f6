/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "unwind/expr.h"

static uint64_t memory[4] = {0x1122334455667788ull, 42, 0, 7};

static enum kymo_expr_status eval(const uint8_t *bytes, size_t len, uint64_t *value)
{
    uint64_t gpr[16];
    for (unsigned i = 0; i < 16; i++)
        gpr[i] = 1000 * i;
    gpr[7] = (uint64_t)(uintptr_t)memory;
    struct kymo_expr_regs regs = {.ip = 0x100b, .gpr = gpr, .known = 0xffff & ~(1u << 5)};
    struct kymo_stack_window window = {.own_lo = (uint64_t)(uintptr_t)memory,
                                       .own_hi = (uint64_t)(uintptr_t)(memory + 4)};
    uint64_t cfa = 500;
    kymo_reader span = {.at = bytes, .end = bytes + len};
    return kymo_expr_eval(span, &regs, &window, &cfa, value);
}

#define EVAL(...)                                                             \
    ({                                                                        \
        const uint8_t bytes_[] = {__VA_ARGS__};                               \
        uint64_t value_ = 0;                                                  \
        assert_int_equal(eval(bytes_, sizeof bytes_, &value_), KYMO_EXPR_OK); \
        value_;                                                               \
    })

#define STATUS(...)                             \
    ({                                          \
        const uint8_t bytes_[] = {__VA_ARGS__}; \
        uint64_t value_ = 0;                    \
        eval(bytes_, sizeof bytes_, &value_);   \
    })

static void values(void **state)
{
    (void)state;
    assert_int_equal(EVAL(0x96), 500);                            /* nop: what was pushed first */
    assert_int_equal(EVAL(0x31, 0x39, 0x22), 10);                 /* 1 9 plus */
    assert_int_equal(EVAL(0x39, 0x31, 0x1c), 8);                  /* 9 1 minus */
    assert_int_equal(EVAL(0x09, 0xff, 0x34, 0x26), UINT64_MAX);   /* -1 4 shra */
    assert_int_equal(EVAL(0x09, 0xf8, 0x32, 0x1b), (uint64_t)-4); /* -8 2 div */
    assert_int_equal(EVAL(0x0b, 0xfe, 0xff), (uint64_t)-2);       /* const2s */
    assert_int_equal(EVAL(0x0c, 1, 2, 3, 4), 0x04030201);
    assert_int_equal(EVAL(0x10, 0x80, 0x01), 128);                      /* constu */
    assert_int_equal(EVAL(0x11, 0x7f), UINT64_MAX);                     /* consts */
    assert_int_equal(EVAL(0x31, 0x32, 0x16, 0x1c), 1);                  /* 1 2 swap minus */
    assert_int_equal(EVAL(0x31, 0x32, 0x33, 0x17, 0x1c), (uint64_t)-1); /* 1 2 3 rot: 3 1 2 minus */
    assert_int_equal(EVAL(0x31, 0x32, 0x15, 1), 1);                     /* pick */
    assert_int_equal(EVAL(0x31, 0x32, 0x14), 1);                        /* over */
    assert_int_equal(EVAL(0x35, 0x12, 0x1e), 25);                       /* 5 dup mul */
    assert_int_equal(EVAL(0x35, 0x13), 500);                            /* drop */
    assert_int_equal(EVAL(0x32, 0x35, 0x2d), 1);                        /* 2 5 lt */
    assert_int_equal(EVAL(0x23, 0x08), 508);                            /* plus_uconst */
    assert_int_equal(EVAL(0x73, 0x7f), 2999);                           /* breg3 -1 */
    assert_int_equal(EVAL(0x92, 0x03, 0x01), 3001);                     /* bregx */
    assert_int_equal(EVAL(0x77, 0x08, 0x06), 42);                       /* *(rsp + 8) */
    assert_int_equal(EVAL(0x77, 0x00, 0x94, 0x02), 0x7788);             /* two bytes of it */
    /* 1 bra +1 [lit5] lit7: jumps over */
    assert_int_equal(EVAL(0x31, 0x28, 1, 0, 0x35, 0x37), 7);
    assert_int_equal(EVAL(0x2f, 1, 0, 0x35, 0x37), 7);
    /* The expression of .plt: rsp + 8 + ((rip & 15) >= 11) * 8, at ...b */
    assert_int_equal(EVAL(0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22),
                     (uint64_t)(uintptr_t)memory + 16);
}

static void failures(void **state)
{
    (void)state;
    assert_int_equal(STATUS(0x13, 0x13), KYMO_EXPR_UNSUPPORTED);             /* stack underrun */
    assert_int_equal(STATUS(0x31, 0x31, 0x31, 0x31, 0x31, 0x31, 0x31, 0x31), /* overrun */
                     KYMO_EXPR_UNSUPPORTED);
    assert_int_equal(STATUS(0x0c, 1, 2), KYMO_EXPR_UNSUPPORTED); /* cut */
    assert_int_equal(STATUS(0x30, 0x1b), KYMO_EXPR_UNSUPPORTED); /* division by 0 */
    assert_int_equal(STATUS(0x2f, 0xfd, 0xff),
                     KYMO_EXPR_UNSUPPORTED); /* skip to itself, for ever */
    assert_int_equal(STATUS(0x2f, 0x00, 0x70), KYMO_EXPR_UNSUPPORTED); /* out of the expression */
    assert_int_equal(STATUS(0x75, 0x00), KYMO_EXPR_UNKNOWN_REGISTER);
    assert_int_equal(STATUS(0x90, 0x00), KYMO_EXPR_UNSUPPORTED); /* regx is not for addresses */
    assert_int_equal(STATUS(0x38, 0x06), KYMO_EXPR_BAD_MEMORY);  /* *8 */
    assert_int_equal(STATUS(0x77, 0x1c, 0x06), KYMO_EXPR_BAD_MEMORY); /* half outside */
    assert_int_equal(STATUS(0x15, 1), KYMO_EXPR_UNSUPPORTED);
    assert_int_equal(STATUS(0xff), KYMO_EXPR_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(failures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
