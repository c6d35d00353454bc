// The checks of the C clients, compiled as C++.
#include "../c/check.c"
