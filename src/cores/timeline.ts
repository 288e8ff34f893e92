/**
 * What the database knows of its own past: on which timeline of the server it was when a process last looked, until when it
 * was alive there, and the tails that it may have lost. A row, so that it goes back with everything else.
 */
import type { Handle } from '../../db/connect.ts'
import { eq, sql } from '../../db/drizzle.ts'
import { installationFacts } from '../../db/schema.ts'
import { preparedQuery } from './prepared-query.ts'

export const TIMELINE_FACT = 'database_timeline'

/** What was acknowledged in between may be gone. Times in milliseconds. */
export type LostTail = { readonly from: number; readonly until: number }

export type Timeline = {
  /** Another one begins where somebody has gone back on purpose: nothing of before is compared with it. */
  readonly lineage: string
  /** Of the server; null where it does not say. */
  readonly timeline: string | null
  /** Grows whenever it has gone back. */
  readonly changes: number
  /** Grows with every look of every process. */
  readonly beat: number
  readonly aliveAt: number
  readonly lost: readonly LostTail[]
}

const fact = preparedQuery((db) =>
  db
    .select({ value: installationFacts.value })
    .from(installationFacts)
    .where(eq(installationFacts.name, sql.placeholder('name')))
    .prepare('timeline_fact'),
)

/** Undefined: nobody has looked yet, as with the embedded database. */
export async function readTimeline(db: Handle): Promise<Timeline | undefined> {
  const [row] = await fact(db).execute({ name: TIMELINE_FACT })
  return row?.value as Timeline | undefined
}

/** Clocks of processes differ by so much, and times in tokens are whole seconds. */
const TOLERANCE_MS = 5_000

/** The tail in which something was made at this time, if it may be lost. */
export async function lostTailOf(db: Handle, madeAt: Date): Promise<LostTail | undefined> {
  const at = madeAt.getTime()
  const lost = (await readTimeline(db))?.lost ?? []
  return lost.findLast(({ from, until }) => at >= from - TOLERANCE_MS && at <= until + TOLERANCE_MS)
}
