/** What the groups core exports. */
export { readGroupNames } from './read-group-names.ts'
export { findGroupMember, type FoundMember } from './group-members.ts'
