#ifndef KURA_CPCRE2_SHIM_H
#define KURA_CPCRE2_SHIM_H

// The header wants to know the width before it is read; Swift then sees the functions under their real names, with `_8`.
#define PCRE2_CODE_UNIT_WIDTH 8

#include <pcre2.h>

#endif
