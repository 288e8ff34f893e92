/** One port: checks the Host, determines the address of the client, and chooses the service by path. */
import { createServer, IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { BlockList, isIPv4, isIPv6, Server as NetServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { ADDRESS_HEADER, REMOTE_HEADER, type Service } from '../client/service.ts'
import { ERRORS, ServiceError } from '../contracts/errors.ts'
import { errorBody } from '../http/answer.ts'
import { isLoopback, SERVICE_NAMES, type Config, type ServiceName } from './config.ts'
import type { NodeHandler } from '../../oauth/connector/connector-handler.ts'
import { answerHealth, isHealth, type Readiness } from '../http/health.ts'
import { requestIdOf } from '../http/observe-request.ts'
import { NOT_FOUND_PAGE } from '../console/safe-next.ts'
import { FORGOTTEN_PROXY } from './admission.ts'
import { GuardedResponse } from './guarded-response.ts'
import { pipelinedRequests } from './pipelined-requests.ts'
import { SERVICES } from './services.ts'
import type { System } from './system.ts'
import { bindPort, METRICS_PORT, OWN_PORT } from './try-ports.ts'

export type Listening = { readonly port: number; readonly stop: () => Promise<void> }

/** Headers within ten seconds, the whole request within a minute: slow clients do not hold sockets for ever. */
const HEADERS_MS = 10_000
const REQUEST_MS = 60_000
/** How late those two may be noticed. Node's own is half a minute. */
const CHECK_MS = 5_000
/** Longer than the idle time-out of common load balancers (60 s), so that they close first. */
const KEEP_ALIVE_MS = 65_000
/** A connection that was idle this long has no request on its way to us. */
const IDLE_MS = 1_000

/** Where requests of one connection are in each other's way. */
const PIPELINED_RETRY_SECONDS = 5

/** The mcp-server has turns of its own, and a call that waits for one must not be in the way of others. */
const MCP_PATHS = SERVICES['mcp-server'].owns

/** RFC 6761: nobody's. */
const NO_HOST = 'none.invalid'

/** RFC 6797: a year. Not for subdomains: those of the operator's domain are not ours to decide about. */
const HSTS = 'max-age=31536000'

export async function listen(system: System): Promise<Listening> {
  const { config, metrics, admission, answers } = system
  let stopping = false
  const ready = shared(system.readiness)
  const readiness: Readiness = async () =>
    stopping ? { ready: false, because: 'the process is stopping' } : ready()
  /** One for all who call meanwhile. */
  let noting: Promise<void> | undefined
  const noteRemote = () => (noting ??= system.noteRemote()?.finally(() => (noting = undefined)))
  const isProxy = proxyCheck(config.TRUSTED_PROXIES)
  const httpsHosts = httpsHostsOf(system)
  const handle = getRequestListener(dispatcher(system, readiness), {
    // The default replaces globalThis.Response, and then `instanceof Response` fails for everybody else here.
    overrideGlobalObjects: false,
    // Load balancers ask for health by HTTP/1.0, without a Host. All else needs one.
    hostname: NO_HOST,
  })
  const answering = new Set<GuardedResponse>()
  metrics?.observeOpenRequests(admission.counts)
  const inOrder = pipelinedRequests()
  const options = { connectionsCheckingInterval: CHECK_MS, IncomingMessage, ServerResponse: GuardedResponse }
  const server = createServer(options, (incoming, outgoing) => {
    if (httpsHosts.has(incoming.headers.host ?? '')) outgoing.setHeader('strict-transport-security', HSTS)
    inOrder(incoming.socket, outgoing, {
      start: () => receive(incoming, outgoing),
      refuse() {
        metrics?.observeRefusal('too_many_pipelined')
        answerRefused(incoming, outgoing, 'OVERLOADED', PIPELINED_RETRY_SECONDS)
      },
    })
  })
  function receive(incoming: IncomingMessage, outgoing: GuardedResponse): void {
    if (namesTwoHosts(incoming)) return answerTwoHosts(outgoing)
    const peer = plainAddress(incoming.socket.remoteAddress ?? 'unknown')
    const isFromProxy = isProxy(peer)
    const address = isFromProxy ? clientAddress(peer, incoming, isProxy) : peer
    if (!isFromProxy && isForwarded(incoming) && isPrivate(peer) && admission.noticeProxy()) {
      system.log.warn(FORGOTTEN_PROXY, {
        proxy: peer,
        remedy: 'TRUSTED_PROXIES, see docs/operating.md#overload',
      })
    }
    setHeader(incoming, ADDRESS_HEADER, address)
    if (stopping) closeAfterAnswer(outgoing)
    answering.add(outgoing)
    const { headers } = incoming
    const path = pathOf(incoming)
    const isUrgent = isHealth(path) || (isOtherServices(headers.host ?? '', config) && isFromProxy)
    const nodeHandler = nodeHandlerFor(system, incoming)
    const over = admission.add({
      address,
      credential: headers.authorization ?? headers.cookie ?? '',
      hasOwnTurns: MCP_PATHS.test(path),
      isUrgent,
      start() {
        const begin = () => {
          // Of somebody who has gone meanwhile it would stay open for ever.
          if (outgoing.destroyed) return
          outgoing.guardedBy(answers, incoming.socket, () => {
            void (nodeHandler ? nodeHandler.handle(incoming, outgoing) : handle(incoming, outgoing))
          })
        }
        // Not from anybody: receipts of endings take longer by it.
        const isRemote = headers[REMOTE_HEADER] !== undefined && (isFromProxy || isPrivate(peer))
        const noted = isRemote ? noteRemote() : undefined
        if (noted) void noted.then(begin, begin)
        else begin()
      },
      refuse({ because, isOwnDoing, retryAfterSeconds }) {
        metrics?.observeRefusal(because)
        answerRefused(incoming, outgoing, isOwnDoing ? 'RATE_LIMITED' : 'OVERLOADED', retryAfterSeconds)
      },
    })
    outgoing.once('close', () => {
      answering.delete(outgoing)
      over()
    })
  }
  server.on('connection', admission.connectionAccepted)
  server.headersTimeout = HEADERS_MS
  server.requestTimeout = REQUEST_MS
  server.keepAliveTimeout = KEEP_ALIVE_MS
  const port = await bindPort(server, { port: config.PORT, host: config.HOST, settings: OWN_PORT })
  return {
    port,
    async stop() {
      stopping = true
      answering.forEach(closeAfterAnswer)
      answering.forEach((one) => one.endIfGoesOn())
      // A balancer that has not noticed yet still opens connections: they are answered, not refused.
      if (config.STOP_DELAY_SECONDS > 0) await sleep(config.STOP_DELAY_SECONDS * 1000)
      await closeGracefully(server, answering, config.STOP_SECONDS)
    },
  }
}

const pathOf = ({ url }: IncomingMessage): string => (url ?? '/').split('?', 1)[0]!

/** One at a time, for all who ask meanwhile: it asks the database, and anybody may ask, as often as they like. */
function shared<T>(ask: () => Promise<T>): () => Promise<T> {
  let asking: Promise<T> | undefined
  return () => (asking ??= ask().finally(() => (asking = undefined)))
}

/** On a connection that is closed afterwards: whoever sends too much does not get the next turn for free. */
function answerRefused(
  { headers }: IncomingMessage,
  outgoing: ServerResponse,
  code: 'OVERLOADED' | 'RATE_LIMITED',
  retryAfterSeconds: number,
): void {
  const requestId = requestIdOf(String(headers['x-request-id'] ?? ''), () => new Date())
  const error = new ServiceError(code)
  outgoing.writeHead(ERRORS[error.code].status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
    'retry-after': String(retryAfterSeconds),
    connection: 'close',
  })
  outgoing.end(JSON.stringify(errorBody(error, requestId)))
}

/** Finishes open requests, takes no new ones, and closes what is still open after `seconds`. */
async function closeGracefully(
  server: Server,
  answering: ReadonlySet<GuardedResponse>,
  seconds: number,
): Promise<void> {
  // Not the close of an HTTP server: that one also closes connections whose next request may be on its way.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
  const endStreams = () => answering.forEach((one) => one.endIfGoesOn())
  // Those that were opened since the stop began.
  endStreams()
  const idle = setTimeout(() => {
    endStreams()
    // Node takes a connection for idle when its answer was written, also while most of it waits for a slow reader.
    const isSending = [...answering].some((one) => one.writableEnded && !one.writableFinished)
    if (!isSending) server.closeIdleConnections()
    idle.refresh()
  }, IDLE_MS)
  const late = setTimeout(() => server.closeAllConnections(), seconds * 1000)
  await closed
  clearTimeout(idle)
  clearTimeout(late)
}

/** Tells the client to use another connection next time. */
function closeAfterAnswer(outgoing: ServerResponse): void {
  if (!outgoing.headersSent) outgoing.setHeader('connection', 'close')
}

/** RFC 9112, 3.2: a proxy before us may have decided by the other one. Node hands on the first alone. */
const namesTwoHosts = ({ rawHeaders }: IncomingMessage): boolean =>
  rawHeaders.filter((name, at) => at % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host').length >
  1

function answerTwoHosts(outgoing: ServerResponse): void {
  closeAfterAnswer(outgoing)
  outgoing.writeHead(400, { 'content-type': 'text/plain' }).end('Two hosts.\n')
}

type Serving = Pick<System, 'config' | 'services'>

/** Chooses the service of a request. */
export const dispatcher =
  (system: Serving & Pick<System, 'readiness'>, readiness: Readiness = system.readiness): Service =>
  async (request) => {
    const { pathname, host } = new URL(request.url)
    const health = await answerHealth(pathname, readiness)
    if (health) return health
    if (host === NO_HOST) return plain(400, 'No host.\n')
    const service = serviceFor(system, host, pathname)
    if (service === 'unknown host') return plain(421, 'Unknown host.\n')
    return service ? service(request) : notFound(system, request, host)
  }

/** People get the console's page where there is one; programs a line. */
async function notFound(system: Serving, request: Request, host: string): Promise<Response> {
  const isPerson = request.method === 'GET' && request.headers.get('accept')?.includes('text/html')
  const service = isPerson ? serviceFor(system, host, NOT_FOUND_PAGE) : undefined
  if (typeof service !== 'function') return plain(404, 'Not found.\n')
  return service(new Request(new URL(NOT_FOUND_PAGE, request.url), { headers: request.headers }))
}

const plain = (status: number, text: string): Response =>
  new Response(text, { status, headers: { 'content-type': 'text/plain; charset=utf-8' } })

/** Public addresses come from the configuration: a forged Host reaches no service, so no page is built from it. */
function serviceFor(
  { config, services }: Serving,
  host: string,
  path: string,
): Service | 'unknown host' | undefined {
  const internal = isInternal(host, config)
  for (const name of SERVICE_NAMES) {
    const service = services.get(name)
    if (!service) continue
    const { owns, ownsInternally } = SERVICES[name]
    // By path first: it is told apart sooner.
    if (owns.test(path) && (internal || isPublicAt(name, host, config))) return service
    if (internal && ownsInternally?.test(path)) return service
  }
  const isKnown = internal || [...services.keys()].some((name) => isPublicAt(name, host, config))
  return isKnown ? undefined : 'unknown host'
}

const isPublicAt = (name: ServiceName, host: string, config: Config): boolean =>
  SERVICES[name].at(config).some((url) => url.host === host || bothLoopback(url, host))

function nodeHandlerFor(
  { config, nodeHandlers }: System,
  incoming: IncomingMessage,
): NodeHandler | undefined {
  const host = incoming.headers.host ?? ''
  const path = pathOf(incoming)
  for (const [name, handler] of nodeHandlers) {
    if (handler.owns.test(path) && (isPublicAt(name, host, config) || isInternal(host, config)))
      return handler
  }
  return undefined
}

/** By the public addresses: TLS itself ends at the proxy in front of us. */
function httpsHostsOf({ config, services }: System): ReadonlySet<string> {
  const own = [...services.keys()].flatMap((name) => SERVICES[name].at(config))
  return new Set(own.filter(({ protocol }) => protocol === 'https:').map(({ host }) => host))
}

/** Addresses that only our own services and proxies use. */
const isInternal = (host: string, config: Config): boolean =>
  isOwnAddress(host, config) || isOtherServices(host, config)

/** Where our services reach each other. Anybody can write it into a Host. */
const isOtherServices = (host: string, config: Config): boolean =>
  [config.AUTH_SERVICE_URL, config.GATEWAY_URL, config.DEPLOY_URL, config.AGENT_RUNNER_URL].some(
    (url) => url?.host === host,
  )

/** The address this process listens on, as health checks and processes on the same machine write it. */
const isOwnAddress = (host: string, config: Config): boolean =>
  host === `${config.HOST}:${config.PORT}` && isLoopback(config.HOST)

/** localhost, 127.0.0.1 and [::1] are the same host, at the same port. */
function bothLoopback(url: URL, host: string): boolean {
  if (!isLoopback(url.hostname)) return false
  const port = loopbackPort(host)
  return port !== undefined && url.port === port
}

const HOSTS_MAX = 1_000
const loopbackPorts = new Map<string, string | undefined>()

/** Remembered: every request asks for each service, and parsing takes longer than all else here. */
function loopbackPort(host: string): string | undefined {
  if (loopbackPorts.has(host)) return loopbackPorts.get(host)
  const url = URL.parse(`http://${host}`)
  const port = url && isLoopback(url.hostname) ? url.port : undefined
  // Whoever calls chooses the Host.
  if (loopbackPorts.size >= HOSTS_MAX) loopbackPorts.clear()
  loopbackPorts.set(host, port)
  return port
}

/** Walks X-Forwarded-For from the near end: the first address that is not one of our proxies is the client. */
function clientAddress(
  peer: string,
  { headers }: IncomingMessage,
  isProxy: (address: string) => boolean,
): string {
  let address = peer
  const forwarded = String(headers['x-forwarded-for'] ?? '').split(',')
  while (isProxy(address) && forwarded.length > 0) {
    const before = forwarded.pop()?.trim() ?? ''
    if (!isIPv4(before) && !isIPv6(before)) break
    address = plainAddress(before)
  }
  return address
}

/** A socket that listens on both families shows IPv4 peers as ::ffff:10.0.0.1: the same client, not another one. */
const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')

/** Replaces whatever the client sent under this name. Fetch headers are built from the raw ones. */
function setHeader(incoming: IncomingMessage, name: string, value: string): void {
  if (incoming.headers[name] !== undefined) incoming.rawHeaders = withoutHeader(incoming.rawHeaders, name)
  incoming.rawHeaders.push(name, value)
  incoming.headers[name] = value
}

function withoutHeader(rawHeaders: readonly string[], name: string): string[] {
  const rest: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]!.toLowerCase() !== name) rest.push(rawHeaders[at]!, rawHeaders[at + 1]!)
  }
  return rest
}

const isForwarded = ({ headers }: IncomingMessage): boolean =>
  headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined

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

/** Where no client from outside has its address: RFC 1918, 4193, 6598, link-local and loopback. */
const isPrivate = proxyCheck([
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '169.254.0.0/16',
  '127.0.0.0/8',
  'fc00::/7',
  'fe80::/10',
  '::1',
])

/** `/metrics` on a port of its own, loopback unless the operator opens it. */
export async function listenForMetrics({ config, metrics }: System): Promise<Listening | undefined> {
  if (!metrics || config.METRICS_PORT === 'off') return undefined
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    metrics.expose().then(
      ({ text, type }) => response.writeHead(200, { 'content-type': type }).end(text),
      () => response.writeHead(500).end(),
    )
  })
  const { METRICS_PORT: wanted, METRICS_HOST: host } = config
  const port = await bindPort(server, { port: wanted, host, settings: METRICS_PORT })
  return { port, stop: () => closeGracefully(server, new Set(), 1) }
}
