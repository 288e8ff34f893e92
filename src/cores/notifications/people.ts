/**
 * What notifications ask of the identity tables: by statements of their own, one per batch, never joined with tenant tables
 * (decisions, 9). Nothing is kept: a right is read right before it is used.
 */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, inArray, sql } from '../../../db/drizzle.ts'
import { memberships, organizations, users } from '../../../db/schema.ts'
import { atLeast, ROLES, type Role } from '../../contracts/roles.ts'

/** `email` only if it is verified. */
export type Member = { readonly role: Role; readonly email: string | null }
export type MemberKey = { readonly orgId: string; readonly userId: string }

export const memberKey = ({ orgId, userId }: MemberKey): string => `${orgId} ${userId}`

/** By `memberKey`; who is not a member is not in it. */
export async function readMembers(
  db: Handle,
  keys: readonly MemberKey[],
): Promise<ReadonlyMap<string, Member>> {
  if (keys.length === 0) return new Map()
  // A batch has many deliveries of one person.
  const unique = [...new Map(keys.map((key) => [memberKey(key), key])).values()]
  const rows = await db.execute<MemberKey & Member>(sql`
    select k."orgId", k."userId", p.role, p.email
    from json_to_recordset(${JSON.stringify(unique)}::text::json) as k("orgId" text, "userId" text)
    cross join lateral (
      select m.role, case when u.email_verified_at is not null then u.email end as email
      from memberships m join users u on u.id = m.user_id
      where m.org_id = k."orgId" and m.user_id = k."userId" limit 1
    ) p`)
  return new Map(rows.map((row) => [memberKey(row), row]))
}

/** Of which apps a person may know what happens: owners and admins of all, members of those they build or maintain. */
export async function readAppAccess(
  db: Handle,
  { orgId, userId }: MemberKey,
): Promise<'all' | 'own' | 'none'> {
  const member = (await readMembers(db, [{ orgId, userId }])).get(memberKey({ orgId, userId }))
  return member === undefined ? 'none' : atLeast(member.role, 'admin') ? 'all' : 'own'
}

const ADMIN_ROLES = ROLES.filter((role) => atLeast(role, 'admin'))

/** Owners and admins. */
export const readAdmins = (db: Handle, orgId: string) =>
  db
    .select({ userId: memberships.userId, email: users.email, verifiedAt: users.emailVerifiedAt })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.orgId, orgId), inArray(memberships.role, ADMIN_ROLES)))

export async function readNames(
  db: Handle,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (userIds.length === 0) return new Map()
  const rows = await db
    .select({ id: users.id, name: users.name })
    .from(users)
    .where(inArray(users.id, [...new Set(userIds)]))
  return new Map(rows.map(({ id, name }) => [id, name]))
}

export async function readOrganization(db: Handle, orgId: string) {
  const [row] = await db
    .select({ name: organizations.name, timezone: organizations.timezone })
    .from(organizations)
    .where(eq(organizations.id, orgId))
  return row
}

/** interface.md, Events 3 (d): events of the organization itself are for owners and admins. */
export const isForAdmins = (type: string): boolean => type.startsWith('org.')
