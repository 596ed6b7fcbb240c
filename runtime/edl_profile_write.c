/* What was timed, as a table for people and as files for programs. Numbers
 * are written from integers, so that no locale changes them. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "edl_profile_parts.h"

#ifdef EDL_PROFILE

#include <stdlib.h>
#include <string.h>

/* ---- sums ---- */

static int
by_value(const void *x, const void *y)
{
    float a = *(const float *)x, b = *(const float *)y;
    return a < b ? -1 : a > b;
}

static double
median(const EdlTimes *t)
{
    float sorted[EDL_PROFILE_SAMPLES];
    int n = t->runs < EDL_PROFILE_SAMPLES ? (int)t->runs : EDL_PROFILE_SAMPLES;
    if (n == 0)
        return 0;
    memcpy(sorted, t->sample, sizeof sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    return sorted[n / 2];
}

/* All nodes of a kernel; times in nanoseconds of a step, medians. */
typedef struct Row {
    const char *kernel, *node;
    int64_t nodes;
    double calls, ns, operations, bytes, roof;
} Row;

static double
steps_of(const EdlProfile *p)
{
    return (double)(p->last_step - p->first_step + 1);
}

static double
roof(const EdlProfileNode *n, EdlPeaks peaks)
{
    double compute = peaks.gflops > 0 ? n->operations / peaks.gflops : 0;
    double memory = peaks.gbytes > 0 ? n->bytes / peaks.gbytes : 0;
    return compute > memory ? compute : memory;
}

static Row *
row_of(Row *rows, int64_t *n, const EdlProfileNode *node)
{
    for (int64_t i = 0; i < *n; i++) {
        if (strcmp(rows[i].kernel, node->kernel) == 0)
            return &rows[i];
    }
    Row *r = &rows[(*n)++];
    memset(r, 0, sizeof *r);
    r->kernel = node->kernel;
    r->node = node->name;
    return r;
}

static int
by_time(const void *x, const void *y)
{
    const Row *a = (const Row *)x, *b = (const Row *)y;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return strcmp(a->kernel, b->kernel);
}

static int64_t
count_nodes(const EdlProfile *p)
{
    int64_t n = 0;
    for (int32_t i = 0; i < p->ngraphs; i++)
        n += p->graphs[i].graph->nnodes;
    return n;
}

static int64_t
sum_rows(const EdlProfile *p, EdlPeaks peaks, Row *rows)
{
    int64_t n = 0;
    for (int32_t i = 0; i < p->ngraphs; i++) {
        const EdlGraphTimes *g = &p->graphs[i];
        for (int32_t k = 0; k < g->graph->nnodes; k++) {
            const EdlProfileNode *node = &g->graph->nodes[k];
            Row *r = row_of(rows, &n, node);
            double runs = (double)g->times[k].runs / steps_of(p);
            r->nodes++;
            r->calls += runs * (double)node->calls;
            r->ns += runs * median(&g->times[k]);
            r->operations += runs * node->operations;
            r->bytes += runs * node->bytes;
            r->roof += runs * roof(node, peaks);
        }
    }
    qsort(rows, (size_t)n, sizeof *rows, by_time);
    return n;
}

/* ---- the table ---- */

static void
print_row(const Row *r, double all, FILE *to)
{
    double ns = r->ns > 0 ? r->ns : 1;
    fprintf(to, "%10.3f %5.1f%% %7.0f %9.1f %8.1f %5.0f%%  %s (%s%s)\n",
            r->ns * 1e-6, all > 0 ? 100 * r->ns / all : 0, r->calls,
            r->operations / ns, r->bytes / ns, 100 * r->roof / ns, r->kernel,
            r->node, r->nodes > 1 ? ", ..." : "");
}

void
edl_profile_print(const EdlProfile *p, EdlPeaks peaks, FILE *to)
{
    Row *rows = (Row *)calloc((size_t)count_nodes(p) + 1, sizeof *rows);
    Row all = {"all", "", 0, 0, 0, 0, 0, 0};
    if (!rows)
        return;
    int64_t n = sum_rows(p, peaks, rows);
    for (int64_t i = 0; i < n; i++) {
        all.calls += rows[i].calls;
        all.ns += rows[i].ns;
        all.operations += rows[i].operations;
        all.bytes += rows[i].bytes;
        all.roof += rows[i].roof;
    }
    fprintf(to, "kernels of a step, medians of %.0f steps; the machine does "
                "%.1f GFLOP/s and %.1f GB/s now\n", steps_of(p), peaks.gflops,
            peaks.gbytes);
    fputs("ms of a step  share   calls  GFLOP/s    GB/s  roof  kernel (node)\n",
          to);
    for (int64_t i = 0; i < n; i++)
        print_row(&rows[i], all.ns, to);
    double ns = all.ns > 0 ? all.ns : 1;
    fprintf(to, "%10.3f         %7.0f %9.1f %8.1f %5.0f%%  all kernels\n",
            all.ns * 1e-6, all.calls, all.operations / ns, all.bytes / ns,
            100 * all.roof / ns);
    free(rows);
}

/* ---- files ---- */

static void
write_text(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            fprintf(f, "\\%c", *s);
        else if ((unsigned char)*s < 32)
            fprintf(f, "\\u%04x", (unsigned)(unsigned char)*s);
        else
            fputc(*s, f);
    }
    fputc('"', f);
}

static EdlStatus
close_file(FILE *f)
{
    int bad = ferror(f);
    bad |= fclose(f);
    return bad ? EDL_EIO : EDL_OK;
}

/* Microseconds with three places. */
static void
write_us(FILE *f, const char *key, uint64_t ns)
{
    fprintf(f, ", \"%s\": %llu.%03llu", key, (unsigned long long)(ns / 1000),
            (unsigned long long)(ns % 1000));
}

static void
write_event(FILE *f, const EdlProfile *p, const EdlEvent *e)
{
    const EdlProfileGraph *g = p->graphs[e->graph].graph;
    const EdlProfileNode *n = &g->nodes[e->node];
    fputs(",\n{\"name\": ", f);
    write_text(f, e->thread < 0 ? n->name : n->kernel);
    fputs(", \"cat\": ", f);
    write_text(f, g->name);
    fprintf(f, ", \"ph\": \"X\", \"pid\": 1, \"tid\": %d", (int)e->thread + 1);
    write_us(f, "ts", e->from - p->start);
    write_us(f, "dur", e->to - e->from);
    fputs(", \"args\": {\"node\": ", f);
    write_text(f, n->name);
    fputs(", \"kernel\": ", f);
    write_text(f, n->kernel);
    fprintf(f, ", \"operations\": %.0f, \"bytes\": %.0f}}", n->operations,
            n->bytes);
}

EdlStatus
edl_profile_trace(const EdlProfile *p, const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f)
        return EDL_EIO;
    fputs("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"
          "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 0, "
          "\"args\": {\"name\": \"calls\"}}", f);
    for (int32_t i = 0; i < p->nthreads; i++)
        fprintf(f, ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, "
                   "\"tid\": %d, \"args\": {\"name\": \"thread %d\"}}",
                (int)i + 1, (int)i);
    for (int64_t i = 0; i < p->nevents; i++)
        write_event(f, p, &p->events[i]);
    fputs("\n]}\n", f);
    return close_file(f);
}

static void
write_node(FILE *f, const EdlProfileGraph *g, const EdlProfileNode *n,
           const EdlTimes *t)
{
    fputs("\n{\"graph\": ", f);
    write_text(f, g->name);
    fputs(", \"node\": ", f);
    write_text(f, n->name);
    fputs(", \"kernel\": ", f);
    write_text(f, n->kernel);
    fprintf(f, ", \"runs\": %lld, \"ns\": %.0f, \"operations\": %.0f, "
               "\"bytes\": %.0f}", (long long)t->runs, median(t),
            n->operations, n->bytes);
}

EdlStatus
edl_profile_save(const EdlProfile *p, EdlPeaks peaks, const char *path)
{
    FILE *f = fopen(path, "w");
    const char *comma = "";
    if (!f)
        return EDL_EIO;
    fprintf(f, "{\"edl_profile\": 1, \"threads\": %d, \"mflops\": %.0f, "
               "\"mbytes\": %.0f, \"nodes\": [",
            p->nthreads > 0 ? (int)p->nthreads : 1, 1e3 * peaks.gflops,
            1e3 * peaks.gbytes);
    for (int32_t i = 0; i < p->ngraphs; i++) {
        const EdlGraphTimes *g = &p->graphs[i];
        for (int32_t k = 0; k < g->graph->nnodes; k++) {
            fputs(comma, f);
            write_node(f, g->graph, &g->graph->nodes[k], &g->times[k]);
            comma = ",";
        }
    }
    fputs("\n]}\n", f);
    return close_file(f);
}

#endif
