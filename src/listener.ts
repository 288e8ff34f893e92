/** One port: who may ask (Host), where the question comes from (address), and which service answers it (path). */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { BlockList, isIPv4, isIPv6, Server as NetServer } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { ADDRESS_HEADER, type Service } from './client/service.ts'
import { isLoopback, SERVICE_NAMES, type Config } from './config.ts'
import type { NodeDoor } from '../oauth/connector/door.ts'
import { answerHealth, type Readiness } from './http/health.ts'
import { SERVICES } from './services.ts'
import type { System } from './system.ts'

export type Listening = { readonly port: number; readonly stop: () => Promise<void> }

/** Headers in ten seconds, the whole request in a minute: slow senders do not hold sockets for ever. */
const HEADERS_MS = 10_000
const REQUEST_MS = 60_000
/** Longer than the idle time-out of common load balancers (60 s), so that they close first. */
const KEEP_ALIVE_MS = 65_000
/** A connection that stayed quiet this long has no request on its way to us. */
const QUIET_MS = 1_000

export async function listen(system: System): Promise<Listening> {
  const { config } = system
  let stopping = false
  const readiness: Readiness = async () =>
    stopping ? { ready: false, because: 'the process is stopping' } : system.readiness()
  const isProxy = proxyCheck(config.TRUSTED_PROXIES)
  const handle = getRequestListener(dispatcher(system, readiness), {
    // The default replaces globalThis.Response, and then `instanceof Response` fails for everybody else here.
    overrideGlobalObjects: false,
  })
  const answering = new Set<ServerResponse>()
  const server = createServer((incoming, outgoing) => {
    establishAddress(incoming, isProxy)
    if (stopping) sayGoodbye(outgoing)
    answering.add(outgoing)
    outgoing.once('close', () => answering.delete(outgoing))
    const door = doorFor(system, incoming)
    void (door ? door.handle(incoming, outgoing) : handle(incoming, outgoing))
  })
  server.headersTimeout = HEADERS_MS
  server.requestTimeout = REQUEST_MS
  server.keepAliveTimeout = KEEP_ALIVE_MS
  const port = await bind(server, config.PORT, config.HOST, 'PORT')
  return {
    port,
    async stop() {
      stopping = true
      answering.forEach(sayGoodbye)
      await closeGently(server, config.STOP_SECONDS)
    },
  }
}

export async function bind(server: Server, port: number, host: string, setting: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = error.code === 'EADDRINUSE'
      reject(taken ? new Error(`Port ${port} is in use. Stop the other program, or set ${setting}.`) : error)
    })
    server.listen(port, host, resolve)
  })
  const address = server.address()
  return typeof address === 'object' && address ? address.port : port
}

/** What was taken is finished; what is new goes elsewhere; who does not finish in time is cut off. */
export async function closeGently(server: Server, seconds: number): Promise<void> {
  // Not the close of an HTTP server: that one also cuts off connections whose next request may be on its way.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
  const quiet = setTimeout(() => {
    server.closeIdleConnections()
    quiet.refresh()
  }, QUIET_MS)
  const late = setTimeout(() => server.closeAllConnections(), seconds * 1000)
  await closed
  clearTimeout(quiet)
  clearTimeout(late)
}

/** The answer itself tells the client to use another connection next time. */
function sayGoodbye(outgoing: ServerResponse): void {
  if (!outgoing.headersSent) outgoing.setHeader('connection', 'close')
}

/** Everything behind the socket. */
export const dispatcher =
  (system: System, readiness: Readiness = system.readiness): Service =>
  async (request) => {
    const { pathname, host } = new URL(request.url)
    const health = await answerHealth(pathname, readiness)
    if (health) return health
    const service = serviceFor(system, host, pathname)
    if (service === 'unknown host') return plain(421, 'This host is not served here.\n')
    return service ? service(request) : plain(404, 'Nothing is here.\n')
  }

const plain = (status: number, text: string): Response =>
  new Response(text, { status, headers: { 'content-type': 'text/plain; charset=utf-8' } })

/** Public addresses come from the configuration: a forged Host reaches nothing, so no page can be built from it. */
function serviceFor(
  { config, services }: System,
  host: string,
  path: string,
): Service | 'unknown host' | undefined {
  const internal = isInternal(host, config)
  let known = internal
  for (const name of SERVICE_NAMES) {
    const service = services.get(name)
    if (!service) continue
    const isHere = SERVICES[name].at(config).some((url) => url.host === host || bothLoopback(url, host))
    known ||= isHere
    if ((isHere || internal) && SERVICES[name].owns.test(path)) return service
  }
  return known ? undefined : 'unknown host'
}

function doorFor({ config, doors }: System, incoming: IncomingMessage): NodeDoor | undefined {
  const host = incoming.headers.host ?? ''
  const path = (incoming.url ?? '/').split('?', 1)[0]!
  for (const [name, door] of doors) {
    const isHere = SERVICES[name].at(config).some((url) => url.host === host || bothLoopback(url, host))
    if ((isHere || isInternal(host, config)) && door.owns.test(path)) return door
  }
  return undefined
}

/** Addresses that only our own services and proxies use. */
const isInternal = (host: string, config: Config): boolean =>
  isOwnAddress(host, config) ||
  [config.AUTH_SERVICE_URL, config.GATEWAY_URL, config.DEPLOY_URL].some((url) => url?.host === host)

/** The address this process listens on, as health checks and neighbours on the same machine write it. */
const isOwnAddress = (host: string, config: Config): boolean =>
  host === `${config.HOST}:${config.PORT}` && isLoopback(config.HOST)

/** localhost, 127.0.0.1 and [::1] are one place, at the same port. */
function bothLoopback(url: URL, host: string): boolean {
  const other = URL.parse(`http://${host}`)
  return other !== null && isLoopback(url.hostname) && isLoopback(other.hostname) && url.port === other.port
}

/** Walks X-Forwarded-For from the near end: the first address that is not one of our proxies is the client. */
function establishAddress(incoming: IncomingMessage, isProxy: (address: string) => boolean): void {
  let address = plainAddress(incoming.socket.remoteAddress ?? 'unknown')
  const forwarded = String(incoming.headers['x-forwarded-for'] ?? '').split(',')
  while (isProxy(address) && forwarded.length > 0) {
    const before = forwarded.pop()?.trim() ?? ''
    if (!isIPv4(before) && !isIPv6(before)) break
    address = plainAddress(before)
  }
  setHeader(incoming, ADDRESS_HEADER, address)
}

/** A socket that listens on both families shows IPv4 peers as ::ffff:10.0.0.1: the same client, not another one. */
const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')

/** Whatever came from outside under this name is a lie. Fetch headers are made from the raw ones. */
function setHeader(incoming: IncomingMessage, name: string, value: string): void {
  const raw: string[] = []
  for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
    const [key, old] = [incoming.rawHeaders[at]!, incoming.rawHeaders[at + 1]!]
    if (key.toLowerCase() !== name) raw.push(key, old)
  }
  incoming.rawHeaders = [...raw, name, value]
  incoming.headers[name] = value
}

function proxyCheck(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const range of ranges) {
    const [ip, bits] = range.split('/')
    const family = isIPv4(ip!) ? 'ipv4' : 'ipv6'
    if (bits === undefined) list.addAddress(ip!, family)
    else list.addSubnet(ip!, Number(bits), family)
  }
  return (address) => list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}
