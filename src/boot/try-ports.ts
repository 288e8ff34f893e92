/** Tries the ports before anything is made: a first start takes a while, and a taken port would end it at its last step. */
import { createServer, type Server } from 'node:net'
import type { Config } from './config.ts'
import { isEmbedded } from './services.ts'

type Port = {
  readonly port: number
  readonly host: string
  /** The settings that change them. */
  readonly settings: { readonly port: string; readonly host: string }
}

export const OWN_PORT = { port: 'PORT', host: 'HOST' }
export const METRICS_PORT = { port: 'METRICS_PORT', host: 'METRICS_HOST' }

export async function tryPorts(config: Config): Promise<void> {
  const places = portsOf(config)
  // One after the other: of several problems the first is told.
  for (const [at, place] of places.entries()) {
    const other = places.slice(0, at).find((earlier) => isSamePort(earlier, place))
    if (other) {
      throw new Error(
        `${other.settings.port} and ${place.settings.port} are both ${place.port}. Change one of them.`,
      )
    }
    const server = createServer()
    await bindPort(server, place)
    await new Promise((closed) => server.close(closed))
  }
}

const EVERY_ADDRESS = ['0.0.0.0', '::']
/** Port 0 is whichever is free. */
const isSamePort = (a: Port, b: Port): boolean =>
  a.port !== 0 &&
  a.port === b.port &&
  (a.host === b.host || [a.host, b.host].some((host) => EVERY_ADDRESS.includes(host)))

function portsOf(config: Config): Port[] {
  const { MANAGED_DATABASE_URL: managed = config.DATABASE_URL ?? 'embedded' } = config
  return [
    { port: config.PORT, host: config.HOST, settings: OWN_PORT },
    ...(config.METRICS_PORT === 'off'
      ? []
      : [{ port: config.METRICS_PORT, host: config.METRICS_HOST, settings: METRICS_PORT }]),
    // With a Postgres server another process may serve them, and this one asks there.
    ...(isEmbedded(config) && managed === 'embedded' && config.SVC_SERVICES.includes('api-gateway')
      ? [
          {
            port: config.MANAGED_DATABASE_PORT,
            host: config.MANAGED_DATABASE_HOST,
            settings: { port: 'MANAGED_DATABASE_PORT', host: 'MANAGED_DATABASE_HOST' },
          },
        ]
      : []),
  ]
}

/** Connections that wait to be accepted. Node's own 511 are too few where a thousand clients come at once; the system may allow fewer. */
const BACKLOG = 4_096

/** Returns the port, which is another one where 0 was asked for. */
export async function bindPort(server: Server, place: Port): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(portError(error, place)))
    server.listen({ port: place.port, host: place.host, backlog: BACKLOG }, resolve)
  })
  const address = server.address()
  return typeof address === 'object' && address ? address.port : place.port
}

export class PortInUse extends Error {
  override readonly name = 'PortInUse'
}

function portError(error: NodeJS.ErrnoException, { port, host, settings }: Port): Error {
  switch (error.code ?? '') {
    case 'EADDRINUSE':
      return new PortInUse(`Port ${port} is in use. Stop the other program, or set ${settings.port}.`)
    case 'EACCES':
      return new Error(`Port ${port} is not allowed for this user. Set ${settings.port} to one above 1023.`)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new Error(`${host} is not an address of this machine. Set ${settings.host}.`)
    default:
      return error
  }
}
