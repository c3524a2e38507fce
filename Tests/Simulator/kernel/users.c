// Names of users and groups, out of /etc/passwd and /etc/group of the simulated disk.
#include "kernel.h"
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 << 10 };

// The next line, cut into fields at its colons; false at the end. `text` goes on behind it.
static bool next_line(char **text, char *fields[], int count) {
    while (**text) {
        char *line = *text, *end = strchrnul(line, '\n');
        *text = *end ? end + 1 : end;
        *end = 0;
        int found = 0;
        while (line && found < count) fields[found++] = strsep(&line, ":");
        if (found == count && !line) return true;
    }
    return false;
}

// A copy of the line that has `key` as its name or its number, in `buffer`; 0 with *is_found, or an error.
static int look(const char *path, const char *name, unsigned number, int count, char *fields[], char *buffer, size_t room, bool *is_found) {
    char *text = calloc(1, MOST), *at = text, *parts[8];
    ssize_t length = disk_get(path, 0, text, MOST - 1);
    *is_found = false;
    int error = 0;
    while (length > 0 && !*is_found && next_line(&at, parts, count)) {
        if (name ? strcmp(parts[0], name) != 0 : strtoul(parts[2], NULL, 10) != number) continue;
        *is_found = true;
        for (int i = 0; i < count && !error; i++) {
            size_t size = strlen(parts[i]) + 1;
            if (size > room) { error = ERANGE; break; }
            fields[i] = memcpy(buffer, parts[i], size);
            buffer += size, room -= size;
        }
    }
    free(text);
    return length < 0 && length != -ENOENT ? (int)-length : error;
}

static int user(const char *name, uid_t number, struct passwd *entry, char *buffer, size_t room, struct passwd **result) {
    char *fields[7];
    bool is_found;
    seam();
    int error = look("/etc/passwd", name, number, 7, fields, buffer, room, &is_found);
    *result = NULL;
    if (error || !is_found) return error;
    *entry = (struct passwd){fields[0], fields[1], (uid_t)atoi(fields[2]), (gid_t)atoi(fields[3]), fields[4], fields[5], fields[6]};
    *result = entry;
    return 0;
}

static int group(const char *name, gid_t number, struct group *entry, char *buffer, size_t room, struct group **result) {
    char *fields[4];
    bool is_found;
    seam();
    *result = NULL;
    // The pointers to the members come first, where they lie straight: one for each, and the last.
    uintptr_t skew = -(uintptr_t)buffer % sizeof(char *);
    size_t list = 64 * sizeof(char *) + skew;
    if (room <= list) return ERANGE;
    int error = look("/etc/group", name, number, 4, fields, buffer + list, room - list, &is_found);
    if (error || !is_found) return error;
    char **members = (char **)(buffer + skew), *rest = fields[3];
    int count = 0;
    while (rest && *rest && count < 63) members[count++] = strsep(&rest, ",");
    members[count] = NULL;
    *entry = (struct group){fields[0], fields[1], (gid_t)atoi(fields[2]), members};
    *result = entry;
    return 0;
}

// MARK: What programs ask

EXPORT int getpwnam_r(const char *name, struct passwd *entry, char *buffer, size_t room, struct passwd **result) {
    return user(name, 0, entry, buffer, room, result);
}
EXPORT int getpwuid_r(uid_t number, struct passwd *entry, char *buffer, size_t room, struct passwd **result) {
    return user(NULL, number, entry, buffer, room, result);
}
EXPORT int getgrnam_r(const char *name, struct group *entry, char *buffer, size_t room, struct group **result) {
    return group(name, 0, entry, buffer, room, result);
}
EXPORT int getgrgid_r(gid_t number, struct group *entry, char *buffer, size_t room, struct group **result) {
    return group(NULL, number, entry, buffer, room, result);
}

EXPORT struct passwd *getpwuid(uid_t number) { not_simulated("getpwuid", (long)number); }
EXPORT struct passwd *getpwnam(const char *name) { not_simulated("getpwnam", name[0]); }
EXPORT int getgrouplist(const char *name, gid_t first, gid_t *groups, int *count) {
    (void)name, (void)groups, (void)count;
    not_simulated("getgrouplist", (long)first);
}
