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

bool
output_write(Session *s, const char *folder, const OutFiles *files)
{
    if (!make_folder(s, folder))
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
