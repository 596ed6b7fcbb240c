/* edl_vectors.h: what an instruction set gives to edl_tile.h, until
 * edl_tile_end.h. Before it: VECTORS, the bits of a vector (128 is NEON, 32
 * plain C), and V_LOAD, V_FMA or TILE_TARGET where they are others. */
#if VECTORS == 512
#define TILE_ROWS 8
#define V __m512
#define V_WIDTH 16
#define V_LOAD(p) _mm512_loadu_ps(p)
#define V_STORE(p, v) _mm512_storeu_ps(p, v)
#define V_LOAD_SOME(p, m) _mm512_maskz_loadu_ps((__mmask16)(m), p)
#define V_STORE_SOME(p, m, v) _mm512_mask_storeu_ps(p, (__mmask16)(m), v)
#define V_SPLAT(x) _mm512_set1_ps(x)
#ifndef V_FMA
#define TILE_TARGET __attribute__((target("avx512f,fma")))
#define V_FMA(x, y, z) _mm512_fmadd_ps(x, y, z)
#endif
#elif VECTORS == 256
#define TILE_TARGET __attribute__((target("avx2,fma")))
#define TILE_ROWS 4
#define V __m256
#define V_WIDTH 8
#define V_LOAD(p) _mm256_loadu_ps(p)
#define V_STORE(p, v) _mm256_storeu_ps(p, v)
#define V_SPLAT(x) _mm256_set1_ps(x)
#define V_FMA(x, y, z) _mm256_fmadd_ps(x, y, z)
#elif VECTORS == 128
#define TILE_TARGET
#define TILE_ROWS 8
#define V float32x4_t
#define V_WIDTH 4
#define V_STORE(p, v) vst1q_f32(p, v)
#define V_SPLAT(x) vdupq_n_f32(x)
#ifndef V_FMA
#define V_LOAD(p) vld1q_f32(p)
#define V_FMA(x, y, z) vfmaq_f32(z, x, y)
#endif
#else
#define TILE_TARGET
#define TILE_ROWS 4
#define V float
#define V_WIDTH 1
#define V_LOAD(p) (*(p))
#define V_STORE(p, v) (*(p) = (v))
#define V_SPLAT(x) (x)
#ifndef V_FMA
#define V_FMA(x, y, z) fmaf(x, y, z)
#endif
#endif
#ifndef V_LOAD_SOME /* whole ones only */
#define V_LOAD_SOME(p, m) ((void)(m), V_LOAD(p))
#define V_STORE_SOME(p, m, v) V_STORE(p, v)
#endif
