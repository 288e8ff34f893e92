/** Attaches an existing Postgres database whose address the operator allows. Its login is sealed and never shown again. */
import { isUniqueViolation } from '../../../db/connect.ts'
import { dataSources } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { requireMember } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import { requireDatabaseLimit, type DatabaseDeps } from './create-database.ts'
import type { AttachedDatabases } from './managed-databases.ts'
import { sealContext, presentSource, sourceIdOf } from './source-rows.ts'

export const attachDatabase =
  (deps: DatabaseDeps & { readonly attached: AttachedDatabases }): Handler<'attachDatabase'> =>
  async (principal, { name, title, description, url }) => {
    const { orgId, userId } = requireMember(principal)
    const login = await deps.attached.check(url)
    const now = deps.clock()
    const id = makeId('ds', now.getTime())
    return withTransaction(deps.db, async (tx) => {
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
          sealed: deps.dataKeys.seal(sealContext({ orgId, id }), JSON.stringify(login)),
          createdAt: now,
          createdBy: userId,
        })
        .returning()
      const subject = sourceIdOf(name)
      await recordAudit(tx, deps.clock, principal, { orgId, action: 'database.attached', subject })
      return presentSource(row!)
    }).catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error
      throw new ServiceError('CONFLICT', `A database named ${name} already exists`)
    })
  }
