/** The audit rows of an ending that reaches several organizations: each is told of its own part. */
import type { Transaction } from '../../../db/connect.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import type { Clock } from '../dependencies.ts'

const KINDS = ['tokens', 'grants', 'credentials', 'invitations'] as const
export type EndedInOrganization = { readonly orgId: string; readonly kind: (typeof KINDS)[number] }

export const totalOf = (ended: readonly EndedInOrganization[]) => ({
  tokens: countOf(ended, 'tokens'),
  grants: countOf(ended, 'grants'),
  credentials: countOf(ended, 'credentials'),
  invitations: countOf(ended, 'invitations'),
})

const countOf = (ended: readonly EndedInOrganization[], kind: EndedInOrganization['kind']): number =>
  ended.filter((one) => one.kind === kind).length

export async function recordEndedAccess(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor,
  {
    ended,
    sessions,
    about,
  }: {
    ended: readonly EndedInOrganization[]
    /** Sessions belong to no organization: told where the person works. */
    sessions?: { orgId: string; count: number } | undefined
    about: string
  },
): Promise<void> {
  const byOrganization = Map.groupBy(ended, ({ orgId }) => orgId)
  if (sessions && sessions.count > 0)
    byOrganization.set(sessions.orgId, byOrganization.get(sessions.orgId) ?? [])
  for (const [orgId, part] of byOrganization) {
    const counts = [
      { count: sessions?.orgId === orgId ? sessions.count : 0, one: 'session' },
      { count: countOf(part, 'tokens'), one: 'API token' },
      { count: countOf(part, 'grants'), one: 'grant' },
      { count: countOf(part, 'credentials'), one: 'credential' },
      { count: countOf(part, 'invitations'), one: 'invitation' },
    ].filter(({ count }) => count > 0)
    const words = counts.map(({ count, one }) => `${count} ${one}${count === 1 ? '' : 's'}`)
    await recordAudit(tx, clock, actor, {
      orgId,
      action: 'access.ended',
      subject: `${about}: ${words.join(', ')}`,
    })
  }
}
