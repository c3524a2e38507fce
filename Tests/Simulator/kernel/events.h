// What epoll, poll, timers and signals share.
#pragma once
#include "kernel.h"
#include <signal.h>

extern const struct Operations epoll_operations, event_operations, timer_operations, signal_operations, output_operations;
// When time alone makes this ready; FOREVER: never.
nanoseconds timer_expiry(struct Open *);
// When this becomes ready by itself: a timer, or an epoll with one in it.
nanoseconds ready_at(struct Open *);
// Handlers that have run on this thread: a wait that sees it grow ends with EINTR.
extern __thread unsigned signals_handled;
// When a wait of so long ends; a negative span has no end.
static inline nanoseconds deadline_of(nanoseconds span) { return span < 0 ? FOREVER : monotonic_now() + span; }
