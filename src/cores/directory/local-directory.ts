/** Members as the auth service of this installation stores them. */
import { and, eq, inArray, isNotNull, isNull, sql } from '../../../db/drizzle.ts'
import { formerMembers, machineAgents, memberships, organizations, users } from '../../../db/schema.ts'
import { lowerOf } from '../../contracts/roles.ts'
import type { Clock } from '../dependencies.ts'
import { liveMachineAgent, machineAgentRole } from '../live-machine-agent.ts'
import { preparedQuery } from '../prepared-query.ts'
import {
  ADMIN_ROLES,
  memberKey,
  uniqueKeys,
  type Directory,
  type Member,
  type MemberKey,
} from './directory.ts'

export const localDirectory = (clock: Clock): Directory => ({
  /**
   * Read again, in the transaction of the principal's call: whoever left the organization, or was lowered, has lost their
   * role from that moment on.
   */
  async readMembership(db, { orgId, userId, role, carriesAppRoles, supportSessionId }) {
    // Staff may be members too; what they do in a support session they do not do as one.
    if (supportSessionId !== undefined) return null
    const [membership] = await membershipOf(db).execute({ orgId, userId })
    if (membership)
      return {
        role: lowerOf(membership.role, role),
        appMembershipId: carriesAppRoles ? membership.id : null,
      }
    const [agent] = await machineAgentOf(db).execute({ orgId, userId, now: clock().toISOString() })
    return agent ? { role: lowerOf(machineAgentRole(agent), role), appMembershipId: null } : null
  },

  async readMembers(db, keys) {
    if (keys.length === 0) return new Map()
    const rows = await db.execute<MemberKey & Omit<Member, 'isCurrent'>>(sql`
      select k."orgId", k."userId", p.role, p.name, p.email, p."membershipId"
      from json_to_recordset(${JSON.stringify(uniqueKeys(keys))}::text::json) as k("orgId" text, "userId" text)
      cross join lateral (
        select m.role, m.id as "membershipId", u.name, case when u.email_verified_at is not null then u.email end as email
        from memberships m join users u on u.id = m.user_id
        where m.org_id = k."orgId" and m.user_id = k."userId" limit 1
      ) p`)
    return new Map(rows.map((row) => [memberKey(row), { ...row, isCurrent: true }]))
  },

  /** So that nobody is given something while they are being removed. */
  async lockMember(tx, { orgId, userId }) {
    const [row] = await tx
      .select({ email: users.email, name: users.name, membershipId: memberships.id })
      .from(memberships)
      .innerJoin(users, eq(users.id, memberships.userId))
      .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
      .for('share', { of: memberships })
    return row
  },

  async findMember(db, { orgId, email }) {
    const [row] = await db
      .select({ userId: memberships.userId })
      .from(memberships)
      .innerJoin(users, eq(users.id, memberships.userId))
      .where(and(eq(memberships.orgId, orgId), eq(users.email, email), isNotNull(users.emailVerifiedAt)))
    return row && { orgId, userId: row.userId }
  },

  async readMachineAgents(db, orgId, ids) {
    if (ids.length === 0) return new Map()
    const rows = await db
      .select({ id: machineAgents.id, userId: machineAgents.userId, name: machineAgents.name })
      .from(machineAgents)
      .where(
        and(
          eq(machineAgents.orgId, orgId),
          inArray(machineAgents.id, [...ids]),
          isNull(machineAgents.removedAt),
        ),
      )
    return new Map(rows.map(({ id, ...agent }) => [id, agent]))
  },

  async readAdmins(db, orgId) {
    const rows = await db
      .select({
        userId: memberships.userId,
        role: memberships.role,
        membershipId: memberships.id,
        name: users.name,
        email: sql<string | null>`case when ${users.emailVerifiedAt} is not null then ${users.email} end`,
      })
      .from(memberships)
      .innerJoin(users, eq(users.id, memberships.userId))
      .where(and(eq(memberships.orgId, orgId), inArray(memberships.role, ADMIN_ROLES)))
    return rows.map((row) => ({ ...row, orgId, isCurrent: true }))
  },

  async readPeople(db, keys) {
    if (keys.length === 0) return new Map()
    const rows = await db
      .select({ id: users.id, name: users.name, email: users.email })
      .from(users)
      .where(inArray(users.id, [...new Set(keys.map(({ userId }) => userId))]))
    return new Map(rows.map(({ id, ...person }) => [id, person]))
  },

  /** Their own address, or one that an identity provider answers for, as when a membership ends. */
  async readAddressHolder(db, { orgId, email, since }) {
    const [held] = await db.execute<{ member: boolean; former: boolean }>(sql`
      select exists (
          select from memberships m join users u on u.id = m.user_id
          where m.org_id = ${orgId} and (
            (u.email = ${email} and u.email_verified_at is not null)
            or exists (
              select from identities i where i.user_id = u.id and i.email_verified and lower(i.email) = ${email}
            )
          )
        ) as member,
        exists (
          select from former_members
          where org_id = ${orgId} and ${email} = any(emails) and since >= ${since.toISOString()}::timestamptz
        ) as former`)
    return held!.member ? 'member' : held!.former ? 'former' : 'nobody'
  },

  async readFormerEmails(db, { orgId, userId }) {
    const [row] = await db
      .select({ emails: formerMembers.emails })
      .from(formerMembers)
      .where(and(eq(formerMembers.orgId, orgId), eq(formerMembers.userId, userId)))
    return row?.emails ?? []
  },

  async readOrganization(db, orgId) {
    const [row] = await db
      .select({ name: organizations.name, timezone: organizations.timezone })
      .from(organizations)
      .where(eq(organizations.id, orgId))
    return row
  },
})

const membershipOf = preparedQuery((db) =>
  db
    .select({ id: memberships.id, role: memberships.role })
    .from(memberships)
    .where(
      and(eq(memberships.orgId, sql.placeholder('orgId')), eq(memberships.userId, sql.placeholder('userId'))),
    )
    .prepare('membership_of'),
)

const machineAgentOf = preparedQuery((db) =>
  liveMachineAgent(db, {
    orgId: sql.placeholder('orgId'),
    userId: sql.placeholder('userId'),
    now: sql`${sql.placeholder('now')}::timestamptz`,
  }).prepare('machine_agent_of'),
)
