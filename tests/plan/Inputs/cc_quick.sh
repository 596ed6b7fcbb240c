#!/bin/sh
# cc without optimization: what is measured with it means nothing.
exec cc "$@" -O0
