import { and, gt, isNull, or } from '../../../db/drizzle.ts'
import { appBlobs } from '../../../db/schema.ts'
import { SOURCE_RETENTION } from '../../contracts/limits.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { read, type Verb } from '../verb.ts'
import { isOfApp, isOneOf } from './storage.ts'

export const findMissingFiles: Verb<'findMissingFiles', WithDirectory> = read(
  'principal',
  async ({ db, clock, principal, directory }, { alias, sha256 }) => {
    const app = await requireAppWriter(directory, db, principal, alias)
    const asked = [...new Set(sha256)]
    // What retention will take soon is sent again, so that it does not go between this answer and the revision.
    const soon = new Date(clock().getTime() - (SOURCE_RETENTION.unnamedHours / 2) * 3_600_000)
    const rows = await db
      .select({ sha256: appBlobs.sha256 })
      .from(appBlobs)
      .where(
        and(
          isOfApp({ orgId: app.orgId, appId: app.id }),
          isOneOf(asked),
          or(isNull(appBlobs.unnamedSince), gt(appBlobs.unnamedSince, soon)),
        ),
      )
    const has = new Set(rows.map((row) => row.sha256))
    return { missing: asked.filter((one) => !has.has(one)) }
  },
)
