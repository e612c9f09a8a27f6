/* SPDX-License-Identifier: Apache-2.0 */
int kymo_f(int a) {
  return a;
}
