/** Another password for a managed database: whoever read the connection string before has nothing by it any more. */
import { scramVerifier } from '../../../db/wire/scram.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { randomSecret } from '../../trust/keyed-hash.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import type { DatabaseDeps } from './create-database.ts'
import { findSource, readLogin, releaseSource, sealContext, sourceIdOf } from './source-rows.ts'

export const rotateConnectionString: Verb<'rotateConnectionString', DatabaseDeps> = writeInSteps(
  { author: 'admin', audit: 'database.rotated' },
  async (context, { name }) => {
    const { db, orgId, clock, dataKeys, managed, transaction } = context
    const before = await findSource(db, orgId, sourceIdOf(name))
    if (!before) throw notFound()
    const { physicalName } = before
    if (physicalName === null || before.preparingUntil !== null)
      throw new ServiceError('CONFLICT', 'Only a managed database that is ready has a password of ours')
    const password = randomSecret()
    const changed = {
      sealed: dataKeys.seal(sealContext(before), password),
      verifier: scramVerifier(password),
    }
    const storedAt = clock()
    // Stored first: after a crash in between, rotating it again makes both the same.
    let row = await transaction(async ({ tx }) => {
      const [updated] = await tx
        .update(dataSources)
        .set(changed)
        .where(and(eq(dataSources.orgId, orgId), eq(dataSources.id, before.id)))
        .returning()
      if (!updated) throw notFound()
      return updated
    })
    for (;;) {
      const applied = row
      await managed.rotate(physicalName, applied.verifier ?? changed.verifier, () =>
        readLogin(context, applied),
      )
      const stored = await findSource(db, orgId, before.id)
      if (!stored) throw notFound()
      if (stored.sealed === applied.sealed) break
      // Somebody else rotated it meanwhile, and theirs may have come first: the one that is stored has to be the last.
      row = stored
    }
    await releaseSource(context, before)
    // Only now is it true; of the time when it was stored, because whoever read it since has the new one.
    await transaction(({ audit }) => audit('database.rotated', sourceIdOf(name), { at: storedAt }))
    return {}
  },
)
