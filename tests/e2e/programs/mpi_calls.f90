! SPDX-License-Identifier: MIT
! Calls of MPI from Fortran, by the module that FORTRAN_MPI names.
program calls
  use FORTRAN_MPI
  implicit none
  integer :: ierror, rank, size, other
#ifdef WITH_F08
  type(MPI_Request) :: requests(2)
#else
  integer :: requests(2)
#endif
  double precision :: value, total
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  value = rank
  call MPI_Allreduce(value, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Irecv(other, 1, MPI_INTEGER, mod(rank + size - 1, size), 1, MPI_COMM_WORLD, &
                 requests(1), ierror)
  call MPI_Isend(rank, 1, MPI_INTEGER, mod(rank + 1, size), 1, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  if (rank == 0 .and. nint(total) == size * (size - 1) / 2 .and. other == size - 1) print '(a)', 'ok'
  call MPI_Finalize(ierror)
end program
