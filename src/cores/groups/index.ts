/** What the groups core exports. */
export { narrowGroupAgain, removeGroupMemberAgain } from './narrow-again.ts'
export { readGroupNames } from './read-group-names.ts'
export { deleteGroup, groupMemberRight, isGroup, lockGroup, type GroupRow } from './group-rows.ts'
export { findGroupMember, type FoundMember } from './group-members.ts'
