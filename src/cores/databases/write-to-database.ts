/** Statements that write to a managed database: no more than its people may do. */
import { openPool } from '../../../db/managed/open-pool.ts'
import { SHORT_STATEMENT_MS } from '../../contracts/limits.ts'
import type { Login, Queries } from './managed-databases.ts'
import { readLogin, readQuestionLogin, type SourceDeps, type SourceRow } from './source-rows.ts'

/** Below MANAGED_STATEMENT_SECONDS: an index over a hundred thousand rows takes minutes. */
const LONG_STATEMENT_MS = 20 * 60_000
/** Whoever has the login may hold a lock for hours: then it is tried again later. */
const LOCK_MS = 10_000
/** An embedded database that was closed is opened by its first login. */
const LOGIN_MS = 15_000
/** Another name than questions have: the embedded gateway ends those after seconds. */
const APPLICATION_NAME = 'svc load'

type Deps = Omit<SourceDeps, 'connections'>
type Work<T> = (queries: Queries) => Promise<T>
type Options = {
  readonly signal?: AbortSignal | undefined
  /** Its statements go over very many rows. */
  readonly isLong?: boolean
}

/** With the login of its people. */
export const writeToDatabase = async <T>(
  deps: Deps,
  row: SourceRow,
  work: Work<T>,
  options: Options = {},
): Promise<T> => write(row, await readLogin(deps, row), work, options, OF_PEOPLE)

/**
 * With our own login, which has the same rights, and may connect while those of its people may not: over their disk quota.
 * Whatever of theirs it ran would have it: `work` drops tables, and names nothing that they could have made.
 */
export const writeWithOwnLogin = async <T>(
  deps: Deps,
  row: SourceRow,
  work: Work<T>,
  options: Options = {},
): Promise<T> => write(row, await readQuestionLogin(deps, row), work, options, OWN)

/** As well, and in read-only transactions. */
export const readWithOwnLogin = async <T>(
  deps: Deps,
  row: SourceRow,
  work: Work<T>,
  options: Options = {},
): Promise<T> => write(row, await readQuestionLogin(deps, row), work, options, { ...OWN, readOnly: true })

type Session = { readonly searchPath: string; readonly readOnly: boolean }
const OF_PEOPLE: Session = { searchPath: 'public', readOnly: false }
/** Names of the catalog alone, whatever is in the schemas of the database. */
const OWN: Session = { searchPath: 'pg_catalog', readOnly: false }

async function write<T>(
  row: SourceRow,
  login: Login,
  work: Work<T>,
  { signal, isLong = false }: Options,
  { searchPath, readOnly }: Session,
): Promise<T> {
  // One that is attached belongs to somebody else.
  if (row.kind === 'attached') throw new Error('svc writes to no attached database')
  const pool = openPool(
    { ...login, owner: row.orgId },
    {
      statementTimeoutMs: isLong ? LONG_STATEMENT_MS : SHORT_STATEMENT_MS,
      loginMs: LOGIN_MS,
      max: 1,
      idleSeconds: 5,
      parameters: {
        search_path: searchPath,
        application_name: APPLICATION_NAME,
        lock_timeout: String(LOCK_MS),
      },
      readOnly,
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
