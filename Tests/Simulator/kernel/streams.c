// A queue of bytes, and the descriptors that go along with some of them.
//
// A reader sees what has arrived. The seed says how much of what was sent that is; once seen it stays there, so that a look
// (MSG_PEEK, FIONREAD) is not belied by the read behind it.
#include "streams.h"
#include <stdlib.h>
#include <string.h>

static void make_room(struct Stream *stream, size_t length) {
    if (stream->start + stream->length + length <= stream->capacity) return;
    if (stream->start) memmove(stream->bytes, stream->bytes + stream->start, stream->length);
    stream->start = 0;
    if (stream->length + length <= stream->capacity) return;
    while (stream->capacity < stream->length + length) stream->capacity = stream->capacity ? stream->capacity * 2 : 4096;
    stream->bytes = realloc(stream->bytes, stream->capacity);
}

void stream_put(struct Stream *stream, const void *bytes, size_t length, struct Open *const *opens, int count) {
    if (!length) {
        // Linux sends nothing without a byte, descriptors neither.
        for (int i = 0; i < count; i++) open_release(opens[i]);
        return;
    }
    make_room(stream, length);
    memcpy(stream->bytes + stream->start + stream->length, bytes, length);
    if (count > 0) {
        struct Passed *passed = malloc(sizeof *passed + (size_t)count * sizeof *opens);
        uint64_t at = stream->taken + stream->length;
        *passed = (struct Passed){.at = at, .end = at + (length < STREAM_PIECE ? length : STREAM_PIECE), .count = count};
        memcpy(passed->opens, opens, (size_t)count * sizeof *opens);
        if (stream->last) stream->last->next = passed;
        else stream->first = passed;
        stream->last = passed;
    }
    stream->length += length;
}

size_t stream_arrived(struct Stream *stream) {
    if (stream->arrived == stream->length) return stream->arrived;
    if (!draw_permille((unsigned)settings[SETTING_SPLIT])) stream->arrived = stream->length;
    else if (!stream->arrived) stream->arrived = 1 + draw_below(stream->length);
    return stream->arrived;
}

size_t stream_take(struct Stream *stream, void *bytes, size_t length, bool peeks, struct Open **opens, int *count) {
    size_t arrived = stream_arrived(stream), part = arrived < length ? arrived : length;
    *count = 0;
    if (!arrived) return 0;
    // One receive brings the descriptors of one message, and ends with that message's bytes.
    struct Passed *passed = stream->first;
    // A look goes on to the next message that has some, however few bytes it has asked for: so does Linux.
    // Even one that asks for no byte gets those of the message that is next.
    if (passed && passed->at < stream->taken + (peeks ? arrived : part ? part : 1)) {
        if (passed->end < stream->taken + part) part = passed->end - stream->taken;
        *count = passed->count;
        memcpy(opens, passed->opens, (size_t)passed->count * sizeof *opens);
        if (peeks) {
            for (int i = 0; i < passed->count; i++) opens[i]->references++;
        } else {
            // What is left of that message is bytes like any others from here on.
            stream->first = passed->next;
            if (!stream->first) stream->last = NULL;
            free(passed);
        }
    }
    memcpy(bytes, stream->bytes + stream->start, part);
    if (peeks) return part;
    stream->start += part;
    stream->length -= part;
    stream->arrived -= part;
    stream->taken += part;
    if (!stream->length) stream->start = 0;
    return part;
}

void stream_end(struct Stream *stream) {
    while (stream->first) {
        struct Passed *passed = stream->first;
        stream->first = passed->next;
        for (int i = 0; i < passed->count; i++) open_release(passed->opens[i]);
        free(passed);
    }
    free(stream->bytes);
    *stream = (struct Stream){0};
}
