/* SPDX-License-Identifier: MIT
 *
 * From where on the plugin advises, as parts of a whole.
 */
#ifndef HB_ANALYZE_ADVICE_RULES_H
#define HB_ANALYZE_ADVICE_RULES_H

#define HB_ADVICE_LOADING       0.05 /* more of the steps' time is data loading */
#define HB_ADVICE_COMMUNICATION 0.1  /* more of it is communication */
#define HB_ADVICE_UTILIZATION   0.5  /* a GPU is busy for less of it */
#define HB_ADVICE_MEMORY        0.9  /* more of a device's memory is allocated */

#endif
