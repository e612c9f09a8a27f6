/* SPDX-License-Identifier: Apache-2.0 */
int kymo_last = KYMO_SLOT_R15;
