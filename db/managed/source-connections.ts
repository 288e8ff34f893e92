/** Connection pools of the data sources: a few connections each, opened at the first question, read-only and with time limits. */
import type { SourceKind } from '../../src/contracts/data-sources.ts'
import { QUESTION_STATEMENT_MS } from '../../src/contracts/limits.ts'
import type { AttachedPools } from './attached-thread.ts'
import { openPool, type Pool } from './open-pool.ts'
import type { Login } from './database-provisioner.ts'

/**
 * Per source and process: more connections would only wait for the same disk. An embedded database runs one statement at
 * a time, and a second connection would only make it reset its session (1 ms) between two questions.
 */
const CONNECTIONS: Record<SourceKind, number> = { postgres: 4, attached: 4, embedded: 1 }
const IDLE_SECONDS = 60
const KEPT_POOLS = 200

/** Given at start-up, so that a question need not set them. */
const SESSION = {
  // A generic plan does not know the filter's value, and chooses the vector index where it finds nothing.
  plan_cache_mode: 'force_custom_plan',
  'hnsw.iterative_scan': 'relaxed_order',
  // 0.996 of the true neighbors at 100,000 rows; the default of 40 finds 0.92.
  'hnsw.ef_search': '200',
  'hnsw.max_scan_tuples': '100000',
  'hnsw.scan_mem_multiplier': '4',
  'ivfflat.iterative_scan': 'relaxed_order',
  'ivfflat.probes': '20',
}

export function sourceConnections(attached: AttachedPools) {
  const pools = new Map<string, { queries: Lazy; end: () => Promise<void> }>()
  const end = async (key: string) => {
    const pool = pools.get(key)
    pools.delete(key)
    await pool?.end()
  }
  return {
    /** `owner`: the organization whose questions they are. */
    open(key: string, kind: SourceKind, owner: string, login: () => Promise<Login>): Lazy {
      const known = pools.get(key)
      if (known) {
        // Most recently used last: the first one is evicted.
        pools.delete(key)
        pools.set(key, known)
        return known.queries
      }
      if (pools.size >= KEPT_POOLS) void end(pools.keys().next().value!)
      const pool = lazyPool(() => openSourcePool(attached, kind, owner, login), {
        reopensOn: REOPENS_ON[kind],
      })
      pools.set(key, pool)
      return pool.queries
    },
    release: end,
    async close() {
      await Promise.all([...pools.keys()].map(end))
    },
  }
}

type Lazy = Pick<Pool, 'query'>

/** Error codes of the driver and of Node when nothing listens at the address any more. */
const GONE = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'CONNECTION_CLOSED', 'CONNECTION_ENDED'])
/** The password of our own login expired, or was changed by what runs with its rights (question-role.ts). */
const LOGIN_REFUSED = new Set(['28P01'])

/**
 * The process that served an embedded database may be dead, and another one has taken over. Reading our login on the
 * server sets it again.
 */
const REOPENS_ON: Record<SourceKind, ReadonlySet<string>> = {
  postgres: LOGIN_REFUSED,
  attached: new Set(),
  embedded: GONE,
}

/**
 * The login is read at the first question, and again after that failed, or ended with one of the codes. Asking twice
 * does no harm, since these connections are read-only.
 */
function lazyPool(
  open: () => Promise<Pool>,
  { reopensOn }: { reopensOn: ReadonlySet<string> },
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
    // Of several questions that failed together the first one closes the pool.
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
          if (!reopensOn.has((error as { code?: string }).code ?? '')) throw error
          void leave(first).catch(() => {})
          return (await pool()).query(text, parameters)
        }
      },
    },
    end: async () => (await opened?.catch(() => undefined))?.end(),
  }
}

/** An embedded database that was closed, on a machine that others use as well; within the deadline of a request. */
const OPENING_MS = 15_000

async function openSourcePool(
  attached: AttachedPools,
  kind: SourceKind,
  owner: string,
  login: () => Promise<Login>,
): Promise<Pool> {
  const settings = {
    statementTimeoutMs: QUESTION_STATEMENT_MS,
    max: CONNECTIONS[kind],
    idleSeconds: IDLE_SECONDS,
    parameters: SESSION,
    readOnly: true,
    ...(kind === 'embedded' && { loginMs: OPENING_MS }),
  }
  const target = { ...(await login()), owner }
  return kind === 'attached' ? attached.open(target, settings) : openPool(target, settings)
}
