/** Attaches an existing Postgres database whose address the operator allows. Its login is sealed and never shown again. */
import { isUniqueViolation } from '../../../db/connect.ts'
import { dataSources } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { requireDatabaseLimit, type DatabaseDeps } from './create-database.ts'
import type { AttachedDatabases } from './managed-databases.ts'
import { sealContext, presentSource, sourceIdOf } from './source-rows.ts'

export const attachDatabase: Verb<'attachDatabase', DatabaseDeps & { readonly attached: AttachedDatabases }> =
  writeInSteps(
    { audit: 'database.attached' },
    async ({ clock, orgId, userId, attached, dataKeys, transaction }, { name, title, description, url }) => {
      const login = await attached.check(url)
      const now = clock()
      const id = makeId('ds', now.getTime())
      return transaction(async ({ tx, audit }) => {
        await requireDatabaseLimit(tx, orgId)
        const [row] = await tx
          .insert(dataSources)
          .values({
            orgId,
            id,
            name,
            title: title ?? name,
            description: description ?? '',
            kind: 'attached',
            sealed: dataKeys.seal(sealContext({ orgId, id }), JSON.stringify(login)),
            createdAt: now,
            createdBy: userId,
          })
          .returning()
        await audit('database.attached', sourceIdOf(name))
        return presentSource(row!)
      }).catch((error: unknown) => {
        if (!isUniqueViolation(error)) throw error
        throw new ServiceError('CONFLICT', `A database named ${name} already exists`)
      })
    },
  )
