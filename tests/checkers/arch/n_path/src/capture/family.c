/* SPDX-License-Identifier: Apache-2.0 */
const char kymo_loader[] = "/lib64/ld-linux-x86-64.so.2";
