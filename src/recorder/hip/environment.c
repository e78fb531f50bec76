/* SPDX-License-Identifier: MIT */
#include "hip/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

const char *const hb_visibility_variables[] = {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                               "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", NULL};

/* 0, or why the driver can't be opened. */
static int driver_error(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return errno;
    close(fd);
    return 0;
}

const char *hb_driver_access(const char *path)
{
    switch (driver_error(path)) {
    case 0: return "can be opened";
    case EACCES:
    case EPERM:
        return "no permission to open " HB_DRIVER "; the user must be in its group, usually "
               "\"render\"";
    case ENOENT: return "there is no " HB_DRIVER ", so no AMD GPU driver";
    default: return HB_DRIVER " is there, but cannot be opened";
    }
}

const char *hb_why_no_device(void)
{
    if (driver_error(HB_DRIVER) != 0) return hb_driver_access(HB_DRIVER);
    return "the driver is there, but shows none to this process (see HIP_VISIBLE_DEVICES, "
           "ROCR_VISIBLE_DEVICES)";
}
