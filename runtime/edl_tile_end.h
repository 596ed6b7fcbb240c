/* edl_tile_end.h: the end of what an instruction set gives to edl_tile.h. */
#undef VECTORS
#undef TILE_TARGET
#undef TILE_ROWS
#undef V
#undef V_WIDTH
#undef V_LOAD
#undef V_STORE
#undef V_LOAD_SOME
#undef V_STORE_SOME
#undef V_SPLAT
#undef V_FMA
