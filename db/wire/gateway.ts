/** The door to the embedded databases: a TCP server that speaks the Postgres protocol, with a password for each. */
import { randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { Backend, Client } from './backend.ts'
import { readMessages, type MessageReader } from './message-reader.ts'
import {
  authentication,
  backendKeyData,
  errorResponse,
  int32,
  message,
  parameterStatus,
  readyForQuery,
  WireFailure,
  zeroTerminated,
} from './messages.ts'
import { beginExchange, readVerifier, verifierOfNobody, type Verifier } from './scram.ts'
import { startSession, type Session, type SessionLimits } from './session.ts'
import { readIntroduction, readTimeout, type Introduction, type Setting } from './startup.ts'

export type Gateway = {
  readonly port: number
  /** Ends every connection to the database. */
  disconnect(name: string): Promise<void>
  close(): Promise<void>
}

export type GatewayOptions = {
  readonly host: string
  readonly port: number
  readonly verifierOf: (name: string) => Promise<string | undefined>
  readonly saltKey: Uint8Array
  /** Only asked for names whose password was given. */
  readonly backendOf: (name: string) => Backend
  readonly statementTimeoutMs: number
  readonly maintenanceTimeoutMs: number
  readonly idleInTransactionMs: number
  readonly loginTimeoutMs: number
  readonly maxConnections: number
  readonly onProblem: (problem: unknown) => void
}

/** Used as folder name, database name and login name alike. */
export const PHYSICAL_NAME = /^[a-z][a-z0-9_]{0,62}$/

const STARTUP_MAX_BYTES = 10_000
const PASSWORD_MAX_BYTES = 10_000
/** How often a client may ask for encryption before it introduces itself: once for each kind there is. */
const ENCRYPTION_REQUESTS = 2
const MAX_PER_DATABASE = 20
/** Apart from the others, so that somebody without a password cannot keep out those who have one. */
const MAX_STRANGERS = 50
const WAIT_MS = 30_000
/** Two of the longest there may be. */
const COPY_ROOM_BYTES = 512 * 1024 * 1024

/**
 * What Postgres reports at login. The engine is not asked: it need not be open yet, and it does not report anything
 * later either. What the client set itself it is told as it said it.
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

type Login = Extract<Introduction, { asks: 'login' }>
type Live = { readonly name: string; readonly secret: Buffer; readonly socket: Socket; session?: Session }

export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const live = new Map<number, Live>()
  const strangers = new Set<Socket>()
  const copyRoom = { bytes: COPY_ROOM_BYTES }

  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy())
    if (strangers.size >= MAX_STRANGERS) return refuse(socket, tooMany())
    strangers.add(socket)
    const late = setTimeout(() => socket.destroy(), options.loginTimeoutMs)
    socket.once('close', () => {
      clearTimeout(late)
      strangers.delete(socket)
    })
    serve(socket, () => {
      clearTimeout(late)
      strangers.delete(socket)
    }).catch((error: unknown) => {
      if (!(error instanceof WireFailure)) options.onProblem(error)
      refuse(socket, error instanceof WireFailure ? error : internal())
    })
  })

  async function serve(socket: Socket, welcome: () => void): Promise<void> {
    const reader = readMessages(socket)
    const introduction = await introduce(socket, reader)
    if (introduction?.asks === 'cancel') cancel(introduction.pid, introduction.secret)
    if (introduction?.asks !== 'login') return void socket.end()
    if (!(await knowsPassword(socket, reader, introduction, options))) return
    welcome()
    await admit(socket, reader, introduction)
  }

  function cancel(pid: number, secret: Buffer): void {
    const target = live.get(pid)
    if (target && timingSafeEqual(target.secret, secret)) target.session?.cancel()
  }

  async function admit(socket: Socket, reader: MessageReader, login: Login): Promise<void> {
    const name = login.user
    const here = [...live.values()].filter((other) => other.name === name)
    if (live.size >= options.maxConnections || here.length >= MAX_PER_DATABASE) throw tooMany()
    const pid = freePid()
    const entry: Live = { name, secret: randomBytes(4), socket }
    live.set(pid, entry)
    try {
      const wishes = new Map(login.settings.map(([key, value]) => [key.toLowerCase(), value]))
      socket.write(
        Buffer.concat([
          ...REPORTED.map(([key, value]) => parameterStatus(key, wishes.get(key.toLowerCase()) ?? value)),
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
        onProblem: options.onProblem,
      })
      await entry.session.done
    } finally {
      live.delete(pid)
    }
  }

  function limitsOf({ settings }: Login): SessionLimits {
    const ours = settings.some(([name, value]) => name === 'application_name' && value === 'svc')
    const most = ours ? options.statementTimeoutMs : options.maintenanceTimeoutMs
    const wanted = readTimeout(settings)
    return {
      statementMs: wanted > 0 ? Math.min(wanted, most) : most,
      idleInTransactionMs: options.idleInTransactionMs,
      waitMs: WAIT_MS,
      copyRoom,
    }
  }

  function freePid(): number {
    const pid = randomInt(1, 2 ** 31 - 1)
    return live.has(pid) ? freePid() : pid
  }

  async function endAll(entries: readonly Live[]): Promise<void> {
    const farewell = new WireFailure('57P01', 'terminating connection due to administrator command', {
      fatal: true,
    })
    await Promise.all(
      entries.map(async ({ session, socket }) => {
        session?.end(farewell)
        session?.cancel()
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
    disconnect: (name) => endAll([...live.values()].filter((entry) => entry.name === name)),
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of strangers) socket.destroy()
      await endAll([...live.values()])
      for (const { socket } of live.values()) socket.destroy()
      await closed
    },
  }
}

/** Undefined when the client goes without a word. */
async function introduce(socket: Socket, reader: MessageReader): Promise<Introduction | undefined> {
  for (let requests = 0; requests <= ENCRYPTION_REQUESTS; requests += 1) {
    const packet = await reader.startup(STARTUP_MAX_BYTES)
    const introduction = packet && readIntroduction(packet)
    if (introduction?.asks !== 'encryption') return introduction
    socket.write('N')
  }
  return undefined
}

/** Whoever does not exist walks the same steps and fails with the same words. */
async function knowsPassword(
  socket: Socket,
  reader: MessageReader,
  { user, database, beyond }: Login,
  { verifierOf, saltKey }: GatewayOptions,
): Promise<boolean> {
  if (beyond) {
    socket.write(message('v', int32(0), int32(beyond.length), ...beyond.map(zeroTerminated)))
  }
  const kept = PHYSICAL_NAME.test(user) ? await verifierOf(user) : undefined
  // Also for a wrong database the salt is the user's own: a different one would tell that the user exists.
  const verifier: Verifier = kept === undefined ? verifierOfNobody(saltKey, user) : readVerifier(kept)
  socket.write(authentication(10, zeroTerminated('SCRAM-SHA-256'), Buffer.alloc(1)))

  const first = await passwordMessage(reader)
  if (!first) return false
  const mechanismEnd = first.indexOf(0)
  if (first.toString('latin1', 0, mechanismEnd) !== 'SCRAM-SHA-256' || first.length < mechanismEnd + 5) {
    throw new WireFailure('28000', 'only SCRAM-SHA-256 is supported', { fatal: true })
  }
  const exchange = beginExchange(verifier, first.toString('utf8', mechanismEnd + 5))
  if (!exchange) throw new WireFailure('28000', 'malformed SCRAM message', { fatal: true })
  socket.write(authentication(11, Buffer.from(exchange.serverFirst)))

  const final = await passwordMessage(reader)
  if (!final) return false
  const proof = exchange.finish(final.toString())
  if (proof === undefined || kept === undefined || user !== database) {
    throw new WireFailure('28P01', `password authentication failed for user "${user}"`, { fatal: true })
  }
  socket.write(Buffer.concat([authentication(12, Buffer.from(proof)), authentication(0)]))
  return true
}

async function passwordMessage(reader: MessageReader): Promise<Buffer | undefined> {
  const bytes = await reader.next(PASSWORD_MAX_BYTES)
  if (bytes && bytes[0] !== 'p'.charCodeAt(0)) {
    throw new WireFailure('08P01', 'expected a password message', { fatal: true })
  }
  return bytes?.subarray(5)
}

function refuse(socket: Socket, failure: WireFailure): void {
  if (socket.writable) socket.end(errorResponse(failure))
  socket.setTimeout(1_000, () => socket.destroy())
}

const internal = () => new WireFailure('XX000', 'internal error', { fatal: true })
const tooMany = () => new WireFailure('53300', 'sorry, too many clients already', { fatal: true })
