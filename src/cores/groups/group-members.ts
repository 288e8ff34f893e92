/** Who is in a group: rows count only with the membership, or the machine agent, that they were made with. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, inArray } from '../../../db/drizzle.ts'
import { groupMembers } from '../../../db/schema.ts'
import { idPattern } from '../../contracts/ids.ts'
import { memberKey, type Directory, type MemberKey } from '../directory/index.ts'

type Stored = typeof groupMembers.$inferSelect

export type FoundMember = MemberKey & {
  /** `usr_…` or `mch_…`. */
  readonly id: string
  readonly kind: 'member' | 'machine_agent'
  readonly name: string
  readonly email: string | null
  readonly membershipId: string
}

const isMachineAgentId = (id: string): boolean => idPattern('mch').test(id)

/** By an id, or a verified address in lower case. */
export async function findGroupMember(
  directory: Directory,
  db: Handle,
  orgId: string,
  id: string,
): Promise<FoundMember | undefined> {
  if (isMachineAgentId(id)) {
    const agent = (await directory.readMachineAgents(db, orgId, [id])).get(id)
    return agent && { orgId, id, kind: 'machine_agent', membershipId: id, email: null, ...agent }
  }
  const key = id.includes('@') ? await directory.findMember(db, { orgId, email: id }) : { orgId, userId: id }
  const member = key && (await directory.readMembers(db, [key])).get(memberKey(key))
  if (!key || !member) return undefined
  const { name, email, membershipId } = member
  return { ...key, id: key.userId, kind: 'member', name, email, membershipId }
}

type Present = Omit<FoundMember, keyof MemberKey | 'membershipId'> & {
  readonly groupId: string
  readonly addedAt: Date
}

/** Those that count, of these groups, by name. */
export async function readGroupMembers(...of: Parameters<typeof readPresent>): Promise<Present[]> {
  const present = await readPresent(...of)
  return present.toSorted((a, b) => a.name.localeCompare(b.name, 'en') || (a.id < b.id ? -1 : 1))
}

/** By group, in no order: comparing names costs more than reading them. */
export async function countGroupMembers(
  ...of: Parameters<typeof readPresent>
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (const { groupId } of await readPresent(...of)) counts.set(groupId, (counts.get(groupId) ?? 0) + 1)
  return counts
}

async function readPresent(
  directory: Directory,
  db: Handle,
  orgId: string,
  groupIds: readonly string[],
): Promise<Present[]> {
  if (groupIds.length === 0) return []
  const rows = await db
    .select()
    .from(groupMembers)
    .where(and(eq(groupMembers.orgId, orgId), inArray(groupMembers.groupId, [...groupIds])))
  const [machines, people] = [rows.filter(isMachine), rows.filter((row) => !isMachine(row))]
  const agents = await directory.readMachineAgents(
    db,
    orgId,
    machines.map(({ membershipId }) => membershipId),
  )
  const members = await directory.readMembers(db, people)
  return rows.flatMap((row): Present[] => {
    const { groupId, addedAt, membershipId } = row
    if (isMachine(row)) {
      const agent = agents.get(membershipId)
      if (!agent) return []
      return [{ groupId, addedAt, id: membershipId, kind: 'machine_agent', name: agent.name, email: null }]
    }
    const member = members.get(memberKey(row))
    if (member?.membershipId !== membershipId) return []
    return [{ groupId, addedAt, id: row.userId, kind: 'member', name: member.name, email: member.email }]
  })
}

const isMachine = ({ membershipId }: Stored): boolean => isMachineAgentId(membershipId)

export const presentGroupMember = ({ id, kind, name, email, addedAt }: Omit<Present, 'groupId'>) => ({
  id,
  kind,
  name,
  email,
  added_at: addedAt.toISOString(),
})
