/** Managed databases on the operator's Postgres server. */
import { ServiceError } from '../../src/contracts/errors.ts'
import { ManagedServerError } from './managed-server-error.ts'
import type { DatabaseProvisioner } from './database-provisioner.ts'
import type { ManagedServer } from './postgres-server.ts'

export function serverProvisioner(server: ManagedServer): DatabaseProvisioner {
  return {
    kind: 'postgres',
    address: async () => ({ host: server.host, port: server.port, ssl: server.ssl }),
    create: (name, verifier) => server.create(name, verifier).catch(toServiceError),
    remove: (name) => server.remove(name).catch(toServiceError),
    open: async () => {},
    close: () => server.close(),
  }
}

function toServiceError(error: unknown): never {
  if (!(error instanceof ManagedServerError)) throw error
  const hint = 'Ask whoever runs this installation.'
  throw new ServiceError('CONFLICT', error.message, { hint, cause: error })
}
