import { count, eq, sql } from '../../../db/drizzle.ts'
import { trailStreams } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { TRAIL_STREAMS_MAX } from '../../contracts/limits.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import { requireAllowed, type IntegrationChecks } from '../notifications/index.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { TRAIL_BEGIN } from './stream-trail.ts'
import { nameOf, presentStream, sealTarget } from './trail-stream-rows.ts'

type Deps = { readonly dataKeys: DataKeys; readonly checks: IntegrationChecks }

export const createTrailStream: Verb<'createTrailStream', Deps> = writeInSteps(
  { author: 'owner', audit: 'trail_stream.created' },
  async ({ transaction, clock, orgId, userId, dataKeys, checks }, { kind, url, authorization }) => {
    // Before the transaction: it asks the network.
    await requireAllowed(checks, orgId, url)
    return transaction(async ({ tx, audit }) => {
      // Counted one after the other, so that two cannot both be the last.
      await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`trail streams of ${orgId}`}, 0))`)
      const [found] = await tx.select({ n: count() }).from(trailStreams).where(eq(trailStreams.orgId, orgId))
      if (found!.n >= TRAIL_STREAMS_MAX)
        throw new ServiceError(
          'CONFLICT',
          `An organization has at most ${TRAIL_STREAMS_MAX} streams of its trail`,
        )
      const createdAt = clock()
      const row = { orgId, id: makeId('trs', createdAt.getTime()), kind, host: new URL(url).host }
      const [stream] = await tx
        .insert(trailStreams)
        .values({
          ...row,
          sealed: sealTarget(dataKeys, row, { url, authorization }),
          createdAt,
          createdBy: userId,
          afterEpoch: TRAIL_BEGIN.epoch,
          afterRow: TRAIL_BEGIN.row,
          nextAt: createdAt,
          failures: 0,
        })
        .returning()
      await audit('trail_stream.created', nameOf(row))
      return presentStream(stream!)
    })
  },
)
