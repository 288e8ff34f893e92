/** Statements that write to a managed database: no more than its people may do. */
import { openPool } from '../../../db/managed/open-pool.ts'
import type { Login, Queries } from './managed-databases.ts'
import { readLogin, readQuestionLogin, type SourceDeps, type SourceRow } from './source-rows.ts'

/** Below MANAGED_STATEMENT_SECONDS: an index over a hundred thousand rows takes minutes. */
const STATEMENT_MS = 20 * 60_000
/** An embedded database that was closed is opened by its first login. */
const LOGIN_MS = 15_000
/** Another name than questions have: the embedded gateway ends those after seconds. */
const APPLICATION_NAME = 'svc load'

type Deps = Omit<SourceDeps, 'connections'>
type Work<T> = (queries: Queries) => Promise<T>

/** With the login of its people. */
export const writeToDatabase = async <T>(
  deps: Deps,
  row: SourceRow,
  work: Work<T>,
  signal?: AbortSignal,
): Promise<T> => write(row, await readLogin(deps, row), work, signal)

/** With our own login, which has the same rights, and may connect while those of its people may not: over their disk quota. */
export const writeWithOwnLogin = async <T>(
  deps: Deps,
  row: SourceRow,
  work: Work<T>,
  signal?: AbortSignal,
): Promise<T> => write(row, await readQuestionLogin(deps, row), work, signal)

async function write<T>(row: SourceRow, login: Login, work: Work<T>, signal?: AbortSignal): Promise<T> {
  // One that is attached belongs to somebody else.
  if (row.kind === 'attached') throw new Error('svc writes to no attached database')
  const pool = openPool(
    { ...login, owner: row.orgId },
    {
      statementTimeoutMs: STATEMENT_MS,
      loginMs: LOGIN_MS,
      max: 1,
      idleSeconds: 5,
      parameters: { search_path: 'public', application_name: APPLICATION_NAME },
      readOnly: false,
    },
  )
  const abort = () => void pool.abort()
  signal?.addEventListener('abort', abort, { once: true })
  try {
    signal?.throwIfAborted()
    return await work(pool)
  } finally {
    signal?.removeEventListener('abort', abort)
    await pool.end()
  }
}
