/** The ways to the data sources: a few connections each, opened at the first question, read-only and bounded in time. */
import type { AttachRule } from '../../src/contracts/attach-rules.ts'
import type { SourceKind } from '../../src/contracts/data-sources.ts'
import { QUESTION_STATEMENT_MS } from '../../src/contracts/limits.ts'
import { allowedAddresses } from './attached-address.ts'
import { connectTo, type Pool } from './connect-to.ts'
import type { Login } from './place.ts'

/**
 * A handful at once per source and process: more would only wait for the same disk. An embedded database does one thing
 * at a time, and a second connection would only make it change sessions (1 ms) between two questions.
 */
const CONNECTIONS: Record<SourceKind, number> = { postgres: 4, attached: 4, embedded: 1 }
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
      const pool = lazyPool(() => openPool(allowed, kind, login), { moves: kind === 'embedded' })
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

/** As the driver and Node say that there is nobody at the address any more. */
const GONE = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'CONNECTION_CLOSED', 'CONNECTION_ENDED'])

/**
 * The login is read when the first question comes, and again after it could not be read. One that `moves` is read
 * again, too, when nobody answers: the process that had the database may be dead, and this one or another its heir.
 * Asking twice does no harm, for nothing here writes.
 */
function lazyPool(
  open: () => Promise<Pool>,
  { moves }: { moves: boolean },
): { queries: Lazy; end: () => Promise<void> } {
  let opened: Promise<Pool> | undefined
  const pool = () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined
      throw error
    })
    return opened
  }
  const leave = async (left: Promise<Pool>) => {
    // Of several questions that failed together the first one leaves it.
    if (opened === left) opened = undefined
    await (await left).end()
  }
  return {
    queries: {
      async query(text, parameters) {
        const first = pool()
        const reached = await first
        try {
          return await reached.query(text, parameters)
        } catch (error) {
          if (!moves || !GONE.has((error as { code?: string }).code ?? '')) throw error
          void leave(first).catch(() => {})
          return (await pool()).query(text, parameters)
        }
      },
    },
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
      max: CONNECTIONS[kind],
      idleSeconds: IDLE_SECONDS,
      parameters: SESSION,
    },
  )
}
