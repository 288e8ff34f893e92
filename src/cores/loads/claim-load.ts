/**
 * The next load to take a step of: of the organization whose loads were worked on longest ago, and in it of such a person, so
 * that a large file of one does not keep another waiting. About one step of an organization at a time.
 */
import type { SQL } from 'drizzle-orm'
import { and, eq, inArray, not, sql } from '../../../db/drizzle.ts'
import { loads } from '../../../db/schema.ts'
import { LOAD_GIVE_UP_SECONDS, LOAD_LEASE_SECONDS } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'
import { leased, notAhead } from '../work/index.ts'
import type { LoadRow } from './load-rows.ts'

export type ClaimedLoad = LoadRow & { readonly leaseToken: string }

/**
 * Steps of seconds, statements or steps of minutes, and files that wait for the one process which reads documents. Each kind
 * has loops of its own, so that the others go on meanwhile.
 */
export type Work = 'short' | 'long' | 'documents'

/** An index over fewer rows takes no longer than other steps do, and a look at all values of fewer neither. */
const LONG_ROWS = { index: 1_000, check: 20_000 }
/** The digest is of the whole file, in one step: more than other steps read of it, even over a slow network. */
const LONG_DIGEST_BYTES = 8 * 1024 * 1024

type Progress = Pick<
  LoadRow,
  'state' | 'phase' | 'format' | 'rows' | 'embedded' | 'bytes' | 'readBytes' | 'plan'
>

export function workOf({ state, phase, format, rows, embedded, bytes, readBytes, plan }: Progress): Work {
  if (state !== 'running') return 'short'
  if (phase === 'reading' && waitsForThread({ format, plan })) return 'documents'
  if (phase === 'reading')
    return readBytes >= bytes + (plan?.converted ?? 0) && bytes > LONG_DIGEST_BYTES ? 'long' : 'short'
  if (phase === 'embedding')
    return embedded >= rows && plan?.passages && !plan.passages.isDivided ? 'documents' : 'short'
  if (readsTable(plan)) return 'long'
  if (phase === 'checking') return rows > LONG_ROWS.check ? 'long' : 'short'
  return rows > LONG_ROWS.index || plan?.passages ? 'long' : 'short'
}

const waitsForThread = ({ format, plan }: Pick<LoadRow, 'format' | 'plan'>): boolean =>
  format === 'documents' || ((format === 'xlsx' || format === 'parquet') && plan?.converted === undefined)

/** Compares the file with all rows of a table, of which nobody knows how many there are. */
const readsTable = (plan: LoadRow['plan']): boolean => plan?.replace === true || plan?.deleteMissing === true

/** As `workOf` has it; not null in any state. */
const isReadingDocuments = sql`(l.state = 'running' and (coalesce(l.phase = 'reading', false)
  and (l.format = 'documents' or (l.format in ('xlsx', 'parquet') and l.plan ->> 'converted' is null))
  or coalesce(l.phase = 'embedding', false) and l.embedded >= l.rows and l.plan -> 'passages' is not null
    and l.plan -> 'passages' -> 'isDivided' is null))`
const isLong = sql`(l.state = 'running' and coalesce(
  (l.phase in ('indexing', 'finishing') and (l.rows > ${LONG_ROWS.index} or l.plan -> 'passages' is not null))
  or (l.phase = 'checking' and l.rows > ${LONG_ROWS.check})
  or (l.phase not in ('reading', 'embedding') and (l.plan ->> 'replace' = 'true' or l.plan ->> 'deleteMissing' = 'true'))
  or (l.phase = 'reading' and l.read_bytes >= l.bytes + coalesce((l.plan ->> 'converted')::bigint, 0) and l.bytes > ${LONG_DIGEST_BYTES}), false))`

const IS_WORK: Record<Work, SQL> = {
  short: sql`not ${isReadingDocuments} and not ${isLong}`,
  long: sql`not ${isReadingDocuments} and ${isLong}`,
  documents: isReadingDocuments,
}

type Claim = {
  /** Left out: all. */
  readonly work?: Work | undefined
  /** Not of these organizations. */
  readonly except?: readonly string[] | undefined
}

/** Of whoever takes a step of it, or uploads a part of its file. */
export const loadLease = leased(loads, {
  heldBy: ['orgId', 'id', 'leaseToken'],
  holder: 'leaseToken',
  until: 'leaseUntil',
  seconds: LOAD_LEASE_SECONDS,
})

const GIVE_UP = sql.raw(`make_interval(secs => ${LOAD_GIVE_UP_SECONDS})`)

export async function claimLoad(
  { db, clock }: Storage,
  { work, except = [] }: Claim = {},
): Promise<ClaimedLoad | undefined> {
  const now = notAhead(clock())
  const next = sql`(${loads.orgId}, ${loads.id}) = (
    select l.org_id, l.id from loads l
    where (l.state in ('uploading', 'running') or l.is_staged)
      and (l.state <> 'uploading' or l.updated_at < ${now} - ${GIVE_UP})
      and ${loadLease.isFree('l')}
      and (l.waits_until is null or l.waits_until <= ${now})
      and ${work ? IS_WORK[work] : sql`true`}
      and ${except.length > 0 ? not(inArray(sql`l.org_id`, [...except])) : sql`true`}
      and not exists (
        select from loads o where o.org_id = l.org_id and o.id <> l.id and not ${loadLease.isFree('o')}
          and o.state <> 'uploading')
    order by (select max(o.worked_at) from loads o where o.org_id = l.org_id) nulls first,
      (select max(o.worked_at) from loads o where o.org_id = l.org_id and o.created_by = l.created_by) nulls first,
      l.worked_at nulls first
    limit 1 for update of l skip locked)`
  return (await loadLease.take(db, next, { workedAt: now })) as ClaimedLoad | undefined
}

/** In the state that it was found in: it was not canceled meanwhile. */
const isOurs = (load: ClaimedLoad) => and(loadLease.isHeld(load), eq(loads.state, load.state))

/** Undefined: it was canceled, or taken over because this process was not heard from. */
export const saveStep = async (
  { db, clock }: Storage,
  load: ClaimedLoad,
  values: Partial<LoadRow>,
): Promise<ClaimedLoad | undefined> =>
  (await loadLease.renew(db, isOurs(load), { ...values, updatedAt: clock() })) as ClaimedLoad | undefined

/** False: it was canceled, or taken over. */
export const renewLease = async ({ db }: Storage, load: ClaimedLoad): Promise<boolean> =>
  (await loadLease.renew(db, isOurs(load))) !== undefined

export const releaseLoad = ({ db }: Storage, load: ClaimedLoad): Promise<unknown> =>
  loadLease.release(db, loadLease.isHeld(load))
