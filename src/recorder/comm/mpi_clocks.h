/* SPDX-License-Identifier: MIT
 *
 * This rank's clock against rank 0's: measured by messages of our own when MPI has begun and once
 * more before it ends, between nodes alone, on a communicator of our own. All ranks have to take
 * part, so it is done only where `hipboard record` or the user says that all ranks are recorded.
 */
#ifndef HB_COMM_MPI_CLOCKS_H
#define HB_COMM_MPI_CLOCKS_H

/** MPI has begun. */
void hb_mpi_clocks_begin(void);
/** It is about to end. */
void hb_mpi_clocks_end(void);

#endif
