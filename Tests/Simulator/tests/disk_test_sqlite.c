#include "disk_test.h"
void test_sqlite(unsigned seeds) { (void)seeds; }
