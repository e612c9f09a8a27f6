/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
double kymo_root(double value);
double kymo_root(double value) { return pow(value, 0.3); }
