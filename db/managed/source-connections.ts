/** The ways to the data sources: a few connections each, opened at the first question, read-only and bounded in time. */
import type { AttachRule } from '../../src/contracts/attach-rules.ts'
import type { SourceKind } from '../../src/contracts/data-sources.ts'
import { QUESTION_STATEMENT_MS } from '../../src/contracts/limits.ts'
import { allowedAddresses } from './attached-address.ts'
import { connectTo, type Pool } from './connect-to.ts'
import type { Login } from './place.ts'

/** A handful at once per source and process: more would only wait for the same disk. */
const CONNECTIONS_PER_SOURCE = 4
const IDLE_SECONDS = 60
const KEPT_POOLS = 200

/** Given at start-up, so that a question is one round trip and no statement can be without them. */
const SESSION = {
  default_transaction_read_only: 'on',
  // A generic plan does not know the filter's value, and chooses the vector index where it finds nothing.
  plan_cache_mode: 'force_custom_plan',
  'hnsw.iterative_scan': 'relaxed_order',
  // 0.996 of the true neighbours at 100,000 rows; the default of 40 finds 0.92.
  'hnsw.ef_search': '200',
  'hnsw.max_scan_tuples': '100000',
  'hnsw.scan_mem_multiplier': '4',
  'ivfflat.iterative_scan': 'relaxed_order',
  'ivfflat.probes': '20',
}

export function sourceConnections(allowed: readonly AttachRule[]) {
  const pools = new Map<string, { queries: Lazy; end: () => Promise<void> }>()
  const end = async (key: string) => {
    const pool = pools.get(key)
    pools.delete(key)
    await pool?.end()
  }
  return {
    reach(key: string, kind: SourceKind, login: () => Promise<Login>): Lazy {
      const known = pools.get(key)
      if (known) {
        // Last used, last in the map: the first one is the one to go.
        pools.delete(key)
        pools.set(key, known)
        return known.queries
      }
      if (pools.size >= KEPT_POOLS) void end(pools.keys().next().value!)
      const pool = lazyPool(() => openPool(allowed, kind, login))
      pools.set(key, pool)
      return pool.queries
    },
    letGo: end,
    async close() {
      await Promise.all([...pools.keys()].map(end))
    },
  }
}

type Lazy = Pick<Pool, 'query'>

/** The login is read when the first question comes, and again after it could not be read. */
function lazyPool(open: () => Promise<Pool>): { queries: Lazy; end: () => Promise<void> } {
  let opened: Promise<Pool> | undefined
  const pool = () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined
      throw error
    })
    return opened
  }
  return {
    queries: { query: async (text, parameters) => (await pool()).query(text, parameters) },
    end: async () => (await opened?.catch(() => undefined))?.end(),
  }
}

async function openPool(
  allowed: readonly AttachRule[],
  kind: SourceKind,
  login: () => Promise<Login>,
): Promise<Pool> {
  const known = await login()
  const pinned =
    kind === 'attached' ? { addresses: () => allowedAddresses(known.host, known.port, allowed) } : {}
  return connectTo(
    { ...known, ...pinned },
    {
      statementTimeoutMs: QUESTION_STATEMENT_MS,
      max: CONNECTIONS_PER_SOURCE,
      idleSeconds: IDLE_SECONDS,
      parameters: SESSION,
    },
  )
}
