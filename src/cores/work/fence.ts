/**
 * Fences carry the timeline of the database. One that was given in a tail that is lost is forgotten there, and would be given
 * again to somebody else; so each time the database has gone back, they begin above all that can have been given before.
 */
import type { Handle } from '../../../db/connect.ts'
import { readTimeline } from '../timeline.ts'

/** As many as anything has on one timeline. */
const PER_TIMELINE = 1_000_000
/** Of an integer column. */
const TIMELINES_MAX = 2_000

const firstOf = async (db: Handle): Promise<number> =>
  Math.min((await readTimeline(db))?.changes ?? 0, TIMELINES_MAX) * PER_TIMELINE

/** The fence as it is until the database goes back, and after that the same one above all of before. */
export async function onTimeline(db: Handle, fence: number): Promise<number> {
  return Math.max(fence, (await firstOf(db)) + (fence % PER_TIMELINE))
}
