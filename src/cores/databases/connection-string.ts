/** The connection string of a managed database. Reading one is written down: it opens the database past every role. */
import type { showConnection } from '../../contracts/databases.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operation.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember } from '../caller.ts'
import { withTransaction } from '../transaction.ts'
import type { DatabaseNeeds } from './create-database.ts'
import type { Login } from './managed-databases.ts'
import { findSource, loginOf, sourceIdOf } from './source-rows.ts'

export const readConnection =
  (needs: DatabaseNeeds): Handler<typeof showConnection> =>
  async (who, { name }) => {
    const { orgId } = asMember(who)
    const row = await findSource(needs.db, orgId, sourceIdOf(name))
    if (!row) throw notFound()
    if (row.kind === 'attached') {
      throw new ServiceError('CONFLICT', 'The connection string of an attached database is never shown again')
    }
    if (row.preparingUntil !== null) {
      throw new ServiceError('CONFLICT', 'The database is being made', { hint: 'Try again in a moment.' })
    }
    const login = await loginOf(needs, row)
    await withTransaction(needs.db, (tx) =>
      recordAudit(tx, needs.clock, who, {
        orgId,
        action: 'database.connection_shown',
        subject: sourceIdOf(name),
      }),
    )
    const { host, port, user, password, database } = login
    return { name, url: urlOf(login), host, port, user, password, database }
  }

function urlOf({ host, port, user, password, database, ssl }: Login): string {
  const at = host.includes(':') ? `[${host}]` : host
  const mode = ssl === 'disable' ? '' : `?sslmode=${ssl}`
  return `postgres://${user}:${encodeURIComponent(password)}@${at}:${port}/${database}${mode}`
}
