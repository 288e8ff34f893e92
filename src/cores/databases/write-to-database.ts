/** Statements that write to a managed database, with the rights of its own login: no more than its people have. */
import { openPool } from '../../../db/managed/open-pool.ts'
import type { Queries } from './managed-databases.ts'
import { readLogin, type SourceDeps, type SourceRow } from './source-rows.ts'

/** Below MANAGED_STATEMENT_SECONDS: an index over a hundred thousand rows takes minutes. */
const STATEMENT_MS = 20 * 60_000
/** An embedded database that was closed is opened by its first login. */
const LOGIN_MS = 15_000

export async function writeToDatabase<T>(
  deps: Omit<SourceDeps, 'connections'>,
  row: SourceRow,
  work: (queries: Queries) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  // One that is attached belongs to somebody else.
  if (row.kind === 'attached') throw new Error('svc writes to no attached database')
  const pool = openPool(
    { ...(await readLogin(deps, row)), owner: row.orgId },
    {
      statementTimeoutMs: STATEMENT_MS,
      loginMs: LOGIN_MS,
      max: 1,
      idleSeconds: 5,
      parameters: { search_path: 'public' },
      readOnly: false,
    },
  )
  const end = () => void pool.end()
  signal?.addEventListener('abort', end, { once: true })
  try {
    signal?.throwIfAborted()
    return await work(pool)
  } finally {
    signal?.removeEventListener('abort', end)
    await pool.end()
  }
}
