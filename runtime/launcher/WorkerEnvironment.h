// What the launcher tells a worker through its environment, and the events that a worker writes back.
//
// A worker writes one JSON object a line to its status descriptor:
//   {"event":"step","step":1,"loss":..,"grad_norm":..,"tokens_per_s":..,"step_time_s":..}     rank 0 only
//   {"event":"error","message":".."}                                                          before it exits with a code
// Numbers that are not finite are null. Other events are ignored. It calls ShmSegment::reportTask before each task, which
// is its heartbeat.
#ifndef PLAIT_RUNTIME_LAUNCHER_WORKERENVIRONMENT_H
#define PLAIT_RUNTIME_LAUNCHER_WORKERENVIRONMENT_H

namespace plait {

inline constexpr char kRankVariable[] = "PLAIT_RANK";
inline constexpr char kWorldSizeVariable[] = "PLAIT_WORLD_SIZE";
inline constexpr char kShmFdVariable[] = "PLAIT_SHM_FD";
inline constexpr char kStatusFdVariable[] = "PLAIT_STATUS_FD";

} // namespace plait

#endif
