/** Another credential in place of one, which works for a chosen time beside it. */
import { and, eq } from '../../../db/drizzle.ts'
import { machineAgentCredentials } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { isMadeWith } from '../api-tokens/index.ts'
import type { LivenessDeps } from '../grants/index.ts'
import { recordEnding } from '../record-ending.ts'
import { endOfOverlap, refuseOutliving } from '../previous-value.ts'
import { write, type Verb } from '../verb.ts'
import {
  insertCredential,
  isLiveCredential,
  presentCredential,
  revokeCredentials,
  type Credential,
} from './credential-rows.ts'
import { lockManageable, refuseHigherAgent } from './machine-agent-rows.ts'

export const rotateMachineAgentCredential: Verb<'rotateMachineAgentCredential', LivenessDeps> = write(
  { author: 'viewer', audit: 'machine_agent.credential_rotated' },
  async (context, { machine_agent_id, credential_id, overlap_hours, public_key }) => {
    const { tx, clock, member, orgId, audit } = context
    const agent = await lockManageable(tx, member, machine_agent_id)
    await refuseHigherAgent(tx, member, agent)
    const isIt = and(
      eq(machineAgentCredentials.agentId, agent.id),
      eq(machineAgentCredentials.id, credential_id),
    )
    const [before] = await tx
      .select()
      .from(machineAgentCredentials)
      .where(and(isIt, isLiveCredential(context)))
    if (!before) throw notFound()
    // What is made with a token ends with it: another one's would outlive it.
    const { tokenId } = member
    if (tokenId !== undefined && !(await isMadeWith(tx, orgId, before.madeWithTokenId, tokenId)))
      throw new ServiceError('FORBIDDEN', 'A token rotates only credentials that were made with it', {
        hint: 'Rotate it in the console.',
      })
    refuseOutliving(member, before.expiresAt)
    if (before.replacedBy !== null)
      throw new ServiceError('CONFLICT', 'This credential was rotated before. Rotate the new one.')
    refuseOtherKind(before, public_key)
    const isBeforeIt = and(eq(machineAgentCredentials.replacedBy, before.id), isLiveCredential(context))
    await revokeCredentials(tx, clock, isBeforeIt)
    const { credential, secret } = await insertCredential(tx, context, member, agent.id, public_key, before)
    const until = endOfOverlap(clock(), overlap_hours)
    const expiresAt = before.expiresAt && before.expiresAt < until ? before.expiresAt : until
    await tx.update(machineAgentCredentials).set({ replacedBy: credential.id, expiresAt }).where(isIt)
    recordEnding(tx, 'machine_credential_rotated', [
      { orgId, id: before.id, to: { expiresAt: expiresAt.toISOString() } },
    ])
    // With its tokens, which nobody can tell from those of others.
    if (overlap_hours === 0) await revokeCredentials(tx, clock, isIt)
    await audit('machine_agent.credential_rotated', `${agent.name} (${credential.startsWith}…)`)
    return { ...presentCredential(credential), secret }
  },
)

function refuseOtherKind({ kind }: Credential, key: object | undefined): void {
  if ((kind === 'public_key') === (key !== undefined)) return
  const problem = key ? 'public_key is not for a secret' : 'public_key must be the new key'
  throw new ServiceError('INVALID_REQUEST', undefined, { problems: [problem] })
}
