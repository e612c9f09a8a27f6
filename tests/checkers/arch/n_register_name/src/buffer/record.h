/* SPDX-License-Identifier: Apache-2.0 */
struct kymo_answer {
    unsigned long ip;
    unsigned long rbp;
};
