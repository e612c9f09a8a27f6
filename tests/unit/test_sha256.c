/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors: NIST's examples of FIPS 180-4, and RFC 4231 for the keyed hash. */
#include "remote/sha256.h"

#include <string.h>

#include "unit.h"

static void is(const unsigned char digest[KYMO_SHA256_BYTES], const char *expected)
{
    char hex[KYMO_SHA256_HEX];
    assert_string_equal(kymo_sha256_hex(digest, hex), expected);
}

static void nist_vectors(void **state)
{
    (void)state;
    static const char *const vectors[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
         "lmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    unsigned char digest[KYMO_SHA256_BYTES];
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        kymo_sha256_of(vectors[i][0], strlen(vectors[i][0]), digest);
        is(digest, vectors[i][1]);
    }
}

static void a_million_letters_in_pieces(void **state)
{
    (void)state;
    char piece[127];
    struct kymo_sha256 sha;
    unsigned char digest[KYMO_SHA256_BYTES];
    memset(piece, 'a', sizeof piece);
    kymo_sha256_init(&sha);
    for (size_t left = 1000000; left > 0;) {
        size_t n = left < sizeof piece ? left : sizeof piece;
        kymo_sha256_add(&sha, piece, n);
        left -= n;
    }
    kymo_sha256_end(&sha, digest);
    is(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Every place that the padding can be at: the hash of all lengths, hashed. */
static void each_length_around_a_block(void **state)
{
    (void)state;
    char text[130];
    struct kymo_sha256 all;
    unsigned char digest[KYMO_SHA256_BYTES];
    memset(text, 'x', sizeof text);
    kymo_sha256_init(&all);
    for (size_t len = 0; len < sizeof text; len++) {
        kymo_sha256_of(text, len, digest);
        kymo_sha256_add(&all, digest, sizeof digest);
    }
    kymo_sha256_end(&all, digest);
    is(digest, "6d0989028287a2bd990515b95658bb810cf688b69517dfc49e4b3778e0b6d923");
}

static void rfc_4231_vectors(void **state)
{
    (void)state;
    unsigned char key[131];
    unsigned char data[50];
    unsigned char digest[KYMO_SHA256_BYTES];
    memset(key, 0x0b, sizeof key);
    kymo_hmac_sha256(key, 20, "Hi There", 8, digest);
    is(digest, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    kymo_hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, digest);
    is(digest, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    memset(data, 0xdd, sizeof data);
    kymo_hmac_sha256(key, 20, data, sizeof data, digest);
    is(digest, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    kymo_hmac_sha256(key, 131, "Test Using Larger Than Block-Size Key - Hash Key First", 54,
                     digest);
    is(digest, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nist_vectors),
        cmocka_unit_test(a_million_letters_in_pieces),
        cmocka_unit_test(each_length_around_a_block),
        cmocka_unit_test(rfc_4231_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
