/** Checks an existing Postgres database before it is attached: allowed by the operator, not on our own server, and new enough. */
import type { AttachRule } from '../../src/contracts/attach-rules.ts'
import { ServiceError } from '../../src/contracts/errors.ts'
import type { Sql } from '../connect.ts'
import { allowedAddresses, includeOwnServer, parseAttachedUrl } from './attached-address.ts'
import { checkAttached, systemIdentifierOf } from './check-attached.ts'
import type { AttachedPools } from './attached-thread.ts'
import type { Login } from './database-provisioner.ts'

export type AttachOptions = {
  /** Our own database where it is on a server. Embedded ones all have the identifier of their template. */
  readonly sql: Sql | undefined
  readonly allowed: readonly AttachRule[]
  readonly pools: AttachedPools
  /** The addresses of our own servers. */
  readonly ours: () => Promise<readonly { host: string; port: number }[]>
}

export function attachedDatabases({ sql, allowed, pools, ours }: AttachOptions) {
  return {
    async check(url: string): Promise<Login> {
      const read = parseAttachedUrl(url)
      if ('problems' in read)
        throw new ServiceError('INVALID_REQUEST', undefined, { problems: read.problems })
      const found = await allowedAddresses(read.host, read.port, allowed)
      if (found.length === 0 || (await includeOwnServer(found, read.port, await ours()))) {
        throw new ServiceError('INVALID_REQUEST', 'Databases at this address may not be attached', {
          hint: 'Whoever runs this installation allows addresses with ATTACH_ALLOWED; its own servers cannot be attached.',
        })
      }
      const pool = pools.open(read, {
        statementTimeoutMs: 10_000,
        max: 1,
        idleSeconds: 1,
        parameters: {},
        readOnly: true,
      })
      try {
        const systemIdentifier = sql && (await systemIdentifierOf((text) => sql.query(text)))
        const problems = await checkAttached(
          (text) => pool.query(text),
          systemIdentifier === undefined ? {} : { systemIdentifier },
        )
        if (problems.length > 0) throw new ServiceError('INVALID_REQUEST', undefined, { problems })
        return read
      } catch (error) {
        if (error instanceof ServiceError) throw error
        // The server's own message may reveal what is behind the address.
        throw new ServiceError('INVALID_REQUEST', 'Could not connect to the database', {
          hint: 'Check the address, user, password, database and sslmode.',
          cause: error,
        })
      } finally {
        await pool.end()
      }
    },
  }
}
