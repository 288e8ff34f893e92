import { setTimeout as sleep } from 'node:timers/promises'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireMember } from '../principal.ts'
import { findSource, presentSource } from '../databases/index.ts'
import type { ConfigurationDeps } from './check-against-database.ts'
import { checkHealth } from './check-health.ts'
import { presentHealth, readHealth } from './source-health.ts'

/** A check that takes longer goes on by itself, and the next look shows what it found. */
const WAIT_MS = 2_000

export const showDataSource =
  (deps: ConfigurationDeps): Handler<'showDataSource'> =>
  async (principal, { source_id }) => {
    const row = await findSource(deps.db, requireMember(principal).orgId, source_id)
    if (!row) throw notFound()
    await Promise.race([checkHealth(deps, row), sleep(WAIT_MS, undefined, { ref: false })])
    return { ...presentSource(row), health: presentHealth(await readHealth(deps.db, row), deps.clock()) }
  }
