/** Why somebody does not reach something. Plain constants. */
export const SOURCE_BARRIERS = ['off', 'not_exposed', 'not_granted', 'minimum_role'] as const
export type SourceBarrier = (typeof SOURCE_BARRIERS)[number]

/** `scope`: their token or agent lacks one; `role`: their role is too low. */
export const ACCESS_BARRIERS = [...SOURCE_BARRIERS, 'scope', 'role'] as const
export type AccessBarrier = (typeof ACCESS_BARRIERS)[number]
