#include "frontend/output.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
fail(Session *s, const char *what, const char *path)
{
    diag_error(s->diag, (Span){0}, "cannot %s %s: %s", what, path,
               strerror(errno));
    return false;
}

static bool
make_folder(Session *s, const char *path)
{
    struct stat st;
    char *part = arena_strndup(s->arena, path, strlen(path));
    for (char *p = part + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = 0;
        (void)mkdir(part, 0777);
        *p = '/';
    }
    if (mkdir(path, 0777) == 0 || errno == EEXIST) {
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            return true;
        errno = ENOTDIR;
    }
    return fail(s, "make the folder", path);
}

static bool
write_one(Session *s, const char *path, const OutFile *f)
{
    FILE *to = fopen(path, "wb");
    if (!to)
        return fail(s, "write", path);
    bool good = fwrite(f->text, 1, f->n, to) == f->n;
    good = fflush(to) == 0 && good;
    if (fclose(to) == 0 && good)
        return true;
    return fail(s, "write", path);
}

static const char *
join(Session *s, const char *folder, const char *name, const char *end)
{
    return arena_printf(s->arena, "%s/%s%s", folder, name, end);
}

static const char beside[] = ".edlc-new";

static void
remove_new(Session *s, const char *folder, const OutFiles *files)
{
    for (int i = 0; i < files->files.n; i++)
        (void)unlink(join(s, folder, files->files.at[i].name, beside));
}

/* Every folder may have these: what is there begins as ours does, or another
 * wrote it. */
static bool
is_foreign(const char *path, const OutFile *f)
{
    bool common = strcmp(f->name, "Makefile") == 0 ||
                  strcmp(f->name, "CMakeLists.txt") == 0;
    char line[128] = "";
    FILE *old = common ? fopen(path, "rb") : NULL;
    if (!old)
        return false;
    size_t n = strcspn(f->text, ".\n");
    bool same = fread(line, 1, sizeof line - 1, old) >= n &&
                memcmp(line, f->text, n) == 0;
    fclose(old);
    return !same;
}

static bool
overwrites_none(Session *s, const char *folder, const OutFiles *files)
{
    for (int i = 0; i < files->files.n; i++) {
        const char *path = join(s, folder, files->files.at[i].name, "");
        if (!is_foreign(path, &files->files.at[i]))
            continue;
        diag_error(s->diag, (Span){0},
                   "%s was not written by edlc: move it, or say where the "
                   "outputs go with -o DIR",
                   path);
        return false;
    }
    return true;
}

bool
output_write(Session *s, const char *folder, const OutFiles *files)
{
    if (!make_folder(s, folder) || !overwrites_none(s, folder, files))
        return false;
    for (int i = 0; i < files->files.n; i++) {
        const OutFile *f = &files->files.at[i];
        if (!write_one(s, join(s, folder, f->name, beside), f)) {
            remove_new(s, folder, files);
            return false;
        }
    }
    for (int i = 0; i < files->files.n; i++) {
        const char *name = files->files.at[i].name;
        const char *to = join(s, folder, name, "");
        if (rename(join(s, folder, name, beside), to) != 0) {
            fail(s, "write", to);
            remove_new(s, folder, files);
            return false;
        }
    }
    return true;
}

bool
output_ask(Session *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *folder = !slash ? "."
                         : slash == path
                             ? "/"
                             : arena_printf(s->arena, "%.*s",
                                            (int)(slash - path), path);
    return access(folder, W_OK) == 0 || fail(s, "write", path);
}

bool
output_write_file(Session *s, const char *path, const char *text, size_t n)
{
    struct stat st;
    OutFile f = {path, text, n};
    const char *new = arena_printf(s->arena, "%s%s", path, beside);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return write_one(s, path, &f);
    if (write_one(s, new, &f)) {
        if (rename(new, path) == 0)
            return true;
        fail(s, "write", path);
    }
    (void)unlink(new);
    return false;
}
