import { setTimeout as sleep } from 'node:timers/promises'
import { notFound } from '../../contracts/errors.ts'
import { findSource, presentSource } from '../databases/index.ts'
import { read, type Verb } from '../verb.ts'
import type { ConfigurationDeps } from './check-against-database.ts'
import { checkHealth } from './check-health.ts'
import { presentHealth, readHealth } from './source-health.ts'

/** A check that takes longer goes on by itself, and the next look shows what it found. */
const WAIT_MS = 2_000

export const showDataSource: Verb<'showDataSource', ConfigurationDeps> = read(
  async (context, { source_id }) => {
    const { db, clock, orgId } = context
    const row = await findSource(db, orgId, source_id)
    if (!row) throw notFound()
    await Promise.race([checkHealth(context, row), sleep(WAIT_MS, undefined, { ref: false })])
    return { ...presentSource(row), health: presentHealth(await readHealth(db, row), clock()) }
  },
)
