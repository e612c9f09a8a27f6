/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/walk.h"
