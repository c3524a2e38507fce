int not_yet_names;
#include "disk_test.h"
void test_names(unsigned seeds) { (void)seeds; }
void test_sqlite(unsigned seeds) { (void)seeds; }
