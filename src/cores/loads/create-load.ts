/** Begins a load. The same file of the same person goes on where it was interrupted. */
import type { Transaction } from '../../../db/connect.ts'
import { and, asc, count, desc, eq, inArray, isNotNull, lt, or, sql } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { loads } from '../../../db/schema.ts'
import { byteSize } from '../../contracts/byte-size.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import {
  LOAD_TABLE_BYTES,
  LOADS_UNFINISHED_MAX,
  LOADS_UNFINISHED_PER_PERSON,
} from '../../contracts/limits.ts'
import { notifyChange } from '../changes/index.ts'
import { requireDiskQuota } from '../databases/index.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { presentLoad, requireDatabase } from './load-rows.ts'
import { isTable } from './read-rows.ts'

const UNFINISHED = ['uploading', 'running'] as const

export const createLoad: Verb<'createLoad'> = writeInSteps(
  {},
  async ({ db, clock, member, orgId, userId, transaction }, { name, filename, format, bytes, sha256 }) => {
    const { userName } = member
    if (isTable(format) && bytes > LOAD_TABLE_BYTES) {
      throw new ServiceError('TOO_LARGE', `Such a file may have ${byteSize(LOAD_TABLE_BYTES)}`, {
        hint: 'Save it as CSV, or divide it.',
      })
    }
    const source = await requireDatabase(db, orgId, name)
    await requireDiskQuota(db, orgId, source.kind)
    const load = await transaction(async ({ tx }) => {
      await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`loads of ${orgId}`}, 0))`)
      const isUnfinished = and(eq(loads.orgId, orgId), inArray(loads.state, [...UNFINISHED]))
      const [same] = await tx
        .select()
        .from(loads)
        .where(
          and(
            isUnfinished,
            eq(loads.sourceId, source.id),
            eq(loads.createdBy, userId),
            eq(loads.sha256, sha256),
            eq(loads.bytes, bytes),
            eq(loads.format, format),
          ),
        )
        .orderBy(desc(loads.id))
        .limit(1)
      if (same) return same
      const now = clock()
      const isOwn = and(isUnfinished, eq(loads.createdBy, userId))
      for (const { of, max, whose } of [
        { of: isOwn, max: LOADS_UNFINISHED_PER_PERSON, whose: 'A person' },
        { of: isUnfinished, max: LOADS_UNFINISHED_MAX, whose: 'An organization' },
      ]) {
        const [unfinished] = await tx.select({ n: count() }).from(loads).where(of)
        if (unfinished!.n < max || (await endRefused(tx, of, now))) continue
        throw new ServiceError('CONFLICT', `${whose} has at most ${max} unfinished loads`, {
          hint: 'Wait for one of them, or cancel it.',
        })
      }
      const id = makeId('lod', now.getTime())
      const people = { createdBy: userId, createdByName: userName }
      const times = { createdAt: now, updatedAt: now }
      const [created] = await tx
        .insert(loads)
        .values({
          orgId,
          id,
          sourceId: source.id,
          filename,
          format,
          bytes,
          sha256,
          ...people,
          ...times,
          state: 'uploading',
          isStaged: true,
        })
        .returning()
      await notifyChange(tx, 'loads', { orgId })
      return created!
    })
    return presentLoad(load, source)
  },
)

/** As long as a person takes to choose columns. */
const CHOOSING_MS = 10 * 60_000

/**
 * A file whose start was refused waits for other choices, as does one that nobody has started, but they keep nobody from
 * loading: the oldest of them makes way.
 */
async function endRefused(tx: Transaction, of: ReturnType<typeof and>, now: Date): Promise<boolean> {
  const isForgotten = and(
    eq(loads.received, loads.bytes),
    lt(loads.updatedAt, new Date(now.getTime() - CHOOSING_MS)),
  )
  const isRefused = and(of, eq(loads.state, 'uploading'), or(isNotNull(loads.failingSince), isForgotten))
  const [oldest] = await tx
    .select({ id: loads.id })
    .from(loads)
    .where(isRefused)
    .orderBy(asc(loads.updatedAt))
    .limit(1)
    .for('update')
  if (!oldest) return false
  await tx
    .update(loads)
    .set({ state: 'canceled', updatedAt: now, finishedAt: now, failingSince: null })
    .where(and(isRefused, eq(loads.id, oldest.id)))
  await notify(tx, 'loads')
  return true
}
