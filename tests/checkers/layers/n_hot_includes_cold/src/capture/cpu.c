/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/json.h"
