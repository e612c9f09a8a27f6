/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/state.h"
