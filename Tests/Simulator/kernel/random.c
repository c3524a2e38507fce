// Every choice of a run. xoshiro256++ (Blackman and Vigna), begun by splitmix64.
#include "kernel.h"
#include <string.h>

static uint64_t state[4];

static uint64_t rotated(uint64_t word, int bits) { return word << bits | word >> (64 - bits); }

void random_begin(uint64_t seed) {
    for (int i = 0; i < 4; i++) {
        uint64_t word = seed += 0x9E3779B97F4A7C15;
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9;
        word = (word ^ word >> 27) * 0x94D049BB133111EB;
        state[i] = word ^ word >> 31;
    }
}

uint64_t draw(void) {
    uint64_t result = rotated(state[0] + state[3], 23) + state[0], moved = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= moved;
    state[3] = rotated(state[3], 45);
    return result;
}

uint64_t draw_below(uint64_t bound) { return (uint64_t)((unsigned __int128)draw() * bound >> 64); }

bool draw_permille(unsigned permille) { return permille > 0 && draw_below(1000) < permille; }

void draw_bytes(void *bytes, size_t length) {
    unsigned char *to = bytes;
    while (length > 0) {
        uint64_t word = draw();
        size_t part = length < 8 ? length : 8;
        memcpy(to, &word, part);
        to += part, length -= part;
    }
}

// MARK: What programs ask

EXPORT ssize_t getrandom(void *bytes, size_t length, unsigned flags) {
    (void)flags;
    seam();
    draw_bytes(bytes, length);
    return (ssize_t)length;
}

EXPORT int getentropy(void *bytes, size_t length) {
    if (length > 256) return (int)answer(-EIO);
    draw_bytes(bytes, length);
    return 0;
}

EXPORT uint32_t arc4random(void) { return (uint32_t)draw(); }
EXPORT void arc4random_buf(void *bytes, size_t length) { draw_bytes(bytes, length); }
EXPORT uint32_t arc4random_uniform(uint32_t bound) { return bound < 2 ? 0 : (uint32_t)draw_below(bound); }
