#include "support/unit.h"

int main(int argc, char **argv)
{
    return run_unit_tests("tests", argc > 1 ? argv[1] : NULL);
}
