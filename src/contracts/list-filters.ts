/** Values that lists are filtered by. Plain constants: the client `svc` loads this file and no zod. */

export const ACTIVITY_TYPES = ['function', 'data_source'] as const
/** What lists of activity are filtered by: `all` is both. */
export const ACTIVITY_TYPE_FILTERS = [...ACTIVITY_TYPES, 'all'] as const
export const ACTIVITY_SOURCES = ['mcp', 'cli', 'api'] as const
export const ACTIVITY_OUTCOMES = ['answered', 'refused', 'failed'] as const
export type ActivityOutcome = (typeof ACTIVITY_OUTCOMES)[number]

export const INBOX_STATES = ['unread', 'read', 'all'] as const
