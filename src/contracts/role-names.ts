/** Plain constants: the client `svc` loads this file and no zod. */

/** Roles that can be granted. `member` only comes from an email domain. */
export const GRANTABLE_ROLES = ['viewer', 'developer', 'admin', 'owner'] as const
