# SPDX-License-Identifier: Apache-2.0
# cmake -DINPUT=FILE -DOUTPUT=FILE.c -DNAME=NAME -DHEADER=HEADER -P embed.cmake
# Writes a file as the bytes of a C array NAME, and NAME_bytes, its length.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"${HEADER}\"
const unsigned char ${NAME}[] = {
${bytes}};
const size_t ${NAME}_bytes = sizeof ${NAME};
")
