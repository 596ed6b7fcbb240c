#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "edl_progress.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

const char *
edl_number(char text[EDL_NUMBER_TEXT], double x)
{
    if (!isfinite(x))
        return strcpy(text, "null");
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, EDL_NUMBER_TEXT, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    return text;
}

EdlStatus
edl_progress_open(EdlProgress *p, const char *metrics, int append, EdlError *e)
{
    p->terminal = isatty(STDERR_FILENO);
    p->started = p->shown = p->rate_from = now();
    if (!metrics)
        return EDL_OK;
    p->metrics = fopen(metrics, append ? "a" : "w");
    if (!p->metrics)
        return edl_error(e, EDL_EIO, "%s: cannot write: %s", metrics,
                         strerror(errno));
    return EDL_OK;
}

EdlStatus
edl_progress_close(EdlProgress *p, EdlError *e)
{
    EdlStatus s = EDL_OK;
    if (p->drawn)
        fputc('\n', stderr);
    p->drawn = 0;
    if (p->metrics && (ferror(p->metrics) | fclose(p->metrics)))
        s = edl_error(e, EDL_EIO, "metrics: cannot write");
    p->metrics = NULL;
    return s;
}

double
edl_progress_seconds(const EdlProgress *p)
{
    return now() - p->started;
}

void
edl_progress_say(EdlProgress *p, const char *format, ...)
{
    va_list args;
    if (p->quiet)
        return;
    if (p->drawn)
        fputs("\r\x1b[K", stderr);
    p->drawn = 0;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

int
edl_is_scalar(const EdlTensor *output)
{
    EdlDtype d = output->dtype;
    return output->ndim == 0 &&
           (d == EDL_F32 || d == EDL_F64 || d == EDL_F16 || d == EDL_BF16);
}

/* The loss stands on its own. */
static int
reported(const EdlProgress *p, int32_t i)
{
    return i != p->model->loss && edl_is_scalar(&p->model->outputs[i]);
}

/* ,"outputs":{"accuracy":0.5} */
static void
write_outputs(const EdlProgress *p)
{
    char text[EDL_NUMBER_TEXT];
    int n = 0;
    for (int32_t i = 0; i < p->model->noutputs; i++) {
        if (!reported(p, i))
            continue;
        fprintf(p->metrics, "%s\"%s\":%s", n++ ? "," : ",\"outputs\":{",
                p->model->outputs[i].name, edl_number(text, p->scalars[i]));
    }
    if (n)
        fputc('}', p->metrics);
}

static void
print_outputs(const EdlProgress *p)
{
    for (int32_t i = 0; i < p->model->noutputs; i++) {
        if (reported(p, i))
            fprintf(stderr, "  %s %.4f", p->model->outputs[i].name,
                    p->scalars[i]);
    }
}

/* ---- the line ---- */

static void
print_rate(const EdlProgress *p, double t)
{
    double seconds = t - p->rate_from;
    double rate = (double)((p->done - p->rate_at) * p->items) /
                  (seconds > 0 ? seconds : 1e-9);
    if (rate >= 1e6)
        fprintf(stderr, "  %.2fM %s/s", rate * 1e-6, p->unit);
    else if (rate >= 1e4)
        fprintf(stderr, "  %.1fk %s/s", rate * 1e-3, p->unit);
    else
        fprintf(stderr, "  %.0f %s/s", rate, p->unit);
}

static void
print_line(EdlProgress *p, const EdlMetrics *m, double t)
{
    fprintf(stderr, "%sstep %llu/%lld", p->drawn ? "\r" : "",
            (unsigned long long)m->step + 1, (long long)p->steps);
    if (p->model->loss >= 0)
        fprintf(stderr, "  loss %.4f", m->loss);
    print_outputs(p);
    if (m->lr > 0)
        fprintf(stderr, "  lr %.3g", m->lr);
    if (m->grad_norm >= 0)
        fprintf(stderr, "  norm %.3g", m->grad_norm);
    print_rate(p, t);
    fprintf(stderr, "  %.1f MiB", (double)p->bytes / 1048576.0);
    if (m->skipped_steps)
        fprintf(stderr, "  skipped %llu", (unsigned long long)m->skipped_steps);
    fputs(p->terminal ? "\x1b[K" : "\n", stderr);
    fflush(stderr);
    p->drawn = p->terminal;
    p->shown = t;
    p->shown_at = p->done;
    /* The rate is that of the last few seconds. */
    if (t - p->rate_from > 5) {
        p->rate_from = t;
        p->rate_at = p->done;
    }
}

/* On a terminal ten times a second; in a log the first step, the last, every
 * twentieth part and every ten seconds. */
static int
due(const EdlProgress *p, const EdlMetrics *m, double t)
{
    int64_t number = (int64_t)m->step + 1;
    int64_t part = p->steps > 20 ? p->steps / 20 : 1;
    if (p->done == 1 || number == p->steps)
        return 1;
    if (p->terminal)
        return t - p->shown > 0.1;
    return number % part == 0 || t - p->shown > 10;
}

static void
write_metrics(EdlProgress *p, const EdlMetrics *m, const EdlCounters *c)
{
    char loss[EDL_NUMBER_TEXT], norm[EDL_NUMBER_TEXT], lr[EDL_NUMBER_TEXT];
    fprintf(p->metrics, "{\"step\":%llu", (unsigned long long)m->step);
    if (p->model->loss >= 0)
        fprintf(p->metrics, ",\"loss\":%s", edl_number(loss, m->loss));
    fprintf(p->metrics, ",\"lr\":%s", edl_number(lr, m->lr));
    if (m->grad_norm >= 0 || m->grad_norm != m->grad_norm)
        fprintf(p->metrics, ",\"grad_norm\":%s",
                edl_number(norm, m->grad_norm));
    if (m->valid_targets >= 0)
        fprintf(p->metrics, ",\"valid_targets\":%lld",
                (long long)m->valid_targets);
    write_outputs(p);
    fprintf(p->metrics,
            ",\"skipped\":%s,\"skipped_steps\":%llu,\"epoch\":%llu,"
            "\"index\":%llu}\n",
            m->skipped ? "true" : "false", (unsigned long long)m->skipped_steps,
            (unsigned long long)c->epoch, (unsigned long long)c->index);
    fflush(p->metrics);
}

void
edl_progress_step(EdlProgress *p, const EdlMetrics *m, const EdlCounters *c)
{
    double t = now();
    p->done++;
    if (p->metrics)
        write_metrics(p, m, c);
    if (!p->quiet && due(p, m, t))
        print_line(p, m, t);
}

void
edl_progress_validation(EdlProgress *p, uint64_t step, double loss,
                        int64_t batches)
{
    char text[EDL_NUMBER_TEXT];
    if (p->metrics) {
        fprintf(p->metrics, "{\"step\":%llu,\"validation_loss\":%s",
                (unsigned long long)step, edl_number(text, loss));
        write_outputs(p);
        fprintf(p->metrics, ",\"batches\":%lld}\n", (long long)batches);
        fflush(p->metrics);
    }
    if (p->quiet)
        return;
    fprintf(stderr, "%sstep %llu  validation loss %.4f",
            p->drawn ? "\r\x1b[K" : "", (unsigned long long)step, loss);
    print_outputs(p);
    fputc('\n', stderr);
    p->drawn = 0;
}
