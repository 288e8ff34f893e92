/** A judge check: what the log of a window says, as far as it fits, and a question about it to the maintenance model. */
import type { CheckDefinition } from '../../contracts/checks.ts'
import type { Storage } from '../dependencies.ts'
import { readLogEvidence } from '../logs/index.ts'
import type { ClaimedCheck } from './claim-checks.ts'
import { evidenceBytes } from './judge-budget.ts'
import { judgeEvidence } from './judge-evidence.ts'
import type { JudgePort } from './judge-port.ts'
import type { Measurement } from './measurement.ts'
import type { Turns } from '../work/index.ts'

type JudgeCheck = Extract<CheckDefinition, { kind: 'judge' }>

/** Null: it was turned off a moment ago. */
export async function measureJudge(
  { db, clock }: Storage,
  judge: JudgePort,
  evidenceReaders: Turns,
  { orgId, id, appId }: Pick<ClaimedCheck, 'orgId' | 'id' | 'appId'>,
  { question, window_minutes, max_tokens: maxTokens }: JudgeCheck,
): Promise<Measurement | null> {
  const settings = await judge.settingsOf(orgId, db)
  if (!settings) return null
  const since = new Date(clock().getTime() - window_minutes * 60_000)
  const maxBytes = evidenceBytes({ question, maxTokens })
  const evidence = await evidenceReaders.take([orgId, appId], () =>
    readLogEvidence(db, { orgId, appId, since, maxBytes }),
  )
  return judgeEvidence(
    { db, clock, ask: (request, signal) => judge.ask(orgId, request, signal) },
    { orgId, checkId: id, question, maxTokens, ...settings },
    evidence,
  )
}
