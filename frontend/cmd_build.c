#include "frontend/cmd_build.h"

#include "frontend/output.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *
in_folder(const Build *b, const char *name, const char *suffix)
{
    return arena_printf(b->s->arena, "%s/%s%s", b->folder, name, suffix);
}

const char *
build_path(const Build *b, const char *name)
{
    return in_folder(b, name, "");
}

void
build_remove(const Build *b)
{
    for (int i = 0; i < b->files->files.n; i++)
        unlink(in_folder(b, b->files->files.at[i].name, ""));
    for (int i = 0; i < b->sources.n; i++)
        unlink(in_folder(b, b->sources.at[i], ".o"));
    unlink(in_folder(b, "trainer", ""));
    rmdir(b->folder);
}

/* ---- building ---- */

static pid_t
start(const Words *words)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    execvp(words->at[0], (char *const *)words->at);
    fprintf(stderr, "edlc: cannot run %s: %s\n", words->at[0], strerror(errno));
    _exit(127);
}

static bool
wait_for_one(void)
{
    int status;
    pid_t pid;
    do
        pid = wait(&status);
    while (pid < 0 && errno == EINTR);
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static Words
compiler(const Build *b)
{
    static const char *const flags[] = {"-std=c11",        "-O3",
                                        "-march=native",   "-ffp-contract=off",
                                        "-fno-math-errno", "-fno-trapping-math",
                                        "-pthread"};
    Words w = {0};
    const char *cc = getenv("CC");
    vec_push(b->s->arena, &w, cc && *cc ? cc : "cc");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        vec_push(b->s->arena, &w, flags[i]);
    if (b->define)
        vec_push(b->s->arena, &w, b->define);
    return w;
}

void
build_add(const Build *b, Words *w, const char *word)
{
    vec_push(b->s->arena, w, word);
}

/* As many compilers at a time as there are processors. */
static bool
compile_sources(const Build *b)
{
    long most = sysconf(_SC_NPROCESSORS_ONLN);
    int running = 0;
    bool good = true;
    for (int i = 0; good && i < b->sources.n; i++) {
        Words w = compiler(b);
        build_add(b, &w, "-c");
        build_add(b, &w, in_folder(b, b->sources.at[i], ".c"));
        build_add(b, &w, "-o");
        build_add(b, &w, in_folder(b, b->sources.at[i], ".o"));
        build_add(b, &w, NULL);
        if (running >= most) {
            good = wait_for_one();
            running--;
        }
        if (good && start(&w) > 0)
            running++;
        else
            good = false;
    }
    for (; running > 0; running--)
        good &= wait_for_one();
    return good;
}

static bool
link_trainer(const Build *b)
{
    Words w = compiler(b);
    for (int i = 0; i < b->sources.n; i++)
        build_add(b, &w, in_folder(b, b->sources.at[i], ".o"));
    build_add(b, &w, "-o");
    build_add(b, &w, in_folder(b, "trainer", ""));
    build_add(b, &w, "-lm");
    build_add(b, &w, NULL);
    return start(&w) > 0 && wait_for_one();
}

static void
find_sources(Build *b)
{
    for (int i = 0; i < b->files->files.n; i++) {
        const char *name = b->files->files.at[i].name;
        size_t n = strlen(name);
        if (n > 2 && strcmp(name + n - 2, ".c") == 0)
            vec_push(b->s->arena, &b->sources,
                     arena_strndup(b->s->arena, name, n - 2));
    }
}

bool
build_run(const Words *words)
{
    return start(words) > 0 && wait_for_one();
}

static bool
make_folder(Build *b)
{
    const char *tmp = getenv("TMPDIR");
    char *folder =
        arena_printf(b->s->arena, "%s/edlc-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    b->folder = folder;
    if (mkdtemp(folder))
        return true;
    diag_error(b->s->diag, (Span){0}, "cannot make a folder in %s: %s",
               tmp && *tmp ? tmp : "/tmp", strerror(errno));
    return false;
}

bool
build_open(Build *b)
{
    if (!make_folder(b))
        return false;
    if (output_write(b->s, b->folder, b->files))
        return true;
    build_remove(b);
    return false;
}

bool
build_make(Build *b, const char *what)
{
    if (!build_open(b))
        return false;
    find_sources(b);
    if (compile_sources(b) && link_trainer(b))
        return true;
    build_remove(b);
    diag_error(b->s->diag, (Span){0},
               "the C compiler has failed; `%s` needs a working cc", what);
    return false;
}
