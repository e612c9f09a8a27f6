/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"
