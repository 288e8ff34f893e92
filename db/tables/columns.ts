/** Column shapes that every table shares. */
import type { GrantableRole } from '../../src/contracts/roles.ts'
import { bigint, boolean, text, timestamp } from '../drizzle.ts'

export const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' })
export const orgId = () => text('org_id').notNull()
/** HMAC or SHA-256 of a secret, as hex: what is stored cannot be used to get in. */
export const secretHash = (name: string) => text(name)
/**
 * decisions, 16: what a credential may ever do is stored when it is made and never changed. The role of a call is the lower
 * of this and what its person has at that moment.
 */
export const roleCap = () => text('role_cap').$type<GrantableRole>().notNull()
/** Whether the roles that its person has on apps count. */
export const carriesAppRoles = () => boolean('carries_app_roles').notNull()
/** Fingerprint of both JWT secrets: rotating either ends it. Null: made by a version that did not know of it. */
export const keyEpoch = () => text('key_epoch')
/** Of a token that was rotated: the value before, and until when that one is good, too. */
export const previousValue = () => ({
  previousHash: secretHash('previous_hash'),
  previousStartsWith: text('previous_starts_with'),
  previousUntil: instant('previous_until'),
  previousLastUsedAt: instant('previous_last_used_at'),
})

/** In which order rows of the trail were written, by one sequence. Null: it is not part of it, as before there was one. */
export const trailOrder = () => bigint('trail_order', { mode: 'number' })
