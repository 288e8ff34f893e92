/** Logs in to a Postgres server: no password, cleartext, MD5, or SCRAM-SHA-256 (RFC 5802, RFC 7677). */
import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { cString, int32, message } from '../wire/protocol-messages.ts'
import { ProtocolViolation } from './backend-messages.ts'

type Credentials = { readonly user: string; readonly password: string }

/** The answer to an authentication request, or nothing where none is due. A promise only where a password is hashed. */
export type Authenticator = (body: Buffer) => Buffer | undefined | Promise<Buffer>

/** Postgres uses 4,096 by default (scram_iterations); this many take about 50 ms, on another thread. */
const MAX_ITERATIONS = 100_000
const MECHANISM = 'SCRAM-SHA-256'
/** For a password in one way or another. A server chooses one way, and asks once. */
const FIRST_REQUESTS = new Set([3, 5, 10])

export function authenticator({ user, password }: Credentials): Authenticator {
  let scram: Scram | undefined
  let isAccepted = false
  let isAsked = false
  return (body) => {
    if (isAccepted || body.length < 4) throw new ProtocolViolation()
    const rest = body.subarray(4)
    const code = body.readUInt32BE(0)
    if (FIRST_REQUESTS.has(code)) {
      if (isAsked) throw new ProtocolViolation()
      isAsked = true
    }
    switch (code) {
      case 0:
        // A server that has begun SCRAM must have shown that it knows the password, too.
        if (scram && !scram.isVerified) throw new ProtocolViolation()
        isAccepted = true
        return undefined
      case 3:
        return passwordMessage(cString(password))
      case 5:
        if (rest.length !== 4) throw new ProtocolViolation()
        return passwordMessage(cString(`md5${md5(Buffer.from(md5(password + user)), rest)}`))
      case 10: {
        if (!rest.toString('latin1').split('\0').includes(MECHANISM)) throw new ProtocolViolation()
        scram = beginScram(password)
        const first = Buffer.from(scram.first)
        return passwordMessage(cString(MECHANISM), int32(first.length), first)
      }
      case 11:
        if (!scram) throw new ProtocolViolation()
        return scram.respond(rest.toString('latin1')).then((text) => passwordMessage(Buffer.from(text)))
      case 12:
        if (!scram) throw new ProtocolViolation()
        scram.verify(rest.toString('latin1'))
        return undefined
      default:
        throw new ProtocolViolation()
    }
  }
}

type Scram = {
  readonly first: string
  respond(challenge: string): Promise<string>
  verify(final: string): void
  readonly isVerified: boolean
}

function beginScram(password: string): Scram {
  const nonce = randomBytes(18).toString('base64')
  const bare = `n=,r=${nonce}`
  let expected: Buffer | undefined
  let isChallenged = false
  let isVerified = false
  return {
    first: `n,,${bare}`,
    async respond(challenge) {
      // Section 7: server-first-message without extensions.
      const [, whole, salt, iterations] =
        /^r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9+/]+={0,2}),i=([1-9]\d{0,8})$/.exec(challenge) ?? []
      if (isChallenged || !whole || !salt || !whole.startsWith(nonce) || whole === nonce) {
        throw new ProtocolViolation()
      }
      if (Number(iterations) > MAX_ITERATIONS) throw new ProtocolViolation()
      isChallenged = true
      const salted = await derive(password.normalize('NFKC'), salt, Number(iterations))
      const clientKey = hmac(salted, 'Client Key')
      const withoutProof = `c=${Buffer.from('n,,').toString('base64')},r=${whole}`
      const conversation = `${bare},${challenge},${withoutProof}`
      expected = hmac(hmac(salted, 'Server Key'), conversation)
      const signature = hmac(createHash('sha256').update(clientKey).digest(), conversation)
      const proof = Buffer.from(clientKey.map((byte, at) => byte ^ signature[at]!))
      return `${withoutProof},p=${proof.toString('base64')}`
    },
    verify(final) {
      const shown = Buffer.from(/^v=([A-Za-z0-9+/=]+)$/.exec(final)?.[1] ?? '', 'base64')
      if (!expected || shown.length !== expected.length || !timingSafeEqual(shown, expected)) {
        throw new ProtocolViolation()
      }
      isVerified = true
    },
    get isVerified() {
      return isVerified
    },
  }
}

const derive = (password: string, salt: string, iterations: number): Promise<Buffer> =>
  promisify(pbkdf2)(password, Buffer.from(salt, 'base64'), iterations, 32, 'sha256')
const hmac = (key: Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const md5 = (...parts: (string | Uint8Array)[]): string => {
  const hash = createHash('md5')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}
const passwordMessage = (...parts: Uint8Array[]): Buffer => message('p', ...parts)
