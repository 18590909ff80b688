// Communicator of one rank over a ShmSegment, for ranks that are threads or processes of one host. Buffers inside the
// segment (the arena) are read and written in place; others pass through staging windows. One thread at a time may use
// a communicator. After a failed call the contents of its buffers are undefined.
#ifndef PLAIT_RUNTIME_COMM_SHM_SHMCOMMUNICATOR_H
#define PLAIT_RUNTIME_COMM_SHM_SHMCOMMUNICATOR_H

#include "runtime/comm/shm/ShmSegment.h"

namespace plait {

/// `rank` is below the segment's world size; each rank has one communicator at a time.
std::unique_ptr<Communicator> makeShmCommunicator(std::shared_ptr<ShmSegment> segment, uint32_t rank);

} // namespace plait

#endif
