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
    const { db, orgId, dataKeys, managed, transaction } = context
    const before = await findSource(db, orgId, sourceIdOf(name))
    if (!before) throw notFound()
    if (before.physicalName === null || before.preparingUntil !== null)
      throw new ServiceError('CONFLICT', 'Only a managed database that is ready has a password of ours')
    const password = randomSecret()
    const changed = {
      sealed: dataKeys.seal(sealContext(before), password),
      verifier: scramVerifier(password),
    }
    // Stored first: after a crash in between, rotating it again makes both the same.
    const row = await transaction(async ({ tx, audit }) => {
      const [updated] = await tx
        .update(dataSources)
        .set(changed)
        .where(and(eq(dataSources.orgId, orgId), eq(dataSources.id, before.id)))
        .returning()
      if (!updated) throw notFound()
      await audit('database.rotated', sourceIdOf(name))
      return updated
    })
    await managed.rotate(before.physicalName, changed.verifier, () => readLogin(context, row))
    await releaseSource(context, before)
    return {}
  },
)
