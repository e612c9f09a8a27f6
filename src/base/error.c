/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *kymo_err_name(kymo_err code)
{
    switch (code) {
    case KYMO_OK:
        return "KYMO_OK";
#define X(name, number, text) \
    case KYMO_E_##name:       \
        return "KYMO_E_" #name;
        KYMO_ERROR_LIST(X)
#undef X
    }
    return "KYMO_E_UNKNOWN";
}

const char *kymo_err_text(kymo_err code)
{
    switch (code) {
    case KYMO_OK:
        return "success";
#define X(name, number, text) \
    case KYMO_E_##name:       \
        return text;
        KYMO_ERROR_LIST(X)
#undef X
    }
    return "unknown error";
}

kymo_err kymo_err_from_errno(int sys_errno)
{
    switch (sys_errno) {
    case 0:
        return KYMO_OK;
    case ENOMEM:
        return KYMO_E_NOMEM;
    case EINVAL:
        return KYMO_E_INVALID;
    case ENOENT:
    case ENOTDIR:
    case ESRCH:
        return KYMO_E_NOT_FOUND;
    case EEXIST:
        return KYMO_E_EXISTS;
    case EPERM:
    case EACCES:
    case EROFS:
        return KYMO_E_PERMISSION;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return KYMO_E_NO_SPACE;
    case EIO:
        return KYMO_E_IO;
    case EINTR:
        return KYMO_E_INTERRUPTED;
    case ETIMEDOUT:
        return KYMO_E_TIMEOUT;
    case EPIPE:
    case ECONNRESET:
        return KYMO_E_CLOSED;
    case ENOSYS:
    case EOPNOTSUPP:
        return KYMO_E_UNSUPPORTED;
    default:
        return KYMO_E_SYSTEM;
    }
}

kymo_err kymo_error_set(kymo_error *detail, kymo_err code, uint64_t position, const char *fmt, ...)
{
    if (detail) {
        va_list args;
        va_start(args, fmt);
        detail->code = code;
        detail->sys_errno = 0;
        detail->position = position;
        vsnprintf(detail->message, sizeof detail->message, fmt, args);
        va_end(args);
    }
    return code;
}

kymo_err kymo_error_set_errno(kymo_error *detail, const char *fmt, ...)
{
    int sys_errno = errno;
    kymo_err code = kymo_err_from_errno(sys_errno);
    if (code == KYMO_OK)
        code = KYMO_E_SYSTEM;
    if (detail) {
        va_list args;
        va_start(args, fmt);
        detail->code = code;
        detail->sys_errno = sys_errno;
        detail->position = 0;
        int n = vsnprintf(detail->message, sizeof detail->message, fmt, args);
        va_end(args);
        if (n >= 0 && (size_t)n < sizeof detail->message)
            snprintf(detail->message + n, sizeof detail->message - (size_t)n, ": %s",
                     sys_errno == ELOOP ? "too many symbolic links on the way, or, as root, one of "
                                          "another user's"
                                        : strerror(sys_errno));
    }
    errno = sys_errno;
    return code;
}
