/* SPDX-License-Identifier: MIT
 *
 * For a program built without the files in hip/: their functions come before these.
 */
#include "hip.h"

#include "die.h"

#define REASON "this program was built without HIP, whose headers were not there"

__attribute__((weak)) int hip_list_devices(void)
{
    fputs("digits: " REASON "\n", stderr);
    return 0;
}

__attribute__((weak)) const struct backend *hip_open(const char *code)
{
    die("no GPU for %s: " REASON, code);
}

__attribute__((weak)) const char *hip_device_name(void)
{
    return "";
}

__attribute__((weak)) void hip_close(void) {}
