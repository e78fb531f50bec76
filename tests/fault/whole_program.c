/* SPDX-License-Identifier: MIT
 *
 * whole_program DIR: the whole interface, by the shared library. DIR is made.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "whole_api.h"

int main(int argc, char **argv)
{
    if (argc != 2 || mkdir(argv[1], 0700) != 0) return 2;
    int status = whole_api(argv[1], false);
    return status == WHOLE_TOLD ? WHOLE_FINE : status;
}
