/** Begins a load. The same file of the same person goes on where it was interrupted. */
import { and, desc, eq } from '../../../db/drizzle.ts'
import { loads } from '../../../db/schema.ts'
import { byteSize } from '../../contracts/byte-size.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { LOAD_TABLE_BYTES } from '../../contracts/limits.ts'
import { notifyChange } from '../changes/index.ts'
import { requireDiskQuota } from '../databases/index.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { presentLoad, requireDatabase } from './load-rows.ts'
import { isTable } from './read-rows.ts'
import { isUnfinished, lockLoads, requirePlace } from './unfinished-loads.ts'

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
      await lockLoads(tx, orgId)
      const [same] = await tx
        .select()
        .from(loads)
        .where(
          and(
            isUnfinished(orgId),
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
      await requirePlace(tx, { orgId, userId }, now)
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
