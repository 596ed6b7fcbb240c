/* Samples from files in the working folder into the inputs of a model. */
#include "unit.h"

#include "edl_data.h"

#include <math.h>

enum { B = 2 };

static const EdlTensor inputs[] = {
    {"x", EDL_INPUT, EDL_F32, EDL_IO, 0, 2, {B, 3}, {3, 1}, 1.0,
     EDL_INIT_CONST, 0.0, 0.0, 0, 0, 0, EDL_AS_IS, 0},
    {"y", EDL_INPUT, EDL_I32, EDL_IO, 0, 1, {B}, {1}, 1.0, EDL_INIT_CONST,
     0.0, 0.0, 0, 0, 0, EDL_AS_IS, 0},
};

static EdlModel
model(void)
{
    EdlModel m;
    memset(&m, 0, sizeof m);
    m.inputs = inputs;
    m.ninputs = 2;
    return m;
}

static void
write_file(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    fwrite(data, 1, n, f);
    fclose(f);
}

static void
write_npy(const char *path, const char *dict, const void *data, size_t n)
{
    unsigned char file[512] = "\x93NUMPY\x01";
    size_t length = strlen(dict);
    file[8] = (unsigned char)length;
    memcpy(file + 10, dict, length);
    memcpy(file + 10 + length, data, n);
    write_file(path, file, 10 + length + n);
}

static float x[B * 3];
static int32_t y[B];
static unsigned char *const dst[] = {(unsigned char *)x, (unsigned char *)y};

/* A microbatch may lie over the end of an epoch. */
static int
check_table(void)
{
    static const char csv[] = "a,b,c,label\n1,2,3,0\n4,5,6,1\n7,8,9,2\n";
    const EdlSource source = {EDL_TABLE, "t.csv", EDL_F32, 1, 2, {0, 1},
                              {0, -1}, 0.5};
    const EdlData data = {&source, 1, EDL_SEQUENTIAL};
    EdlModel m = model();
    EdlFeed f;
    EdlError e;
    uint64_t epoch = 0, index = 0;
    int failed = 0;
    write_file("t.csv", csv, sizeof csv - 1);
    CHECK(edl_feed_open(&f, &m, &data, 1, &e) == EDL_OK);
    CHECK(f.samples == 3 && edl_feed_batch(&f) == B);
    CHECK(edl_feed_read(&f, &epoch, &index, 1, dst, &e) == EDL_OK);
    CHECK(x[0] == 0.5f && x[5] == 3.0f && y[0] == 0 && y[1] == 1);
    CHECK(edl_feed_read(&f, &epoch, &index, 1, dst, &e) == EDL_OK);
    CHECK(x[0] == 3.5f && x[3] == 0.5f && y[0] == 2 && y[1] == 0);
    CHECK(epoch == 1 && index == 1);
    edl_feed_close(&f);
    return failed;
}

static int
check_table_errors(void)
{
    static const char csv[] = "1,2,3,0.5\n";
    EdlSource source = {EDL_TABLE, "t.csv", EDL_F32, 0, 2, {0, 1}, {0, -1},
                        1.0};
    const EdlData data = {&source, 1, EDL_SEQUENTIAL};
    EdlModel m = model();
    EdlFeed f;
    EdlError e;
    uint64_t epoch = 0, index = 0;
    int failed = 0;
    write_file("t.csv", csv, sizeof csv - 1);
    CHECK(edl_feed_open(&f, &m, &data, 1, &e) == EDL_OK);
    CHECK(edl_feed_read(&f, &epoch, &index, 1, dst, &e) == EDL_ERANGE);
    CHECK(!strcmp(e.text, "t.csv: row 1, column 4: 0.5 is no i32 of y"));
    edl_feed_close(&f);
    source.column[0] = 2;
    CHECK(edl_feed_open(&f, &m, &data, 1, &e) == EDL_EMISMATCH);
    CHECK(!strcmp(e.text, "t.csv: x takes 3 columns from 2 on, there are 4"));
    return failed;
}

/* Two arrays move together, and their types are converted. */
static int
check_npy(void)
{
    double xs[9];
    unsigned char ys[4] = {5, 6, 7, 8};
    const EdlSource sources[] = {
        {EDL_NPY, "x.npy", EDL_F32, 0, 1, {0}, {0}, 1.0},
        {EDL_NPY, "y.npy", EDL_F32, 0, 1, {1}, {0}, 1.0},
    };
    const EdlData data = {sources, 2, EDL_SHUFFLED};
    EdlModel m = model();
    EdlFeed f;
    EdlError e;
    uint64_t epoch = 0, index = 0;
    int failed = 0;
    for (int i = 0; i < 9; i++)
        xs[i] = i / 3 + 5;
    write_npy("x.npy", "{'descr': '<f8', 'fortran_order': False, "
                       "'shape': (3, 3), }\n", xs, sizeof xs);
    write_npy("y.npy", "{'descr': '|u1', 'fortran_order': False, "
                       "'shape': (3,), }\n", ys, 3);
    CHECK(edl_feed_open(&f, &m, &data, 1, &e) == EDL_OK);
    for (int i = 0; i < 10; i++) {
        CHECK(edl_feed_read(&f, &epoch, &index, 1, dst, &e) == EDL_OK);
        CHECK(x[0] == (float)y[0] && x[5] == (float)y[1]);
    }
    edl_feed_close(&f);
    write_npy("y.npy", "{'descr': '|u1', 'fortran_order': False, "
                       "'shape': (4,), }\n", ys, 4);
    CHECK(edl_feed_open(&f, &m, &data, 1, &e) == EDL_EMISMATCH);
    CHECK(!strcmp(e.text, "x.npy has 3 samples, y.npy has 4"));
    write_npy("x.npy", "{'descr': '<f8', 'fortran_order': False, "
                       "'shape': (3, 2), }\n", xs, 48);
    CHECK(edl_feed_open(&f, &m, &data, 1, &e) == EDL_EMISMATCH);
    CHECK(strstr(e.text, "f64[3, 2] gives no samples of x f32[2, 3]") != NULL);
    return failed;
}

int
unit_feed(void)
{
    return check_table() + check_table_errors() + check_npy();
}
