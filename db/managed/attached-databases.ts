/** Adopts an existing Postgres: within the operator's list, never our own server, fit to be asked. */
import type { AttachRule } from '../../src/contracts/attach-rules.ts'
import { ServiceError } from '../../src/contracts/errors.ts'
import type { Sql } from '../connect.ts'
import { allowedAddresses, areOurs, readAttachedUrl } from './attached-address.ts'
import { checkAttached, systemIdentifierOf } from './check-attached.ts'
import { connectTo } from './connect-to.ts'
import type { Login } from './place.ts'

export type AttachOptions = {
  readonly sql: Sql
  readonly allowed: readonly AttachRule[]
  /** Where our own servers listen. */
  readonly ours: () => Promise<readonly { host: string; port: number }[]>
}

export function attachedDatabases({ sql, allowed, ours }: AttachOptions) {
  return {
    async examine(url: string): Promise<Login> {
      const read = readAttachedUrl(url)
      if ('problems' in read)
        throw new ServiceError('INVALID_REQUEST', undefined, { problems: read.problems })
      const addresses = () => allowedAddresses(read.host, read.port, allowed)
      const found = await addresses()
      if (found.length === 0 || (await areOurs(found, read.port, await ours()))) {
        throw new ServiceError('INVALID_REQUEST', 'Databases at this address may not be attached', {
          hint: 'Whoever runs the installation decides by ATTACH_ALLOWED; its own servers are never among them.',
        })
      }
      const pool = connectTo(
        { ...read, addresses },
        { statementTimeoutMs: 10_000, max: 1, idleSeconds: 1, parameters: {} },
      )
      try {
        const systemIdentifier = await systemIdentifierOf((text) => sql.query(text))
        const problems = await checkAttached(
          (text) => pool.query(text),
          systemIdentifier === undefined ? {} : { systemIdentifier },
        )
        if (problems.length > 0) throw new ServiceError('INVALID_REQUEST', undefined, { problems })
        return read
      } catch (error) {
        if (error instanceof ServiceError) throw error
        // What the server said is foreign text, and may name what is behind the address.
        throw new ServiceError('INVALID_REQUEST', 'The database could not be connected to', {
          hint: 'Check address, user, password, database and sslmode.',
          cause: error,
        })
      } finally {
        await pool.end()
      }
    },
  }
}
