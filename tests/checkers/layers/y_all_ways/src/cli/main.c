/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/recorder.h"
