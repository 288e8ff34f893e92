/**
 * Leases of rows: who works on one, and until when without a word of theirs. Whether one is over the database's clock
 * decides, which is the same for all processes. Whoever lost it is refused by what they know of the row: its holder, and
 * its fence where it has one. Names of holders are new each time, and fences carry the timeline of the database (fence.ts):
 * nobody has what a lost tail has forgotten.
 */
import { randomUUID } from 'node:crypto'
import type { SQL } from 'drizzle-orm'
import type { AnyPgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Handle } from '../../../db/connect.ts'
import { and, eq, getTableColumns, sql } from '../../../db/drizzle.ts'
import { secondsFromNow } from '../process-leases.ts'

type Row<T extends PgTable> = T['$inferSelect']
type Name<T extends PgTable> = Extract<keyof Row<T>, string>
type Values<T extends PgTable> = { readonly [N in Name<T>]?: Row<T>[N] | SQL }

type LeaseColumns<T extends PgTable, N extends Name<T>, U extends Name<T>, H extends Name<T>> = {
  /** All that whoever holds it knows of it: which row it is, and as whom. */
  readonly heldBy: readonly N[]
  readonly until: U
  /** Null while it is nobody's. Left out: the state of the row says that. */
  readonly holder?: H
  /** Grows whenever the holder changes. Left out: each is held once, or its holders have names that nobody had before. */
  readonly fence?: Name<T>
  /** Left out: whoever takes it says for how long. */
  readonly seconds?: number
  /**
   * Once it is over its holder has lost it, also while nobody else has it. Elsewhere one that was late may go on as long as
   * nobody has noticed.
   */
  readonly endsByItself?: true
}

export function leased<T extends PgTable, N extends Name<T>, U extends Name<T>, H extends Name<T> = never>(
  table: T,
  declared: LeaseColumns<T, N, U, H>,
) {
  const { heldBy, holder, fence, until, seconds, endsByItself } = declared
  const columns = getTableColumns(table) as Record<string, AnyPgColumn>
  const end = columns[until]!
  const endOf = (alias?: string) => (alias ? sql.raw(`${alias}.${end.name}`) : end)

  /** As drivers read it, so that the end itself may be what a holder knows. */
  const fromNow = (forSeconds = seconds): SQL =>
    sql`date_trunc('milliseconds', ${secondsFromNow(forSeconds!)})`
  const isLive = (alias?: string) => sql<boolean | null>`${endOf(alias)} > clock_timestamp()`
  /** The same clock, read once for a statement, so that an index finds them. */
  const isOver = (alias?: string) => sql<boolean | null>`${endOf(alias)} < statement_timestamp()`
  const isFree = (alias?: string): SQL => sql`(${endOf(alias)} is null or ${isOver(alias)})`

  const grown = fence && { [fence]: sql`${columns[fence]} + 1` }
  const taken = (name?: string, forSeconds?: number) =>
    ({ [until]: fromNow(forSeconds), ...(holder && { [holder]: name }), ...grown }) as Record<U, SQL> &
      Record<H, string>
  const given = { [until]: null, ...(holder && { [holder]: null }) } as Record<U | H, null>

  async function set(db: Handle, where: SQL | undefined, values: object): Promise<Row<T> | undefined> {
    const [row] = await db.update(table).set(values).where(where).returning()
    return row
  }

  return {
    fromNow,
    isLive,
    isOver,
    isFree,
    isHeld: (held: Pick<Row<T>, N>): SQL =>
      and(...heldBy.map((name) => eq(columns[name]!, held[name])), endsByItself && isLive())!,
    /** For statements that do more than this: what taking it sets, and giving it back. */
    taken,
    given,
    /** As well, for whoever ends one whose holder may go on. */
    cutOff: { ...given, ...grown },

    /** Undefined: it is another's. */
    take: (db: Handle, where: SQL | undefined, values: Values<T> = {}, forSeconds?: number) =>
      set(db, and(where, isFree()), { ...values, ...taken(randomUUID(), forSeconds) }),
    /** Undefined: it was lost. */
    renew: (db: Handle, where: SQL | undefined, values: Values<T> = {}, forSeconds?: number) =>
      set(db, where, { ...values, [until]: fromNow(forSeconds) }),
    /** Undefined: it was lost. */
    release: (db: Handle, where: SQL | undefined, values: Values<T> = {}) =>
      set(db, where, { ...values, ...given }),
    /** Those of holders that are gone. */
    async giveBackOver(db: Handle, where: SQL, values: Values<T> = {}): Promise<void> {
      await db
        .update(table)
        .set({ ...values, ...given })
        .where(and(where, isOver()))
    },
  }
}

/** Within a lease: of these, one or two may fail. */
const RENEWALS = 4

type Renewed = {
  readonly seconds: number
  /** False: it was lost. */
  readonly renew: () => Promise<boolean>
  readonly onError: (error: unknown) => void
}

/** Work that may take longer than its lease. Whoever lost it is told to stop: another one may be at it. */
export async function whileRenewed<T>(
  { seconds, renew, onError }: Renewed,
  work: (lost: AbortSignal) => Promise<T>,
): Promise<T> {
  const lost = new AbortController()
  const timer = setInterval(
    () => void renew().then((isHeld) => isHeld || lost.abort(), onError),
    (seconds * 1000) / RENEWALS,
  )
  try {
    return await work(lost.signal)
  } finally {
    clearInterval(timer)
  }
}
