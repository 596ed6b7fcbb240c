/* edlc run: compiles into a temporary folder, builds the trainer there with
 * cc, and becomes it. The folder is gone before training begins. */
#include "frontend/compile.h"
#include "frontend/lower_session.h"
#include "frontend/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Build {
    Session *s;
    const char *folder;
    VEC(const char *) sources; /* without .c */
    const OutFiles *files;
} Build;

typedef VEC(const char *) Words;

static const char *
in_folder(const Build *b, const char *name, const char *suffix)
{
    return arena_printf(b->s->arena, "%s/%s%s", b->folder, name, suffix);
}

static void
remove_folder(const Build *b)
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
start(const Build *b, const Words *words)
{
    (void)b;
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
    return w;
}

static void
add(const Build *b, Words *w, const char *word)
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
        add(b, &w, "-c");
        add(b, &w, in_folder(b, b->sources.at[i], ".c"));
        add(b, &w, "-o");
        add(b, &w, in_folder(b, b->sources.at[i], ".o"));
        add(b, &w, NULL);
        if (running >= most) {
            good = wait_for_one();
            running--;
        }
        if (good && start(b, &w) > 0)
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
        add(b, &w, in_folder(b, b->sources.at[i], ".o"));
    add(b, &w, "-o");
    add(b, &w, in_folder(b, "trainer", ""));
    add(b, &w, "-lm");
    add(b, &w, NULL);
    return start(b, &w) > 0 && wait_for_one();
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

/* ---- running ---- */

static void
pass_text(const Build *b, Words *w, const char *flag, const char *value)
{
    if (value)
        add(b, w, arena_printf(b->s->arena, "%s=%s", flag, value));
}

static Words
trainer_words(const Build *b, const char *name)
{
    const Options *o = b->s->options;
    Words w = {0};
    add(b, &w, name);
    pass_text(b, &w, "--steps", o->steps);
    pass_text(b, &w, "--threads", o->threads);
    pass_text(b, &w, "--seed", o->seed);
    pass_text(b, &w, "--inputs", o->inputs_file);
    pass_text(b, &w, "--outputs", o->outputs);
    if (o->grads)
        add(b, &w, "--grads");
    pass_text(b, &w, "--init", o->init);
    pass_text(b, &w, "--names", o->names);
    pass_text(b, &w, "--resume", o->resume);
    pass_text(b, &w, "--save", o->save);
    pass_text(b, &w, "--metrics", o->metrics);
    if (o->quiet)
        add(b, &w, "--quiet");
    add(b, &w, NULL);
    return w;
}

/* Does not come back when all is well. */
static Status
become(const Build *b, const char *name)
{
    extern char **environ;
    const char *path = in_folder(b, "trainer", "");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Words w = trainer_words(b, name);
    remove_folder(b);
    if (fd >= 0)
        fexecve(fd, (char *const *)w.at, environ);
    diag_error(b->s->diag, (Span){0}, "cannot run the trainer: %s",
               strerror(errno));
    return STATUS_INPUT;
}

static Status
build_and_run(Session *s, const OutFiles *files, const char *name)
{
    const char *tmp = getenv("TMPDIR");
    char *folder =
        arena_printf(s->arena, "%s/edlc-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(folder)) {
        diag_error(s->diag, (Span){0}, "cannot make a folder in %s: %s",
                   tmp && *tmp ? tmp : "/tmp", strerror(errno));
        return STATUS_INPUT;
    }
    Build b = {.s = s, .folder = folder, .files = files};
    find_sources(&b);
    if (!output_write(s, folder, files)) {
        remove_folder(&b);
        return STATUS_INPUT;
    }
    if (!compile_sources(&b) || !link_trainer(&b)) {
        remove_folder(&b);
        diag_error(s->diag, (Span){0},
                   "the C compiler has failed; `run` needs a working cc");
        return STATUS_INPUT;
    }
    return become(&b, name);
}

/* The model to train: of several the only one that has a train block. */
static Module *
choose_model(Session *s, const LowerOptions *o)
{
    Modules all = {0};
    Module *found = NULL;
    int n = 0;
    if (!o->model && lower_file(s->arena, s->interner, s->diag, o, &all)) {
        for (int i = 0; i < all.n; i++) {
            found = all.at[i]->train ? all.at[i] : found;
            n += all.at[i]->train != NULL;
        }
        if (n == 1)
            return found;
    }
    return diag_count(s->diag) ? NULL
                               : lower_model(s->arena, s->interner, s->diag, o);
}

Status
cmd_run(Session *s)
{
    const char *path;
    LowerOptions o;
    if (!session_one_input(s, &path))
        return STATUS_USAGE;
    if (!lower_options(s, path, &o))
        return STATUS_INPUT;
    if (s->options->grads && o.mode == LOWER_train)
        o.mode = LOWER_grads;
    Module *m = choose_model(s, &o);
    if (!m)
        return STATUS_INPUT;
    OutFiles files = {0};
    Status status = compile_model(s, m, &files);
    if (status != STATUS_DONE || files.files.n == 0)
        return status;
    return build_and_run(s, &files, m->name);
}
