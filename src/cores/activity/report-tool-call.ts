import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Handler } from '../../contracts/operations.ts'
import { keyedHash } from '../../trust/keyed-hash.ts'
import { requireMember } from '../principal.ts'
import { insertActivity } from './insert-activity.ts'
import type { ActivityDeps } from './record-activity.ts'

/** A call that only the MCP server has seen. It holds no key, so its digests are keyed here before they are stored. */
export const reportToolCall =
  ({ db, clock, dataKeys }: ActivityDeps): Handler<'reportToolCall'> =>
  async (principal, { name, outcome, error, duration_ms, ...seen }) => {
    const member = requireMember(principal)
    if (member.kind !== 'actor') {
      throw new ServiceError('FORBIDDEN', 'Only the MCP server reports tool calls')
    }
    const digest = (sha256: string | undefined) =>
      sha256 === undefined
        ? null
        : keyedHash(dataKeys.keyFor('activity-digest'), `${member.orgId}\n${sha256}`).slice(0, 32)
    const at = new Date(clock().getTime() - duration_ms)
    const row = {
      type: 'function' as const,
      orgId: member.orgId,
      id: makeId('act', at.getTime()),
      at,
      name,
      sourceId: null,
      userId: member.userId,
      userName: member.userName,
      entryPoint: 'mcp' as const,
      clientId: member.clientId ?? null,
      clientName: member.clientName ?? null,
      grantId: member.grantId ?? null,
      outcome,
      error: error ?? null,
      durationMs: duration_ms,
      questionBytes: seen.question_bytes,
      answerBytes: seen.answer_bytes,
      hits: null,
      questionDigest: digest(seen.question_sha256),
      answerDigest: digest(seen.answer_sha256),
      requestId: member.requestId,
    }
    // At most what it was called with: a report gives no right, and keeps none.
    const used = outcome === 'refused' ? [] : seen.scopes.filter((scope) => member.scopes?.includes(scope))
    await insertActivity(
      db,
      row,
      used.map((scope) => ({ scope, sourceId: '' })),
    )
    return {}
  }
