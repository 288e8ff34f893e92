/** The TCP server of the embedded databases: speaks the Postgres protocol and authenticates each client by password. */
import { randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { Backend } from './backend.ts'
import { readMessages, type MessageReader } from './message-reader.ts'
import type { Client } from './prepared-statements.ts'
import {
  authentication,
  backendKeyData,
  errorResponse,
  int32,
  message,
  parameterStatus,
  readyForQuery,
  WireError,
  cString,
} from './protocol-messages.ts'
import { beginExchange, readVerifier, mockVerifier, type Verifier } from './scram.ts'
import { startSession, type Session, type SessionLimits } from './session.ts'
import { shareBuffer } from './shared-buffer.ts'
import { readStartupPacket, readTimeout, type StartupRequest, type Setting } from './startup.ts'
import { limitUnauthenticated } from './unauthenticated-sockets.ts'

export type Gateway = {
  readonly port: number
  /** Ends every connection to the database. */
  disconnect(name: string): Promise<void>
  /** Ends every connection whose login has another verifier now, or none. */
  disconnectRotated(verifiersOf: VerifiersOf): Promise<void>
  close(): Promise<void>
}

export type GatewayOptions = {
  readonly host: string
  /** 0 is any that is free. */
  readonly port: number
  /** The login whose user and database are this name; undefined when unknown. */
  readonly loginOf: (name: string) => Promise<KnownLogin | undefined>
  /** The salts of unknown names are derived from it by HMAC, so they cannot be distinguished from real ones. */
  readonly saltKey: Uint8Array
  /** Only called for authenticated clients. */
  readonly backendOf: (name: string) => Backend
  /** For our own connections, whose start-up parameter application_name is `svc`. */
  readonly statementTimeoutMs: number
  /** For all others: people build indexes. A smaller `statement_timeout` at start-up is respected. */
  readonly maintenanceTimeoutMs: number
  /** A client that holds the database in a transaction and sends nothing is disconnected. */
  readonly idleInTransactionMs: number
  readonly loginTimeoutMs: number
  /** Authenticated ones; at most 20 of them to one database, and 40 of one organization. */
  readonly maxConnections: number
  /** Gets why a database could not be opened, and internal errors: clients only learn that there was one. */
  readonly onProblem: (problem: unknown) => void
}

export type KnownLogin = {
  /** scram.ts */
  readonly verifier: string
  readonly orgId: string
}

/** By name, of those that may log in. */
export type VerifiersOf = (names: readonly string[]) => Promise<ReadonlyMap<string, string>>

/** Used as folder name, database name and login name alike. */
export const PHYSICAL_NAME = /^[a-z][a-z0-9_]{0,62}$/

const STARTUP_MAX_BYTES = 10_000
const PASSWORD_MAX_BYTES = 10_000
/** A client may ask for TLS and for GSS encryption before its startup packet. */
const ENCRYPTION_REQUESTS = 2
const MAX_PER_DATABASE = 20
const MAX_PER_ORGANIZATION = 40
/** Counted apart, so that clients without a password cannot exhaust the connections of those who have one. */
const UNAUTHENTICATED = { max: 200, maxPerAddress: 50 }
const WAIT_MS = 30_000

/**
 * What Postgres reports at login. The engine is not asked: it need not be open yet, and it reports nothing later
 * either. A setting of the startup packet is reported as the client sent it.
 */
const REPORTED: readonly Setting[] = [
  ['server_version', '18.6'],
  ['server_encoding', 'UTF8'],
  ['client_encoding', 'UTF8'],
  ['DateStyle', 'ISO, MDY'],
  ['IntervalStyle', 'postgres'],
  ['application_name', ''],
  ['TimeZone', 'UTC'],
  ['integer_datetimes', 'on'],
  ['standard_conforming_strings', 'on'],
  ['in_hot_standby', 'off'],
  ['is_superuser', 'off'],
]

type Login = Extract<StartupRequest, { kind: 'login' }>
type ProvenLogin = {
  readonly known: KnownLogin
  /** Our own, that we know the password: the last message of the exchange. */
  readonly proof: string
}
type ClientConnection = {
  readonly name: string
  readonly orgId: string
  /** Of the password it came in with. */
  readonly verifier: string
  readonly secret: Buffer
  readonly socket: Socket
  session?: Session
}

export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const connections = new Map<number, ClientConnection>()
  const unauthenticated = limitUnauthenticated(UNAUTHENTICATED)
  const copyBufferOf = shareBuffer()
  const messageBufferOf = shareBuffer()

  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy())
    unauthenticated.add(socket)
    const loginTimer = setTimeout(() => socket.destroy(), options.loginTimeoutMs)
    const stopCounting = () => {
      clearTimeout(loginTimer)
      unauthenticated.delete(socket)
    }
    socket.once('close', stopCounting)
    serve(socket, stopCounting).catch((error: unknown) => {
      if (!(error instanceof WireError)) options.onProblem(error)
      refuse(socket, error instanceof WireError ? error : internal())
    })
  })

  async function serve(socket: Socket, authenticated: () => void): Promise<void> {
    const reader = readMessages(socket)
    const touch = () => unauthenticated.touch(socket)
    const request = await readStartupRequest(socket, reader, touch)
    if (request?.kind === 'cancel') cancel(request.pid, request.secret)
    if (request?.kind !== 'login') return void socket.end()
    const proven = await authenticate(socket, reader, request, options, touch)
    if (proven) await serveSession(socket, reader, request, proven, authenticated)
  }

  function cancel(pid: number, secret: Buffer): void {
    const target = connections.get(pid)
    if (target && timingSafeEqual(target.secret, secret)) target.session?.cancel()
  }

  async function serveSession(
    socket: Socket,
    reader: MessageReader,
    login: Login,
    { known, proof }: ProvenLogin,
    authenticated: () => void,
  ): Promise<void> {
    const name = login.user
    const { orgId, verifier } = known
    requireRoom(name, orgId)
    const pid = freePid()
    const entry: ClientConnection = { name, orgId, verifier, secret: randomBytes(4), socket }
    connections.set(pid, entry)
    try {
      // The password may have been rotated since its verifier was read. Whoever rotates it now finds this connection.
      if ((await options.loginOf(name))?.verifier !== verifier) throw wrongPassword(name)
      if (!socket.writable) return
      authenticated()
      const requested = new Map(login.settings.map(([key, value]) => [key.toLowerCase(), value]))
      socket.write(
        Buffer.concat([
          authentication(12, Buffer.from(proof)),
          authentication(0),
          ...REPORTED.map(([key, value]) => parameterStatus(key, requested.get(key.toLowerCase()) ?? value)),
          parameterStatus('session_authorization', name),
          backendKeyData(pid, entry.secret),
          readyForQuery('I'),
        ]),
      )
      const client: Client = {
        settings: login.settings,
        statements: new Map(),
        parsed: new Set(),
        epoch: 0,
      }
      entry.session = startSession({
        socket,
        reader,
        backend: options.backendOf(name),
        client,
        prefix: `g${randomBytes(4).toString('hex')}_`,
        limits: limitsOf(login),
        copyBuffer: copyBufferOf(orgId),
        messageBuffer: messageBufferOf(orgId),
        onProblem: options.onProblem,
      })
      await entry.session.done
    } finally {
      connections.delete(pid)
    }
  }

  function limitsOf({ settings }: Login): SessionLimits {
    const isOwn = settings.some(([name, value]) => name === 'application_name' && value === 'svc')
    const maxMs = isOwn ? options.statementTimeoutMs : options.maintenanceTimeoutMs
    const requestedMs = readTimeout(settings)
    return {
      statementMs: requestedMs > 0 ? Math.min(requestedMs, maxMs) : maxMs,
      idleInTransactionMs: options.idleInTransactionMs,
      waitMs: WAIT_MS,
    }
  }

  function requireRoom(name: string, orgId: string): void {
    const others = [...connections.values()]
    const isFull =
      others.length >= options.maxConnections ||
      others.filter((other) => other.name === name).length >= MAX_PER_DATABASE ||
      others.filter((other) => other.orgId === orgId).length >= MAX_PER_ORGANIZATION
    if (isFull) throw tooManyClients()
  }

  function freePid(): number {
    const pid = randomInt(1, 2 ** 31 - 1)
    return connections.has(pid) ? freePid() : pid
  }

  async function endAll(entries: readonly ClientConnection[]): Promise<void> {
    const shutdown = new WireError('57P01', 'terminating connection due to administrator command', {
      fatal: true,
    })
    await Promise.all(
      entries.map(async ({ session, socket }) => {
        session?.terminate(shutdown)
        socket.destroySoon()
        await session?.done
      }),
    )
  }

  server.listen(options.port, options.host)
  await once(server, 'listening')
  // Such as no file descriptor left for the next connection: not a reason to end the process.
  server.on('error', options.onProblem)

  return {
    port: (server.address() as AddressInfo).port,
    disconnect: (name) => endAll([...connections.values()].filter((entry) => entry.name === name)),
    async disconnectRotated(verifiersOf) {
      // Not of those that come in while verifiers are read: theirs may be newer.
      const entries = [...connections.values()]
      if (entries.length === 0) return
      const verifiers = await verifiersOf([...new Set(entries.map(({ name }) => name))])
      await endAll(entries.filter(({ name, verifier }) => verifiers.get(name) !== verifier))
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      unauthenticated.destroyAll()
      await endAll([...connections.values()])
      for (const { socket } of connections.values()) socket.destroy()
      await closed
    },
  }
}

/** Undefined when the client disconnects. */
async function readStartupRequest(
  socket: Socket,
  reader: MessageReader,
  touch: () => void,
): Promise<StartupRequest | undefined> {
  for (let requests = 0; requests <= ENCRYPTION_REQUESTS; requests += 1) {
    const packet = await reader.startup(STARTUP_MAX_BYTES)
    touch()
    const request = packet && readStartupPacket(packet)
    if (request?.kind !== 'encryption') return request
    socket.write('N')
  }
  return undefined
}

/** An unknown user goes through the same steps and fails with the same message. Undefined when the client disconnects. */
async function authenticate(
  socket: Socket,
  reader: MessageReader,
  { user, database, unsupportedOptions }: Login,
  { loginOf, saltKey }: GatewayOptions,
  touch: () => void,
): Promise<ProvenLogin | undefined> {
  if (unsupportedOptions) {
    socket.write(message('v', int32(0), int32(unsupportedOptions.length), ...unsupportedOptions.map(cString)))
  }
  const known = PHYSICAL_NAME.test(user) ? await loginOf(user) : undefined
  // Also for a wrong database the salt is the user's own: a different one would reveal that the user exists.
  const verifier: Verifier = known ? readVerifier(known.verifier) : mockVerifier(saltKey, user)
  socket.write(authentication(10, cString('SCRAM-SHA-256'), Buffer.alloc(1)))
  // It was silent while we read its verifier, and could not help it.
  touch()

  const first = await passwordMessage(reader)
  if (!first) return undefined
  touch()
  const mechanismEnd = first.indexOf(0)
  if (first.toString('latin1', 0, mechanismEnd) !== 'SCRAM-SHA-256' || first.length < mechanismEnd + 5) {
    throw new WireError('28000', 'only SCRAM-SHA-256 is supported', { fatal: true })
  }
  const exchange = beginExchange(verifier, first.toString('utf8', mechanismEnd + 5))
  if (!exchange) throw new WireError('28000', 'malformed SCRAM message', { fatal: true })
  socket.write(authentication(11, Buffer.from(exchange.serverFirst)))

  const final = await passwordMessage(reader)
  if (!final) return undefined
  touch()
  const proof = exchange.finish(final.toString())
  if (proof === undefined || known === undefined || user !== database) throw wrongPassword(user)
  return { known, proof }
}

async function passwordMessage(reader: MessageReader): Promise<Buffer | undefined> {
  const bytes = await reader.next(PASSWORD_MAX_BYTES)
  if (bytes && bytes[0] !== 'p'.charCodeAt(0)) {
    throw new WireError('08P01', 'expected a password message', { fatal: true })
  }
  return bytes?.subarray(5)
}

function refuse(socket: Socket, failure: WireError): void {
  if (socket.writable) socket.end(errorResponse(failure))
  socket.setTimeout(1_000, () => socket.destroy())
}

const wrongPassword = (user: string) =>
  new WireError('28P01', `password authentication failed for user "${user}"`, { fatal: true })
const internal = () => new WireError('XX000', 'internal error', { fatal: true })
const tooManyClients = () => new WireError('53300', 'sorry, too many clients already', { fatal: true })
