! SPDX-License-Identifier: MIT
!
! A user's Fortran program, outside the tree: user FILE writes one trace to FILE.
program user
    use, intrinsic :: iso_c_binding, only: c_int64_t
    use hipboard
    implicit none
    type(hb_profiler) :: prof
    type(hb_scope) :: inner, operator_scope
    character(1000) :: path
    call get_command_argument(1, path)

    prof = hb_profiler_create('{"record_shape": true}')
    if (hb_is_made(prof)) error stop 'an option that is none was taken'
    if (index(hb_last_error(), '"record_shape" is no option') == 0) error stop 'no reason'

    prof = hb_profiler_create('{"activities": ["cpu"]}')
    if (.not. hb_is_made(prof)) error stop 'no profiler'
    if (hb_profiler_start(prof) /= HB_OK) error stop 'no start'
    if (hb_profiler_start(prof) == HB_OK) error stop 'started twice'
    call hb_thread_name('fortran')
    call hb_range_push('outer   ')
    inner = hb_record_function('inner')
    operator_scope = hb_op('aten::mm')
    call hb_scalar('loss', 0.5d0)
    call hb_scope_end(operator_scope)
    operator_scope = hb_record_function('read  ', [hb_arg('bytes', 4096), hb_arg('ratio', 0.25d0), &
        hb_arg('cached', .true.), hb_arg('path', 'a b  '), hb_arg('many', 2_c_int64_t**40)], 'io')
    call hb_flow('batch', 7_c_int64_t, HB_FLOW_BEGIN)
    call hb_scope_end(operator_scope)
    operator_scope = hb_record_function('plain', category='io')
    call hb_flow('batch', 7_c_int64_t, HB_FLOW_END)
    call hb_scope_end(operator_scope)
    call hb_counter('queue', 'rows', 3d0)
    call hb_scope_end(inner)
    call hb_scope_end(inner)
    call hb_range_pop()
    if (hb_profiler_add_metadata(prof, 'language', 'Fortran') /= HB_OK) error stop 'no metadata'
    if (hb_profiler_step_num(prof) /= 0_c_int64_t) error stop 'a step too many'
    if (hb_profiler_stop(prof) /= HB_OK) error stop 'no stop'
    if (hb_export_chrome_trace(prof, path, 2) /= HB_OK) error stop 'no trace'
    call hb_profiler_destroy(prof)
    if (hb_is_made(prof)) error stop 'a handle is left'
end program
