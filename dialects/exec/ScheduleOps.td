// Ranks, groups and channels; schedules, gradient synchronisation and roles.
#ifndef PLAIT_DIALECTS_EXEC_SCHEDULEOPS_TD
#define PLAIT_DIALECTS_EXEC_SCHEDULEOPS_TD

include "dialects/exec/ExecAttrs.td"

def Exec_FamilyOp : Exec_Op<"family", [HasParent<"PlanOp">]> {
  let summary = "all groups { groups[o] + members[i] } (pb.GroupFamily)";
  let arguments = (ins StrAttr:$name, OptionalAttr<Exec_RankSetAttr>:$groups, OptionalAttr<Exec_RankSetAttr>:$members);
  let assemblyFormat = "$name (`groups` $groups^)? (`members` $members^)? attr-dict";
}

def Exec_ChannelOp : Exec_Op<"channel", [HasParent<"PlanOp">]> {
  let summary = "point to point: the k-th rank of `from` sends to the k-th rank of `to` (pb.Channel)";
  let arguments = (ins StrAttr:$name, OptionalAttr<Exec_RankSetAttr>:$from, OptionalAttr<Exec_RankSetAttr>:$to);
  let assemblyFormat = "$name (`from` $from^)? (`to` $to^)? attr-dict";
}

def Exec_SyncOp : Exec_Op<"sync", [HasParent<"PlanOp">]> {
  let summary = "one flat vector of parameter elements with the same holders (pb.Sync)";
  let arguments = (ins StrAttr:$name, Exec_U32:$family, UnitAttr:$sharded, Exec_U64:$elements, Exec_Ints:$cuts,
                       Exec_Ints:$silent);
  let assemblyFormat = [{
    $name `family` $family `elements` $elements (`sharded` $sharded^)? (`cuts` $cuts^)? (`silent` $silent^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Exec_ScheduleOp : Exec_BodyOp<"schedule", [HasParent<"PlanOp">]> {
  let summary = "the task list of a role (pb.Schedule)";
  let arguments = (ins StrAttr:$name);
  let assemblyFormat = "$name `` custom<OptionalBody>($body) attr-dict";
  let hasRegionVerifier = 1;
}

def Exec_TaskOp : Exec_Op<"task", [HasParent<"ScheduleOp">]> {
  let summary = "one task (pb.Task); `program` counts within the programs of the role";
  let arguments = (ins Exec_DefaultEnum<Exec_TaskKind>:$kind, Exec_U32:$program, Exec_U32:$microbatch, Exec_U32:$frame,
                       Exec_U32:$queue, Exec_Ints:$deps, Exec_P2ps:$p2ps, Exec_U32:$sync);
  let assemblyFormat = [{
    $kind (`program` $program^)? (`microbatch` $microbatch^)? (`frame` $frame^)? (`queue` $queue^)?
    (`p2ps` custom<P2ps>($p2ps)^)? (`sync` $sync^)? (`deps` $deps^)? attr-dict
  }];
}

def Exec_RoleOp : Exec_BodyOp<"role", [HasParent<"PlanOp">]> {
  let summary = "what equal ranks share: programs, schedule, memory (pb.Role)";
  let arguments = (ins StrAttr:$name, Exec_Str:$device_class, Exec_Ints:$programs, Exec_U32:$schedule,
                       Exec_Ints:$space_bytes, Exec_Ints:$axis_families, UnitAttr:$reports_loss, Exec_U32:$stage,
                       Exec_U32:$replica, Exec_U32:$first_microbatch, Exec_U32:$microbatches_per_copy,
                       Exec_U32:$copy_family);
  let assemblyFormat = [{
    $name `replica` $replica `stage` $stage (`class` $device_class^)? (`reports_loss` $reports_loss^)?
    (`first_microbatch` $first_microbatch^)? (`microbatches_per_copy` $microbatches_per_copy^)?
    (`copy_family` $copy_family^)? `programs` $programs `schedule` $schedule (`axis_families` $axis_families^)? (`space_bytes` $space_bytes^)?
    `` custom<OptionalBody>($body) attr-dict
  }];
  let hasRegionVerifier = 1;
}
class Exec_RolePartOp<string mnemonic> : Exec_Op<mnemonic, [HasParent<"RoleOp">]>;

def Exec_FrameOp : Exec_RolePartOp<"frame"> {
  let summary = "frames of one size, one for each micro-batch in flight (pb.FrameClass)";
  let arguments = (ins Exec_U64:$bytes, Exec_U32:$count, Exec_U64:$tokens_offset, Exec_U64:$labels_offset,
                       UnitAttr:$has_tokens, UnitAttr:$has_labels);
  let assemblyFormat = [{
    `bytes` $bytes `count` $count (`has_tokens` $has_tokens^)? (`tokens_at` $tokens_offset^)? (`has_labels` $has_labels^)?
    (`labels_at` $labels_offset^)? attr-dict
  }];
}

def Exec_PortOp : Exec_RolePartOp<"port"> {
  let summary = "memory that boundary transfers read or write (pb.Port)";
  let arguments = (ins StrAttr:$name, Exec_DefaultEnum<Exec_Space>:$space, Exec_U64:$offset, Exec_U64:$bytes);
  let assemblyFormat = "$name $space `offset` $offset `bytes` $bytes attr-dict";
}

def Exec_SyncPartOp : Exec_RolePartOp<"sync_part"> {
  let summary = "the elements of a sync that this role holds (pb.SyncPart)";
  let arguments = (ins Exec_U32:$sync, Exec_Pieces:$pieces, Exec_U64:$optimizer_offset, Exec_U64:$comm_offset);
  let assemblyFormat = [{
    $sync custom<Pieces>($pieces) `optimizer` $optimizer_offset `comm` $comm_offset attr-dict
  }];
}

def Exec_ResidenceOp : Exec_RolePartOp<"residence"> {
  let summary = "the box of a logical tensor that this role keeps, dense at `offset` elements (pb.Residence)";
  let arguments = (ins Exec_U32:$tensor, Exec_U64:$offset, Exec_Offsets:$start, Exec_Ints:$size);
  let assemblyFormat = "$tensor `offset` $offset `start` custom<Offsets>($start) `size` $size attr-dict";
}

def Exec_ComponentOp : Exec_RolePartOp<"component"> {
  let summary = "what the memory of the role is used for (pb.Component)";
  let arguments = (ins StrAttr:$name, Exec_U64:$bytes);
  let assemblyFormat = "$name $bytes attr-dict";
}

def Exec_RanksOp : Exec_Op<"ranks", [HasParent<"PlanOp">]> {
  let summary = "ranks that play one role (pb.RankRange)";
  let arguments = (ins OptionalAttr<Exec_RankSetAttr>:$ranks, Exec_U32:$role);
  let assemblyFormat = "`role` $role (`of` $ranks^)? attr-dict";
}

#endif
