// Which call goes wrong. The controller gives rules; a call asks them before it does anything.
#include "kernel.h"
#include <string.h>

enum { MOST_RULES = 32 };

static struct FaultRule rules[MOST_RULES];
static int rule_count;
// A write was cut short, and the next call is the last.
static bool ends_at_next;
const char *const call_names[CALL_KINDS] = {
    "open", "read", "write", "sync", "name", "cut", "look", "map", "socket", "thread", "memory", "close",
};

void fault_add(const struct FaultRule *rule) {
    if (rule_count == MOST_RULES) not_simulated("fault rules", MOST_RULES);
    rules[rule_count++] = *rule;
}

void fault_remove(uint32_t number) {
    int kept = 0;
    for (int i = 0; i < rule_count; i++)
        if (number != 0 && rules[i].number != number) rules[kept++] = rules[i];
    rule_count = kept;
    // What was torn stays a write that was short.
    if (number == 0) ends_at_next = false;
    wake(&rules, UINT32_MAX);
}

static bool is_there(uint32_t number) {
    for (int i = 0; i < rule_count; i++)
        if (rules[i].number == number) return true;
    return false;
}

// Whether the path has the part: pieces with '*' between them come one behind the other, and the last one ends the path before a '$'.
static bool has_part(const char *path, const char *part) {
    for (;;) {
        size_t length = strcspn(part, "*$");
        if (part[length] == '$') {
            size_t left = strlen(path);
            return left >= length && memcmp(path + left - length, part, length) == 0;
        }
        const char *found = memmem(path, strlen(path), part, length);
        if (!found || !part[length]) return found;
        path = found + length;
        part += length + 1;
    }
}

static bool fits(struct FaultRule *rule, enum Call kind, const char *path) {
    if (!(rule->kinds & 1u << kind)) return false;
    const char *at = strchr(rule->path, '@'), *part = at ? at + 1 : rule->path;
    if (at && strncmp(thread_name(), rule->path, (size_t)(at - rule->path)) != 0) return false;
    if (!has_part(path, part)) return false;
    if (rule->skip > 0) {
        rule->skip--;
        return false;
    }
    return rule->permille >= 1000 || draw_permille(rule->permille);
}

static void tell(const struct FaultRule *rule, enum Call kind, const char *path) {
    uint32_t head[2] = {rule->number, kind};
    report_parts(REPORT_FAULT, head, sizeof head, path, strlen(path));
    trace("fault %u: %s of %s: %d", rule->number, call_names[kind], path, rule->error);
}

int fault_for(enum Call kind, const char *path, size_t *length) {
    trace("%s %s", call_names[kind], path);
    if (ends_at_next) process_ends(-9, "kill -9 in the midst of a write");
    for (int i = 0; i < rule_count; i++) {
        if (!fits(&rules[i], kind, path)) continue;
        struct FaultRule rule = rules[i];
        if (rules[i].times > 0 && --rules[i].times == 0) rules[i] = rules[--rule_count];
        tell(&rule, kind, path);
        switch (rule.error) {
        case FAULT_SHORT:
            if (length && *length > 1) *length = 1 + draw_below(*length - 1);
            return 0;
        case FAULT_TORN_KILL:
            if (length && *length > 1) *length = 1 + draw_below(*length - 1);
            ends_at_next = true;
            return 0;
        case FAULT_SLOW: spend(rule.span); return 0;
        case FAULT_HANG:
            // The rule stays while somebody hangs by it: taking it away lets them go on.
            if (!is_there(rule.number)) fault_add(&rule);
            while (is_there(rule.number)) wait_on(&rules, FOREVER);
            return 0;
        case FAULT_KILL: process_ends(-9, "kill -9");
        case FAULT_CUT:
            disk_power_cut();
            process_ends(-10, "power cut");
        default: return -rule.error;
        }
    }
    return 0;
}
