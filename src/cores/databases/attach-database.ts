/** Adopts an existing Postgres: its address was allowed by the operator, its login is sealed and never shown again. */
import { isUniqueViolation } from '../../../db/connect.ts'
import { dataSources } from '../../../db/schema.ts'
import type { attachDatabase } from '../../contracts/databases.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Handler } from '../../contracts/operation.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember } from '../caller.ts'
import { withTransaction } from '../transaction.ts'
import { requireRoom, type DatabaseNeeds } from './create-database.ts'
import type { AttachedDatabases } from './managed-databases.ts'
import { placeOf, presentSource, sourceIdOf } from './source-rows.ts'

export const adoptDatabase =
  (needs: DatabaseNeeds & { readonly attached: AttachedDatabases }): Handler<typeof attachDatabase> =>
  async (who, { name, title, description, url }) => {
    const { orgId, userId } = asMember(who)
    const login = await needs.attached.examine(url)
    const now = needs.clock()
    const id = makeId('ds', now.getTime())
    return withTransaction(needs.db, async (tx) => {
      await requireRoom(tx, orgId)
      const [row] = await tx
        .insert(dataSources)
        .values({
          orgId,
          id,
          name,
          title: title ?? name,
          description: description ?? '',
          kind: 'attached',
          sealed: needs.dataKeys.seal(placeOf({ orgId, id }), JSON.stringify(login)),
          createdAt: now,
          createdBy: userId,
        })
        .returning()
      const subject = sourceIdOf(name)
      await recordAudit(tx, needs.clock, who, { orgId, action: 'database.attached', subject })
      return presentSource(row!)
    }).catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error
      throw new ServiceError('CONFLICT', `A database named ${name} exists already`)
    })
  }
