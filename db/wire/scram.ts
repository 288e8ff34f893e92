/** SCRAM-SHA-256 (RFC 5802, RFC 7677): the verifier that is stored for a password, and the server's side of an exchange. */
import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto'

/** The default of Postgres. Our passwords are random, so more would only cost time. */
const ITERATIONS = 4096
const SALT_BYTES = 16
const KEY_BYTES = 32

export type Verifier = {
  readonly iterations: number
  readonly salt: Buffer
  readonly storedKey: Buffer
  readonly serverKey: Buffer
}

/** As Postgres itself writes it: SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey> (base64). Also used in CREATE ROLE ... PASSWORD, so that no password appears in a server's log. */
export function scramVerifier(password: string): string {
  const salt = randomBytes(SALT_BYTES)
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, ITERATIONS, KEY_BYTES, 'sha256')
  const storedKey = sha256(hmac(salted, 'Client Key'))
  const serverKey = hmac(salted, 'Server Key')
  const [saltText, stored, server] = [salt, storedKey, serverKey].map((bytes) => bytes.toString('base64'))
  return `SCRAM-SHA-256$${ITERATIONS}:${saltText}$${stored}:${server}`
}

export function readVerifier(text: string): Verifier {
  const [, iterations, salt, storedKey, serverKey] =
    /^SCRAM-SHA-256\$(\d{1,7}):([\w+/=]+)\$([\w+/=]{44}):([\w+/=]{44})$/.exec(text) ?? []
  if (!iterations || !salt || !storedKey || !serverKey) throw new Error('This is not a SCRAM verifier')
  const bytes = (part: string) => Buffer.from(part, 'base64')
  return {
    iterations: Number(iterations),
    salt: bytes(salt),
    storedKey: bytes(storedKey),
    serverKey: bytes(serverKey),
  }
}

/** For a name that does not exist: always the same salt, as a real one has, and keys that match no password. */
export function mockVerifier(saltKey: Uint8Array, name: string): Verifier {
  return {
    iterations: ITERATIONS,
    salt: hmac(saltKey, name).subarray(0, SALT_BYTES),
    storedKey: randomBytes(KEY_BYTES),
    serverKey: randomBytes(KEY_BYTES),
  }
}

export type Exchange = {
  readonly serverFirst: string
  /** The server's last message when the client knows the password, undefined when it does not. */
  finish(clientFinal: string): string | undefined
}

/** Undefined when the client's first message is malformed or asks for channel binding, which needs TLS. */
export function beginExchange(verifier: Verifier, clientFirst: string): Exchange | undefined {
  const [, header, bare, clientNonce] =
    /^([ny],[^,]*,)(n=[^,]*,r=([\x21-\x2b\x2d-\x7e]+)(?:,.*)?)$/s.exec(clientFirst) ?? []
  if (!header || !bare || !clientNonce) return undefined
  const nonce = `${clientNonce}${randomBytes(18).toString('base64')}`
  const serverFirst = `r=${nonce},s=${verifier.salt.toString('base64')},i=${verifier.iterations}`
  const opening = `c=${Buffer.from(header).toString('base64')},r=${nonce}`

  return {
    serverFirst,
    finish(clientFinal) {
      const at = clientFinal.lastIndexOf(',p=')
      const withoutProof = clientFinal.slice(0, Math.max(at, 0))
      const proof = Buffer.from(clientFinal.slice(at + 3), 'base64')
      const conversation = `${bare},${serverFirst},${withoutProof}`
      const signature = hmac(verifier.storedKey, conversation)
      const clientKey = Buffer.from(signature.map((byte, index) => byte ^ (proof[index] ?? 0)))
      const knows = timingSafeEqual(sha256(clientKey), verifier.storedKey)
      const wellFormed =
        at >= 0 &&
        proof.length === KEY_BYTES &&
        // The client repeats its header, so that nobody in between can have changed it.
        (withoutProof === opening || withoutProof.startsWith(`${opening},`))
      if (!knows || !wellFormed) return undefined
      return `v=${hmac(verifier.serverKey, conversation).toString('base64')}`
    },
  }
}

const hmac = (key: Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()
