/* SPDX-License-Identifier: MIT
 *
 * For a program built without the files in hip/: their functions come before these.
 */
#include "hip.h"

#include "die.h"

__attribute__((weak)) const struct backend *hip_open(const char *code)
{
    die("no AMD GPU for %s: this program was built without HIP, whose headers were not there",
        code);
}

__attribute__((weak)) const char *hip_device_name(void)
{
    return "";
}

__attribute__((weak)) void hip_close(void) {}
