/* SPDX-License-Identifier: MIT
 *
 * Stands in for a library by its name alone.
 */
int hipboard_test_other_library(void);

int hipboard_test_other_library(void)
{
    return 0;
}
