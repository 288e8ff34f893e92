/** Managed databases on the operator's Postgres server. */
import { createHmac } from 'node:crypto'
import { ServiceError } from '../../src/contracts/errors.ts'
import { ManagedServerError } from './managed-server-error.ts'
import type { DatabaseProvisioner } from './database-provisioner.ts'
import type { ManagedServer } from './postgres-server.ts'
import { questionRoleOf } from './question-role.ts'
import { scramVerifier } from '../wire/scram.ts'

/** The passwords of our own logins are derived from the key, so that no row has to hold them. */
export function serverProvisioner(
  server: ManagedServer,
  questionKey: Uint8Array,
  warn: (event: string, fields: Record<string, unknown>) => void,
): DatabaseProvisioner {
  return {
    kind: 'postgres',
    address: async () => ({ host: server.host, port: server.port, ssl: server.ssl }),
    create: (name, verifier) => server.create(name, verifier).catch(toServiceError),
    async rotate(name, verifier) {
      await server.create(name, verifier).catch(toServiceError)
      await server.endSessionsOf(name).catch(toServiceError)
    },
    async remove(name) {
      const roles = await server.remove(name).catch(toServiceError)
      if (roles.length > 0) {
        warn('roles of a removed database stay without a login: another database grants them rights', {
          roles,
        })
      }
    },
    async questionLogin(name) {
      const password = createHmac('sha256', questionKey).update(name).digest('base64url')
      await server.createQuestionRole(name, scramVerifier(password)).catch(toServiceError)
      return { user: questionRoleOf(name), password }
    },
    open: async () => {},
    close: () => server.close(),
  }
}

function toServiceError(error: unknown): never {
  if (!(error instanceof ManagedServerError)) throw error
  const hint = 'Ask whoever runs this installation.'
  throw new ServiceError('CONFLICT', error.message, { hint, cause: error })
}
