/** For tests: a client that says exactly what it is told to, also what no driver would say. */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { int32, message, cString } from '../../db/wire/protocol-messages.ts'

export type RawClient = {
  readonly socket: Socket
  send(...bytes: readonly Uint8Array[]): void
  /** As `type:contents`, up to and with the first of this type, or all that came before the end. */
  until(type: string): Promise<string[]>
  login(
    user: string,
    password: string,
    parameters?: Record<string, string>,
    /** Happens while the server waits for the proof that the client knows the password. */
    beforeProof?: () => Promise<unknown>,
  ): Promise<string[]>
  /** What a cancel request has to name, after a login. `until` shows its zero bytes as spaces. */
  readonly key: Buffer
  readonly closed: Promise<unknown>
}

export const parse = (name: string, text: string): Buffer =>
  message('P', cString(name), cString(text), Buffer.alloc(2))
export const bind = (name: string): Buffer => message('B', cString(''), cString(name), Buffer.alloc(6))
export const execute = message('E', cString(''), Buffer.alloc(4))

export function startupPacket(parameters: Record<string, string>, version = 196608): Buffer {
  const words = Object.entries(parameters).flat().map(cString)
  const body = Buffer.concat([int32(version), ...words, Buffer.alloc(1)])
  return Buffer.concat([int32(body.length + 4), body])
}

export const cancelRequest = (key: Uint8Array): Buffer => Buffer.concat([int32(16), int32(80877102), key])

export async function rawClient(
  port: number,
  { localAddress = '127.0.0.1' }: { localAddress?: string } = {},
): Promise<RawClient> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => {})
  const closed = once(socket, 'close').catch(() => {})
  let buffer = Buffer.alloc(0)
  let key = Buffer.alloc(0)
  let ended = false
  let wake = () => {}
  socket.on('data', (chunk: Buffer) => {
    buffer = Buffer.concat([buffer, chunk])
    wake()
  })
  socket.on('close', () => {
    ended = true
    wake()
  })
  await once(socket, 'connect')

  async function next(): Promise<Buffer | undefined> {
    for (;;) {
      const end = buffer.length < 5 ? Number.POSITIVE_INFINITY : 1 + buffer.readUInt32BE(1)
      if (buffer.length >= end) {
        const bytes = buffer.subarray(0, end)
        buffer = buffer.subarray(end)
        if (bytes[0] === 'K'.charCodeAt(0)) key = Buffer.from(bytes.subarray(5))
        return bytes
      }
      if (ended) return undefined
      await new Promise<void>((settle) => (wake = settle))
    }
  }
  const send = (...bytes: readonly Uint8Array[]) => void socket.write(Buffer.concat(bytes))
  const show = (bytes: Buffer) =>
    `${String.fromCharCode(bytes[0] ?? 0)}:${bytes.toString('latin1', 5).replaceAll('\0', ' ')}`

  async function until(type: string): Promise<string[]> {
    const seen: string[] = []
    for (;;) {
      const bytes = await next()
      if (!bytes) return seen
      seen.push(show(bytes))
      if (seen.at(-1)?.startsWith(type)) return seen
    }
  }

  async function login(
    user: string,
    password: string,
    parameters: Record<string, string> = {},
    beforeProof: () => Promise<unknown> = async () => {},
  ): Promise<string[]> {
    send(startupPacket({ user, database: user, ...parameters }))
    const first = await next()
    if (first?.[0] !== 'R'.charCodeAt(0)) return first ? [show(first), ...(await until('?'))] : []
    const bare = `n=,r=${randomBytes(12).toString('base64')}`
    const opening = Buffer.from(`n,,${bare}`)
    send(message('p', cString('SCRAM-SHA-256'), int32(opening.length), opening))
    const challenge = await next()
    const serverFirst = challenge?.toString('utf8', 9) ?? ''
    const [, nonce = '', salt = '', iterations] = /^r=(.*),s=(.*),i=(\d+)$/.exec(serverFirst) ?? []
    const salted = pbkdf2Sync(password, Buffer.from(salt, 'base64'), Number(iterations), 32, 'sha256')
    const hmac = (key: Uint8Array, text: string) => createHmac('sha256', key).update(text).digest()
    const clientKey = hmac(salted, 'Client Key')
    const stored = createHash('sha256').update(clientKey).digest()
    const withoutProof = `c=${Buffer.from('n,,').toString('base64')},r=${nonce}`
    const signature = hmac(stored, `${bare},${serverFirst},${withoutProof}`)
    const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] ?? 0)))
    await beforeProof()
    send(message('p', Buffer.from(`${withoutProof},p=${proof.toString('base64')}`)))
    return [show(first), `salt:${salt}`, ...(await until('Z'))]
  }

  return {
    socket,
    send,
    until,
    login,
    closed,
    get key() {
      return key
    },
  }
}
