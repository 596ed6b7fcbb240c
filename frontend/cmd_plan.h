/* What `edlc plan` found about a model, and the ways to show it. */
#ifndef EDL_FRONTEND_CMD_PLAN_H
#define EDL_FRONTEND_CMD_PLAN_H

#include "frontend/cmd_plan_curve.h"
#include "passes/plan/report.h"
#include "passes/plan/summary.h"
#include "passes/plan/timeline.h"

/* A class of memory: a region, or a part of one. */
typedef struct PlanClass {
    const char *key, *text;
    Region region;
    bool part; /* of the region's row above */
    unsigned kinds;
} PlanClass;

enum { PLAN_CLASSES = 10 };
extern const PlanClass plan_classes[PLAN_CLASSES];

typedef struct PlanView {
    Session *s;
    Module *m; /* placed */
    Report report;
    CurvePoint before, after; /* a step that makes nothing again; as planned */
    Summary summary;
    Curve curve;       /* empty where nobody asked for it */
    Timeline timeline; /* the same */
} PlanView;

int64_t plan_class_bytes(const Module *m, const PlanClass *c);
/* The time of a step as a multiple of one that makes nothing again. */
double plan_factor(const PlanView *p);
/* What is written where a kernel's temporaries have no type. */
const char *plan_line_type(Arena *a, const ReportLine *l);

void plan_json(const PlanView *p);
void plan_kernels(const PlanView *p);
/* The same as a json_t *, which the caller takes over. */
struct json_t *plan_kernels_json(const PlanView *p);
/* False after an error. */
bool plan_report(PlanView *p, const char *path);
bool plan_trace(PlanView *p, const char *path);

#endif
