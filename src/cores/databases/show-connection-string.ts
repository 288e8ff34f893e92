/** The connection string of a managed database. Reading one is audited: it opens the database past every role. */
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { requireMember } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import type { DatabaseDeps } from './create-database.ts'
import type { Login } from './managed-databases.ts'
import { findSource, readLogin, sourceIdOf } from './source-rows.ts'

export const showConnectionString =
  (deps: DatabaseDeps): Handler<'showConnectionString'> =>
  async (principal, { name }) => {
    const { orgId } = requireMember(principal)
    const row = await findSource(deps.db, orgId, sourceIdOf(name))
    if (!row) throw notFound()
    if (row.kind === 'attached') {
      throw new ServiceError('CONFLICT', 'The connection string of an attached database is never shown again')
    }
    if (row.preparingUntil !== null) {
      throw new ServiceError('CONFLICT', 'The database is still being created', {
        hint: 'Try again in a moment.',
      })
    }
    const login = await readLogin(deps, row)
    await withTransaction(deps.db, (tx) =>
      recordAudit(tx, deps.clock, principal, {
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
