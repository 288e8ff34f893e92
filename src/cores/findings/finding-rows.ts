/** Findings as the operations return them. */
import type { App } from '../apps/index.ts'
import { findings } from '../../../db/schema.ts'
import type { Finding } from './known-matters.ts'

/** Not all the lines that it cites. */
export const SHOWN_COLUMNS = {
  id: findings.id,
  fingerprint: findings.fingerprint,
  kind: findings.kind,
  state: findings.state,
  summary: findings.summary,
  location: findings.location,
  executionId: findings.executionId,
  evidence: findings.evidence,
  timesFound: findings.timesFound,
  firstFoundAt: findings.firstFoundAt,
  lastFoundAt: findings.lastFoundAt,
  reopenedBy: findings.reopenedBy,
}

/** A text of the model, a place and references, which name paths, are for those who may read source and logs. */
export const presentFinding = (
  row: Pick<Finding, keyof typeof SHOWN_COLUMNS>,
  { alias }: App,
  readsSource: boolean,
) => ({
  id: row.id,
  app: alias,
  fingerprint: row.fingerprint,
  kind: row.kind,
  state: row.state,
  summary: readsSource ? row.summary : null,
  location: readsSource ? row.location : null,
  execution_id: row.executionId,
  evidence: readsSource ? [...row.evidence] : [],
  times_found: row.timesFound,
  first_found_at: row.firstFoundAt.toISOString(),
  last_found_at: row.lastFoundAt.toISOString(),
  reopened_by: row.reopenedBy,
})
