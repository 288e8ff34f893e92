/** Begins a load. The same file of the same person goes on where it was interrupted. */
import { and, count, desc, eq, inArray, sql } from '../../../db/drizzle.ts'
import { loads } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { LOADS_UNFINISHED_MAX } from '../../contracts/limits.ts'
import { requireDiskQuota } from '../databases/index.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { presentLoad, requireDatabase } from './load-rows.ts'

const UNFINISHED = ['uploading', 'running'] as const

export const createLoad: Verb<'createLoad'> = writeInSteps(
  {},
  async ({ db, clock, member, orgId, userId, transaction }, { name, filename, format, bytes, sha256 }) => {
    const { userName } = member
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
      const [unfinished] = await tx.select({ n: count() }).from(loads).where(isUnfinished)
      if (unfinished!.n >= LOADS_UNFINISHED_MAX) {
        throw new ServiceError(
          'CONFLICT',
          `An organization has at most ${LOADS_UNFINISHED_MAX} unfinished loads`,
          {
            hint: 'Wait for one of them, or cancel it.',
          },
        )
      }
      const now = clock()
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
      return created!
    })
    return presentLoad(load, source)
  },
)
