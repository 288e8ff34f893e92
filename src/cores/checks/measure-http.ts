/** An http check: the request, and its conditions on status, time and body. */
import type { CheckDefinition } from '../../contracts/checks.ts'
import { holds, parseCondition, type Condition } from '../../contracts/conditions.ts'
import type { HttpProbe, Probed } from './http-probe-port.ts'
import { measured, type Measurement } from './measurement.ts'
import type { CheckSecrets } from './stored-definition.ts'

type HttpCheck = Extract<CheckDefinition, { kind: 'http' }>

export async function measureHttp(
  probe: HttpProbe,
  orgId: string,
  check: HttpCheck,
  { headers, body }: CheckSecrets,
): Promise<Measurement> {
  const conditions = check.conditions.flatMap((text) => parseCondition(text) ?? [])
  const { method, url, timeout_ms: timeoutMs } = check
  const readsBody = conditions.some(isAboutBody)
  const probed = await probe({ orgId, method, url, headers, body, timeoutMs, readsBody })
  const found = judgeAnswer(probed, conditions)
  return probed.kind !== 'refused' && probed.isPrivate ? withoutDetails(found) : found
}

const isAboutBody = ({ operand }: Condition): boolean => operand.kind === 'body'

function judgeAnswer(probed: Probed, conditions: readonly Condition[]): Measurement {
  // Our own name server, or an address that we do not go to, says nothing about the app; that its name leads nowhere does.
  if (probed.kind === 'refused')
    return measured(probed.reason === 'no_address' ? 'fail' : 'error', probed.reason)
  const ms = Math.round(probed.timeMs)
  if (probed.kind === 'failed') return measured('fail', probed.reason, { ms })
  const { status, timeMs, body } = probed
  const broken = conditions
    .filter((condition) => body !== null || !isAboutBody(condition))
    .find((condition) => !holds(condition, { status, timeMs, body: body ?? '' }))
  if (broken) return measured('fail', 'condition', { ms, status, detail: broken.text })
  if (body === null && conditions.some(isAboutBody))
    return measured('indeterminate', 'evidence_limit', { ms, status })
  return measured('pass', null, { ms, status })
}

/** decisions, 13: from there only pass or fail and the status are kept. */
const withoutDetails = ({ result, status }: Measurement): Measurement =>
  result === 'pass' ? measured('pass', null, { status }) : measured('fail', 'private_address', { status })
