/* SPDX-License-Identifier: Apache-2.0 */
#include "buffer/record.h"
