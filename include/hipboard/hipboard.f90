! SPDX-License-Identifier: MIT
!
! hipboard for Fortran 2008: what hipboard.h has for programs that mark what they do. Compile this
! file with the program, since modules differ from compiler to compiler, and link with -lhipboard:
!
!     gfortran hipboard.f90 mine.f90 $(pkg-config --libs hipboard)
!
!     use hipboard
!     type(hb_profiler) :: prof
!     prof = hb_profiler_create('{"schedule": {"wait": 1, "warmup": 1, "active": 3},' // &
!         ' "tensorboard_trace_handler": {"dir_name": "runs/mine"}}')
!     if (.not. hb_is_made(prof)) error stop hb_last_error()
!     if (hb_profiler_start(prof) /= HB_OK) print *, hb_last_error()
!     do step = 1, 5
!         call hb_range_push('train_batch')
!         ...
!         call hb_range_pop()
!         if (hb_profiler_step(prof) /= HB_OK) print *, hb_last_error()
!     end do
!     if (hb_profiler_stop(prof) /= HB_OK) print *, hb_last_error()
!     call hb_profiler_destroy(prof)
!
! Texts are taken without the blanks at their end. hipboard.h says what the calls do; results are
! HB_OK or one of its HB_ERROR_...
module hipboard
    use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_f_pointer, c_float, c_int, &
        c_int64_t, c_loc, c_null_char, c_null_ptr, c_ptr, c_size_t, c_sizeof
    implicit none
    private

    public :: hb_profiler, hb_is_made, hb_profiler_create, hb_profiler_start, hb_profiler_step
    public :: hb_profiler_stop, hb_profiler_flush, hb_profiler_destroy, hb_profiler_dump
    public :: hb_profiler_step_num, hb_profiler_add_metadata, hb_export_chrome_trace
    public :: hb_range_push, hb_range_pop, hb_scope, hb_record_function, hb_op, hb_scope_end
    public :: hb_scalar, hb_counter, hb_flow, HB_FLOW_BEGIN, HB_FLOW_STEP, HB_FLOW_END
    public :: hb_arg, hb_thread_name, hb_last_error, HB_OK

    integer(c_int), parameter :: HB_OK = 0
    integer(c_int), parameter :: HB_FLOW_BEGIN = 0, HB_FLOW_STEP = 1, HB_FLOW_END = 2

    !> A profiler's handle.
    type :: hb_profiler
        private
        type(c_ptr) :: handle = c_null_ptr
    end type

    !> An open scope; ended by hb_scope_end().
    type, bind(c) :: hb_scope
        private
        type(c_ptr) :: record = c_null_ptr
        integer(c_int) :: epoch = 0, depth = 0
    end type

    !> A typed value of a scope: hb_arg('bytes', n), of an integer, a real, a logical or a text.
    type :: hb_arg
        private
        character(:), allocatable :: key, text
        integer(c_int) :: kind = 0
        integer(c_int64_t) :: whole = 0
        real(c_double) :: number = 0
    end type

    interface hb_arg
        module procedure :: arg_int, arg_int64, arg_double, arg_single, arg_logical, arg_text
    end interface

    !> hipboard.h's hb_arg and hb_scope_info.
    type, bind(c) :: c_arg
        type(c_ptr) :: key = c_null_ptr
        integer(c_int) :: kind = 0, reserved = 0
        integer(c_int64_t) :: i = 0
        real(c_double) :: f = 0
        type(c_ptr) :: s = c_null_ptr
    end type
    type, bind(c) :: c_scope_info
        integer(c_size_t) :: struct_size = 0
        type(c_ptr) :: category = c_null_ptr, args = c_null_ptr
        integer(c_size_t) :: num_args = 0
        type(c_ptr) :: op = c_null_ptr
    end type

    interface
        function create_json(json) bind(c, name='hb_profiler_create_json') result(handle)
            import :: c_char, c_ptr
            character(kind=c_char), intent(in) :: json(*)
            type(c_ptr) :: handle
        end function
        function start(handle) bind(c, name='hb_profiler_start') result(code)
            import :: c_int, c_ptr
            type(c_ptr), value :: handle
            integer(c_int) :: code
        end function
        function step(handle) bind(c, name='hb_profiler_step') result(code)
            import :: c_int, c_ptr
            type(c_ptr), value :: handle
            integer(c_int) :: code
        end function
        function stop_(handle) bind(c, name='hb_profiler_stop') result(code)
            import :: c_int, c_ptr
            type(c_ptr), value :: handle
            integer(c_int) :: code
        end function
        function flush_(handle) bind(c, name='hb_profiler_flush') result(code)
            import :: c_int, c_ptr
            type(c_ptr), value :: handle
            integer(c_int) :: code
        end function
        subroutine destroy(handle) bind(c, name='hb_profiler_destroy')
            import :: c_ptr
            type(c_ptr), value :: handle
        end subroutine
        function dump(handle, reason) bind(c, name='hb_profiler_dump') result(code)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: handle
            character(kind=c_char), intent(in) :: reason(*)
            integer(c_int) :: code
        end function
        function step_num(handle) bind(c, name='hb_profiler_step_num') result(number)
            import :: c_int64_t, c_ptr
            type(c_ptr), value :: handle
            integer(c_int64_t) :: number
        end function
        function add_metadata(handle, key, text) bind(c, name='hb_profiler_add_metadata') result(code)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: handle
            character(kind=c_char), intent(in) :: key(*), text(*)
            integer(c_int) :: code
        end function
        function export_trace(handle, path, flags) bind(c, name='hb_export_chrome_trace') result(code)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: handle
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int), value :: flags
            integer(c_int) :: code
        end function
        subroutine push(name) bind(c, name='hb_range_push')
            import :: c_char
            character(kind=c_char), intent(in) :: name(*)
        end subroutine
        !> Ends the thread's innermost open scope.
        subroutine hb_range_pop() bind(c, name='hb_range_pop')
        end subroutine
        function record(name) bind(c, name='hb_record_function') result(scope)
            import :: c_char, hb_scope
            character(kind=c_char), intent(in) :: name(*)
            type(hb_scope) :: scope
        end function
        function begin(name, info) bind(c, name='hb_scope_begin') result(scope)
            import :: c_char, c_scope_info, hb_scope
            character(kind=c_char), intent(in) :: name(*)
            type(c_scope_info), intent(in) :: info
            type(hb_scope) :: scope
        end function
        function op(name, info) bind(c, name='hb_op') result(scope)
            import :: c_char, c_ptr, hb_scope
            character(kind=c_char), intent(in) :: name(*)
            type(c_ptr), value :: info
            type(hb_scope) :: scope
        end function
        !> Ends a scope; ending twice does nothing.
        subroutine hb_scope_end(scope) bind(c, name='hb_scope_end')
            import :: hb_scope
            type(hb_scope), intent(inout) :: scope
        end subroutine
        subroutine scalar(name, number) bind(c, name='hb_scalar')
            import :: c_char, c_double
            character(kind=c_char), intent(in) :: name(*)
            real(c_double), value :: number
        end subroutine
        subroutine counter(name, unit, number) bind(c, name='hb_counter')
            import :: c_char, c_double
            character(kind=c_char), intent(in) :: name(*), unit(*)
            real(c_double), value :: number
        end subroutine
        subroutine flow(name, id, phase) bind(c, name='hb_flow')
            import :: c_char, c_int, c_int64_t
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int64_t), value :: id
            integer(c_int), value :: phase
        end subroutine
        subroutine name_thread(name) bind(c, name='hb_thread_name')
            import :: c_char
            character(kind=c_char), intent(in) :: name(*)
        end subroutine
        function last_error() bind(c, name='hb_last_error') result(text)
            import :: c_ptr
            type(c_ptr) :: text
        end function
        function string_length(text) bind(c, name='strlen') result(length)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: text
            integer(c_size_t) :: length
        end function
    end interface

contains

    !> Options as hb_profiler_create_json() takes them.
    function hb_profiler_create(json) result(prof)
        character(*), intent(in) :: json
        type(hb_profiler) :: prof
        prof%handle = create_json(trim(json) // c_null_char)
    end function

    logical function hb_is_made(prof)
        type(hb_profiler), intent(in) :: prof
        hb_is_made = c_associated(prof%handle)
    end function

    integer(c_int) function hb_profiler_start(prof)
        type(hb_profiler), intent(in) :: prof
        hb_profiler_start = start(prof%handle)
    end function

    integer(c_int) function hb_profiler_step(prof)
        type(hb_profiler), intent(in) :: prof
        hb_profiler_step = step(prof%handle)
    end function

    integer(c_int) function hb_profiler_stop(prof)
        type(hb_profiler), intent(in) :: prof
        hb_profiler_stop = stop_(prof%handle)
    end function

    integer(c_int) function hb_profiler_flush(prof)
        type(hb_profiler), intent(in) :: prof
        hb_profiler_flush = flush_(prof%handle)
    end function

    subroutine hb_profiler_destroy(prof)
        type(hb_profiler), intent(inout) :: prof
        call destroy(prof%handle)
        prof%handle = c_null_ptr
    end subroutine

    integer(c_int) function hb_profiler_dump(prof, reason)
        type(hb_profiler), intent(in) :: prof
        character(*), intent(in) :: reason
        hb_profiler_dump = dump(prof%handle, trim(reason) // c_null_char)
    end function

    integer(c_int64_t) function hb_profiler_step_num(prof)
        type(hb_profiler), intent(in) :: prof
        hb_profiler_step_num = step_num(prof%handle)
    end function

    integer(c_int) function hb_profiler_add_metadata(prof, key, text)
        type(hb_profiler), intent(in) :: prof
        character(*), intent(in) :: key, text
        hb_profiler_add_metadata = add_metadata(prof%handle, trim(key) // c_null_char, &
                                                trim(text) // c_null_char)
    end function

    !> Without flags in the dialect that fills the plugin's views; 2 as torch writes.
    integer(c_int) function hb_export_chrome_trace(prof, path, flags)
        type(hb_profiler), intent(in) :: prof
        character(*), intent(in) :: path
        integer, intent(in), optional :: flags
        integer(c_int) :: bits
        bits = 0
        if (present(flags)) bits = int(flags, c_int)
        hb_export_chrome_trace = export_trace(prof%handle, trim(path) // c_null_char, bits)
    end function

    subroutine hb_range_push(name)
        character(*), intent(in) :: name
        call push(trim(name) // c_null_char)
    end subroutine

    !> A user annotation from here to hb_scope_end(), with values, as [hb_arg('bytes', n)], and in a
    !> category of its own, if these are given.
    function hb_record_function(name, args, category) result(scope)
        character(*), intent(in) :: name
        type(hb_arg), intent(in), optional :: args(:)
        character(*), intent(in), optional :: category
        type(hb_scope) :: scope
        if (present(args)) then
            scope = begin_with(trim(name), args, category)
        else if (present(category)) then
            scope = begin_with(trim(name), [hb_arg ::], category)
        else
            scope = record(trim(name) // c_null_char)
        end if
    end function

    function begin_with(name, args, category) result(scope)
        character(*), intent(in) :: name
        type(hb_arg), intent(in) :: args(:)
        character(*), intent(in), optional :: category
        type(hb_scope) :: scope
        type(c_arg), allocatable, target :: list(:)
        type(c_scope_info) :: info
        character(kind=c_char), allocatable, target :: texts(:)
        integer :: i, at
        allocate (list(size(args)), texts(all_bytes()))
        at = 1
        do i = 1, size(args)
            list(i)%kind = args(i)%kind
            list(i)%i = args(i)%whole
            list(i)%f = args(i)%number
            list(i)%key = placed(args(i)%key)
            if (allocated(args(i)%text)) list(i)%s = placed(args(i)%text)
        end do
        if (present(category)) info%category = placed(trim(category))
        if (size(list) > 0) info%args = c_loc(list)
        info%num_args = size(list, kind=c_size_t)
        info%struct_size = c_sizeof(info)
        scope = begin(name // c_null_char, info)
    contains
        integer function all_bytes()
            integer :: k
            all_bytes = 1
            if (present(category)) all_bytes = all_bytes + len(category) + 1
            do k = 1, size(args)
                all_bytes = all_bytes + len(args(k)%key) + 1
                if (allocated(args(k)%text)) all_bytes = all_bytes + len(args(k)%text) + 1
            end do
        end function
        !> Where a copy of it lies that C can read.
        type(c_ptr) function placed(text)
            character(*), intent(in) :: text
            integer :: k
            placed = c_loc(texts(at))
            do k = 1, len(text)
                texts(at) = text(k:k)
                at = at + 1
            end do
            texts(at) = c_null_char
            at = at + 1
        end function
    end function

    type(hb_arg) function arg_int(key, number)
        character(*), intent(in) :: key
        integer(c_int), intent(in) :: number
        arg_int = arg_int64(key, int(number, c_int64_t))
    end function

    type(hb_arg) function arg_int64(key, number)
        character(*), intent(in) :: key
        integer(c_int64_t), intent(in) :: number
        arg_int64%key = trim(key)
        arg_int64%kind = 1
        arg_int64%whole = number
    end function

    type(hb_arg) function arg_single(key, number)
        character(*), intent(in) :: key
        real(c_float), intent(in) :: number
        arg_single = arg_double(key, real(number, c_double))
    end function

    type(hb_arg) function arg_double(key, number)
        character(*), intent(in) :: key
        real(c_double), intent(in) :: number
        arg_double%key = trim(key)
        arg_double%kind = 3
        arg_double%number = number
    end function

    type(hb_arg) function arg_logical(key, flag)
        character(*), intent(in) :: key
        logical, intent(in) :: flag
        arg_logical%key = trim(key)
        arg_logical%kind = 4
        arg_logical%whole = merge(1, 0, flag)
    end function

    type(hb_arg) function arg_text(key, text)
        character(*), intent(in) :: key, text
        arg_text%key = trim(key)
        arg_text%kind = 5
        arg_text%text = trim(text)
    end function

    !> An operator from here to hb_scope_end(), without inputs.
    function hb_op(name) result(scope)
        character(*), intent(in) :: name
        type(hb_scope) :: scope
        scope = op(trim(name) // c_null_char, c_null_ptr)
    end function

    subroutine hb_scalar(name, number)
        character(*), intent(in) :: name
        real(c_double), intent(in) :: number
        call scalar(trim(name) // c_null_char, number)
    end subroutine

    !> A number with its unit at this moment, '' if it has none: a curve in the trace.
    subroutine hb_counter(name, unit, number)
        character(*), intent(in) :: name, unit
        real(c_double), intent(in) :: number
        call counter(trim(name) // c_null_char, trim(unit) // c_null_char, number)
    end subroutine

    !> An arrow from scope to scope: begins, passes or ends in the innermost open one.
    subroutine hb_flow(name, id, phase)
        character(*), intent(in) :: name
        integer(c_int64_t), intent(in) :: id
        integer(c_int), intent(in) :: phase
        call flow(trim(name) // c_null_char, id, phase)
    end subroutine

    subroutine hb_thread_name(name)
        character(*), intent(in) :: name
        call name_thread(trim(name) // c_null_char)
    end subroutine

    !> What went wrong in this thread's last failing call.
    function hb_last_error() result(text)
        character(:), allocatable :: text
        character(kind=c_char), pointer :: characters(:)
        type(c_ptr) :: from
        integer :: i
        from = last_error()
        call c_f_pointer(from, characters, [string_length(from)])
        allocate (character(size(characters)) :: text)
        do i = 1, size(characters)
            text(i:i) = characters(i)
        end do
    end function

end module hipboard
