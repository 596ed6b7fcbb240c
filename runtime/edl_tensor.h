/* edl_tensor.h: tensors of an instance, between their layout in a region and
 * the dense row-major order in which callers and files see them. */
#ifndef EDL_TENSOR_H
#define EDL_TENSOR_H

#include "edl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "f32[4, 1024]" */
#define EDL_SHAPE_TEXT 256
void edl_shape_text(char text[EDL_SHAPE_TEXT], EdlDtype d, int32_t ndim,
                    const int64_t *dims);

/* Of element (0, 0, ...). */
unsigned char *edl_address(const EdlInstance *m, const EdlTensor *t);
int edl_tensor_dense(const EdlTensor *t);

/* Bytes of a region, from and to host memory, on a device or not. */
void edl_get_bytes(const EdlInstance *m, void *dst, const void *region,
                   size_t n);
void edl_put_bytes(const EdlInstance *m, void *region, const void *src,
                   size_t n);
void edl_zero_region(const EdlInstance *m, EdlRegion r);
/* EDL_OK, or the first failure of the device. */
EdlStatus edl_device_status(EdlInstance *m);

/* Elements first .. first + n - 1 in row-major order. dst and src hold whole
 * elements; of i4 a tensor is dense and moved as a whole. A gradient is
 * scaled on its way out. */
void edl_gather(const EdlInstance *m, const EdlTensor *t, int64_t first,
                int64_t n, void *dst);
void edl_scatter(const EdlInstance *m, const EdlTensor *t, int64_t first,
                 int64_t n, const void *src);

/* n numbers of one type as another; floats to floats, integers and bool to
 * integers and floats. 0: done; -1: there is no such conversion; else 1 + the
 * first element whose value the target cannot hold. */
int64_t edl_convert(EdlDtype from, const void *src, EdlDtype to, void *dst,
                    int64_t n);

#ifdef __cplusplus
}
#endif

#endif
