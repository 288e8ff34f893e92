/** Managed databases on a Postgres server of the operator's. */
import { ServiceError } from '../../src/contracts/errors.ts'
import { ManagedServerProblem } from './managed-server-problem.ts'
import type { Place } from './place.ts'
import type { ManagedServer } from './postgres-server.ts'

export function serverPlace(server: ManagedServer): Place {
  const inOurWords = async (work: () => Promise<void>) => {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof ManagedServerProblem)) throw error
      throw new ServiceError('CONFLICT', error.says, {
        hint: 'This is for whoever runs the installation.',
        cause: error,
      })
    }
  }
  return {
    kind: 'postgres',
    address: async () => ({ host: server.host, port: server.port, ssl: server.ssl }),
    create: (name, verifier) => inOurWords(() => server.create(name, verifier)),
    remove: (name) => inOurWords(() => server.remove(name)),
    open: async () => {},
    close: () => server.close(),
  }
}
