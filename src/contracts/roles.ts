/** The role ladder: viewer < developer < admin < owner; `member` (joined by email domain) ranks with viewer. */
import * as z from 'zod'
import { GRANTABLE_ROLES } from './role-names.ts'

const RANKS = { member: 1, viewer: 1, developer: 2, admin: 3, owner: 4 } as const

export type Role = keyof typeof RANKS
export const ROLES = Object.keys(RANKS) as [Role, ...Role[]]
export const RoleName = z.enum(ROLES)

export const GrantableRole = z.enum(GRANTABLE_ROLES)
export type GrantableRole = (typeof GRANTABLE_ROLES)[number]
export { GRANTABLE_ROLES }

export const atLeast = (role: Role, minimum: Role): boolean => RANKS[role] >= RANKS[minimum]

/** As people read what is required: nobody is above an owner. */
export const orAbove = (role: string): string => (role === 'owner' ? role : `${role} or above`)

export const lowerOf = (a: Role, b: Role): Role => (atLeast(a, b) ? b : a)
