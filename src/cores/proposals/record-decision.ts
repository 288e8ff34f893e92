/** What is written of every decision: who decided and by what, in the row, the audit trail and the event alike. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { apiTokens, platformAccessGrants } from '../../../db/schema.ts'
import { maskSecrets } from '../../contracts/mask-secrets.ts'
import { plainText } from '../../contracts/plain-text.ts'
import type { Clock } from '../dependencies.ts'
import { recordAudit } from '../record-audit.ts'
import { recordEvent } from '../outbox.ts'
import type { MemberPrincipal } from '../principal.ts'
import type { Proposal } from './proposal-rows.ts'

export async function decidedBy(
  tx: Transaction,
  clock: Clock,
  principal: MemberPrincipal,
  note: string | undefined,
) {
  const written = maskSecrets(plainText(note ?? '')).trim()
  return {
    decisionNote: written === '' ? null : written,
    decidedById: principal.userId,
    decidedBy: principal.userName,
    decidedVia: principal.entryPoint,
    decidedTokenId: principal.tokenId ?? null,
    decidedToken: await readTokenName(tx, principal),
    decidedGrantId: principal.grantId ?? null,
    decidedAgent: await readAgentName(tx, principal),
    decidedAt: clock(),
  }
}

/** With hosted auth the token is not in this database. */
async function readTokenName(tx: Transaction, { orgId, tokenId }: MemberPrincipal): Promise<string | null> {
  if (tokenId === undefined) return null
  const [token] = await tx
    .select({ name: apiTokens.name })
    .from(apiTokens)
    .where(and(eq(apiTokens.orgId, orgId), eq(apiTokens.id, tokenId)))
  return token?.name ?? null
}

/** A person may have connected several agents: which of them it was, its grant says. */
async function readAgentName(tx: Transaction, { orgId, grantId }: MemberPrincipal): Promise<string | null> {
  if (grantId === undefined) return null
  const [grant] = await tx
    .select({ name: platformAccessGrants.clientName })
    .from(platformAccessGrants)
    .where(and(eq(platformAccessGrants.orgId, orgId), eq(platformAccessGrants.id, grantId)))
  return grant?.name ?? null
}

type Decided = { readonly alias: string; readonly principal: MemberPrincipal; readonly proposal: Proposal }

export const auditDecision = (
  tx: Transaction,
  clock: Clock,
  action: 'approved' | 'denied' | 'retried',
  { alias, principal, proposal }: Decided,
): Promise<void> =>
  recordAudit(tx, clock, principal, {
    orgId: proposal.orgId,
    action: `proposal.${action}`,
    subject: `${alias}: ${proposal.id}${credentialOf(principal)}`,
  })

const credentialOf = ({ tokenId, grantId }: MemberPrincipal): string =>
  `${tokenId === undefined ? '' : `, by API token ${tokenId}`}${grantId === undefined ? '' : `, by agent ${grantId}`}`

/** Identifiers only. A proposal that failed and was applied anew may be approved once more, even with the same diff. */
export async function announceDecision(
  tx: Transaction,
  clock: Clock,
  action: 'approved' | 'denied',
  { principal, proposal }: Decided,
): Promise<void> {
  await recordEvent(tx, clock, {
    orgId: proposal.orgId,
    type: `application.maintenance.proposal.${action}`,
    subject: `proposals/${proposal.id}`,
    source: 'proposals',
    dedupKey:
      action === 'denied'
        ? `${proposal.id}:denied`
        : `${proposal.id}:approved:${proposal.deploymentId ?? proposal.decidedAt!.getTime()}`,
    actorId: principal.userId,
    appId: proposal.appId,
    data: {
      proposal_id: proposal.id,
      ...(principal.tokenId !== undefined && { token_id: principal.tokenId }),
      ...(principal.grantId !== undefined && { grant_id: principal.grantId }),
    },
  })
}
