/* SPDX-License-Identifier: Apache-2.0 */
/* #include "encode/json.h" */
#include <kymo/error.h>
#include <sys/mman.h>

#include "arch/registers.h"
#include "capture/cpu.h"
