/** Connects to a managed database: only to allowed addresses, with TLS where it is asked for. */
import { connect, isIP } from 'node:net'
import type { LookupFunction, Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { problem } from './problem.ts'

/**
 * `require` encrypts and does not look at the certificate, as libpq does. `verify-full` wants a certificate for this
 * host by an authority that the system trusts. `prefer` takes TLS where the server has it.
 */
export type TlsMode = 'disable' | 'prefer' | 'require' | 'verify-full'

export type Target = {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
  readonly ssl: TlsMode
  /** Who is to blame for the memory that its responses hold. */
  readonly owner?: string
  /** Asked at every connect, and nothing else is dialed: a name may point elsewhere than when it was checked. */
  readonly addresses?: () => Promise<readonly string[]>
  /** For tests, whose authorities the system does not know. */
  readonly ca?: string
}

/** As the driver reads an address: no `sslmode` means no TLS, and an unknown one means verify-full. */
export function tlsModeOf(query: URLSearchParams): TlsMode {
  if (query.get('sslrootcert') === 'system') return 'verify-full'
  const asked = query.get('sslmode') ?? query.get('ssl') ?? 'disable'
  switch (asked) {
    case 'disable':
    case 'false':
      return 'disable'
    case 'prefer':
    case 'allow':
      return 'prefer'
    case 'require':
      return 'require'
    default:
      return 'verify-full'
  }
}

/** Name servers, connection and TLS together. */
const CONNECT_MS = 5_000
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])

type Address = Pick<Target, 'host' | 'port' | 'ssl' | 'addresses' | 'ca'>

/** The socket has a listener for errors, and none for what the server sends. */
export async function openSocket(target: Address, withinMs = CONNECT_MS): Promise<Socket> {
  const attempt: Attempt = { over: false }
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(problem('ETIMEDOUT', 'The connection timed out')), withinMs)
  try {
    return await Promise.race([dial(target, attempt), late])
  } catch (error) {
    attempt.over = true
    attempt.socket?.destroy()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

type Attempt = { over: boolean; socket?: Socket }

async function dial(target: Address, attempt: Attempt): Promise<Socket> {
  const { host, port, ssl } = target
  const addresses = await target.addresses?.()
  if (addresses?.length === 0)
    throw problem('ADDRESS_NOT_ALLOWED', 'Connections to this address are not allowed')
  // The DNS lookup took all the time.
  if (attempt.over) throw problem('ETIMEDOUT', 'The connection timed out')
  const socket = connect({
    host: addresses ? PINNED : host,
    port,
    noDelay: true,
    ...(addresses ? { lookup: pinnedTo(addresses) } : {}),
  })
  // Nobody else listens once the attempt is over.
  socket.on('error', () => {})
  attempt.socket = socket
  await first(socket, 'connect')
  if (ssl === 'disable') return socket

  socket.write(SSL_REQUEST)
  const [answer] = (await first(socket, 'data')) as [Buffer]
  // One byte and no more: what follows it did not come through TLS, and would be read as if it had.
  const has = answer.length === 1 ? answer.toString('latin1') : ''
  if (has === 'N' && ssl === 'prefer') return socket
  if (has !== 'S') throw problem('TLS_UNAVAILABLE', 'The server does not support TLS')
  const secured = connectTls({
    socket,
    // What the certificate must be for. Without it that would be `localhost`.
    host,
    ...(isIP(host) ? {} : { servername: host }),
    // Whatever NODE_TLS_REJECT_UNAUTHORIZED says.
    rejectUnauthorized: ssl === 'verify-full',
    ...(target.ca === undefined ? {} : { ca: target.ca }),
  })
  secured.on('error', () => {})
  attempt.socket = secured
  await first(secured, 'secureConnect')
  return secured
}

/** Not the host: for an IP address Node would skip the lookup. */
const PINNED = 'pinned.invalid'

function pinnedTo(addresses: readonly string[]): LookupFunction {
  const pinned = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, { all }, answer) =>
    // Later, as a real lookup would.
    process.nextTick(() =>
      all ? answer(null, pinned) : answer(null, pinned[0]?.address ?? '', pinned[0]?.family),
    )
}

/** The arguments of an event, or the end of the socket. */
function first(socket: Socket, event: string): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const closed = () => reject(problem('ECONNRESET', 'The server closed the connection'))
    socket.once('error', reject).once('close', closed)
    socket.once(event, (...values: unknown[]) => {
      socket.off('error', reject).off('close', closed)
      resolve(values)
    })
  })
}
