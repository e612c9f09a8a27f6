/* SPDX-License-Identifier: Apache-2.0 */
/* What test_python_late.c loads: a library that looks like libpython, built several times. */
#include <stdint.h>

/* As much as the recorder reads of it, and more. */
uint64_t _PyRuntime[256] = {1};
#ifndef NO_CODE_TYPE
uint64_t PyCode_Type[8] = {1};
#endif
#ifdef VERSION
const uint64_t Py_Version = VERSION;
#endif

int _PyEval_EvalFrameDefault(int n);
int _PyEval_EvalFrameDefault(int n)
{
    return n + 1;
}
