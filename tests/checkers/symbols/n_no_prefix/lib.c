/* SPDX-License-Identifier: Apache-2.0 */
int ring_push(int value);
int ring_push(int value) { return value; }
