/**
 * Members as the vendor's auth service last validated them, with hosted auth. What a principal may do comes with the
 * validation of its call; a row here only says to whom something may be sent, and how they are called.
 */
import type { Handle } from '../../../db/connect.ts'
import { and, desc, eq, inArray, sql } from '../../../db/drizzle.ts'
import { validatedMembers } from '../../../db/schema.ts'
import { VALIDATION_CURRENT_SECONDS } from '../../contracts/limits.ts'
import { lowerOf } from '../../contracts/roles.ts'
import type { Clock } from '../dependencies.ts'
import {
  ADMIN_ROLES,
  memberKey,
  uniqueKeys,
  type Directory,
  type Member,
  type MemberKey,
} from './directory.ts'

export function validatedDirectory(clock: Clock): Directory {
  const presentMember = (row: typeof validatedMembers.$inferSelect): Member & MemberKey => ({
    orgId: row.orgId,
    userId: row.userId,
    role: row.role,
    name: row.name,
    email: row.email,
    membershipId: row.membershipId,
    isCurrent: clock().getTime() - row.validatedAt.getTime() <= VALIDATION_CURRENT_SECONDS * 1000,
  })
  const readRows = async (db: Handle, keys: readonly MemberKey[]) => {
    if (keys.length === 0) return []
    const rows = await db
      .select()
      .from(validatedMembers)
      .where(
        sql`(${validatedMembers.orgId}, ${validatedMembers.userId}) in (
          select k."orgId", k."userId"
          from json_to_recordset(${JSON.stringify(uniqueKeys(keys))}::text::json) as k("orgId" text, "userId" text))`,
      )
    return rows.map(presentMember)
  }
  return {
    /** Their own role and membership were stored as this call was validated. Without them no role on an app counts. */
    async readMembership(db, { orgId, userId, role, carriesAppRoles, supportSessionId }) {
      if (supportSessionId !== undefined) return null
      const [own] = await readRows(db, [{ orgId, userId }])
      return own
        ? { role: lowerOf(own.role, role), appMembershipId: carriesAppRoles ? own.membershipId : null }
        : { role, appMembershipId: null }
    },
    readMembers: async (db, keys) => new Map((await readRows(db, keys)).map((row) => [memberKey(row), row])),
    // Nothing to lock: their membership ends at the vendor's.
    lockMember: async (tx, key) => (await readRows(tx, [key])).find(({ isCurrent }) => isCurrent),
    async findMember(db, { orgId, email }) {
      const rows = await db
        .select()
        .from(validatedMembers)
        .where(and(eq(validatedMembers.orgId, orgId), eq(validatedMembers.email, email)))
      const current = rows.map(presentMember).find(({ isCurrent }) => isCurrent)
      return current && { orgId, userId: current.userId }
    },
    // They are the vendor's.
    readMachineAgents: async () => new Map(),
    async readAdmins(db, orgId) {
      const rows = await db
        .select()
        .from(validatedMembers)
        .where(and(eq(validatedMembers.orgId, orgId), inArray(validatedMembers.role, ADMIN_ROLES)))
      return rows.map(presentMember)
    },
    readPeople: async (db, keys) => new Map((await readRows(db, keys)).map((row) => [row.userId, row])),
    /** That somebody left is not told here; that nobody has seen them for a day is known. */
    async readAddressHolder(db, { orgId, email }) {
      const rows = await db
        .select()
        .from(validatedMembers)
        .where(and(eq(validatedMembers.orgId, orgId), eq(validatedMembers.email, email)))
      if (rows.length === 0) return 'nobody'
      return rows.some((row) => presentMember(row).isCurrent) ? 'member' : 'not_current'
    },
    readFormerEmails: async () => [],
    /** As the newest validation told it. */
    async readOrganization(db, orgId) {
      const [row] = await db
        .select({ name: validatedMembers.orgName, timezone: validatedMembers.timezone })
        .from(validatedMembers)
        .where(eq(validatedMembers.orgId, orgId))
        .orderBy(desc(validatedMembers.validatedAt))
        .limit(1)
      return row
    },
  }
}
