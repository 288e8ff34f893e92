/** The connection string of a managed database. Reading one is audited: it opens the database past every role. */
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import type { DatabaseDeps } from './create-database.ts'
import type { Login } from './managed-databases.ts'
import { findSource, readLogin, sourceIdOf } from './source-rows.ts'

export const showConnectionString: Verb<'showConnectionString', DatabaseDeps> = writeInSteps(
  { audit: 'database.connection_shown' },
  async (context, { name }) => {
    const { db, orgId, transaction } = context
    const row = await findSource(db, orgId, sourceIdOf(name))
    if (!row) throw notFound()
    if (row.kind === 'attached') {
      throw new ServiceError('CONFLICT', 'The connection string of an attached database is never shown again')
    }
    if (row.documents !== null) {
      throw new ServiceError('CONFLICT', 'A documents source has no connection string', {
        hint: 'It is filled by: svc docs sync',
      })
    }
    if (row.preparingUntil !== null) {
      throw new ServiceError('CONFLICT', 'The database is still being created', {
        hint: 'Try again in a moment.',
      })
    }
    const login = await readLogin(context, row)
    await transaction(({ audit }) => audit('database.connection_shown', sourceIdOf(name)))
    const { host, port, user, password, database } = login
    const access_column = row.configuration?.access_column ?? null
    return { name, url: urlOf(login), host, port, user, password, database, access_column }
  },
)

function urlOf({ host, port, user, password, database, ssl }: Login): string {
  const at = host.includes(':') ? `[${host}]` : host
  const mode = ssl === 'disable' ? '' : `?sslmode=${ssl}`
  return `postgres://${user}:${encodeURIComponent(password)}@${at}:${port}/${database}${mode}`
}
