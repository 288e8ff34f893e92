/** A server that is killed and started again over what it has kept, and its first owner. */
import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import type { Call } from '../../src/client/http-client.ts'
import { REQUEST_SECONDS } from './client-process.ts'
import { databaseUrl, onServer } from './database.ts'
import { freePort } from './free-port.ts'
import { firstWordsIn, migratedFolder, type Processes, type ServerProcess } from './process.ts'
import { freshSecrets } from './system.ts'

export type KilledServer = {
  readonly call: Call
  readonly token: string
  readonly server: () => ServerProcess
  readonly kill: () => Promise<void>
  /** Nothing of it stays on a server of somebody else's. */
  readonly end: () => Promise<void>
}

/** Its own data lies beside its managed databases: embedded, or on that server. */
export async function startKilledServer(
  own: Processes,
  { managed, models }: { readonly managed: string; readonly models: string },
): Promise<KilledServer> {
  const database = managed === 'embedded' ? undefined : await emptyDatabase()
  const env = {
    PORT: String(await freePort()),
    SVC_ORG: 'Kill',
    EMBEDDING_MODELS: models,
    MANAGED_DATABASE_URL: managed,
    ...(database
      ? { SVC_DATA_DIR: await own.newFolder(), DATABASE_URL: database.url, ...freshSecrets() }
      : { SVC_DATA_DIR: await migratedFolder(own) }),
  }
  let server = await own.start({ env })
  const { token } = await firstWordsIn(server)
  return {
    call: (operation, input) => server.as({ token }, REQUEST_SECONDS * 1000)(operation, input),
    token,
    server: () => server,
    async kill() {
      await server.stop('SIGKILL')
      server = await own.start({ env })
    },
    async end() {
      await server.stop('SIGKILL')
      await database?.drop()
    },
  }
}

async function emptyDatabase() {
  const { url, template } = inject('postgres')
  const name = `${template}_${randomBytes(4).toString('hex')}`
  await onServer(url, `create database ${name} template ${template}`)
  return { url: databaseUrl(url, name), drop: () => onServer(url, `drop database ${name} with (force)`) }
}
