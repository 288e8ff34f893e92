import { expect, test } from 'vitest'
import { beginExchange, readVerifier, scramVerifier } from '../wire/scram.ts'
import { int32 } from '../wire/protocol-messages.ts'
import { ProtocolViolation } from './backend-messages.ts'
import { authenticator } from './log-in.ts'

const request = (code: number, text = '') => Buffer.concat([int32(code), Buffer.from(text, 'latin1')])
const SASL = request(10, 'SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0')
const textOf = (bytes: Buffer | undefined, from = 5) => bytes?.toString('latin1', from) ?? ''

/** The server's side is the one of our own gateway. */
async function exchange(password: string, typed = password) {
  const authenticate = authenticator({ user: 'u', password: typed })
  const opening = textOf(await authenticate(SASL))
  const server = beginExchange(
    readVerifier(scramVerifier(password)),
    opening.slice('SCRAM-SHA-256\0'.length + 4),
  )!
  const final = server.finish(textOf(await authenticate(request(11, server.serverFirst))))
  return { authenticate, final }
}

test('SCRAM: the password convinces the server, and the server must know it too', async () => {
  const { authenticate, final } = await exchange('päss wörd')
  expect(await authenticate(request(12, final))).toBeUndefined()
  expect(await authenticate(request(0))).toBeUndefined()
  expect((await exchange('right', 'wrong')).final).toBeUndefined()
  const impostor = (await exchange('x')).authenticate
  expect(() => impostor(request(12, 'v=AAAA'))).toThrow(ProtocolViolation)
  const silent = (await exchange('x')).authenticate
  expect(() => silent(request(0)), 'it leaves its proof out').toThrow(ProtocolViolation)
})

test('MD5 and cleartext are answered as libpq does', async () => {
  const authenticate = () => authenticator({ user: 'u', password: 'p' })
  expect(textOf(await authenticate()(request(3)))).toBe('p\0')
  // md5(md5('p' || 'u') || 'salt')
  expect(textOf(await authenticate()(request(5, 'salt')))).toMatch(/^md5[0-9a-f]{32}\0$/)
})

test.each([3, 5, 10])('a password is asked for once, in one way (%i)', (code) => {
  for (const later of [request(3), request(5, 'salt'), SASL]) {
    const authenticate = authenticator({ user: 'u', password: 'p' })
    void authenticate(code === 10 ? SASL : request(code, code === 5 ? 'salt' : ''))
    expect(() => authenticate(later)).toThrow(ProtocolViolation)
  }
})

test.each([
  ['cut short', 'ab'],
  ['of a kind we do not know', request(7)],
  ['of a short salt', request(5, 'sa')],
  ['of no mechanism that we know', request(10, 'OTHER\0\0')],
  ['of a challenge out of turn', request(11, 'r=a,s=c2FsdA==,i=4096')],
  ['of a proof out of turn', request(12, 'v=AAAA')],
])('a request %s is refused', (_what, body) => {
  const authenticate = authenticator({ user: 'u', password: 'p' })
  expect(() => authenticate(Buffer.from(body as string))).toThrow(ProtocolViolation)
})

test.each([
  ['two billion rounds', (nonce: string) => `r=${nonce}x,s=c2FsdA==,i=2000000000`],
  ['no round', (nonce: string) => `r=${nonce}x,s=c2FsdA==,i=0`],
  ['a second number of rounds', (nonce: string) => `r=${nonce}x,s=c2FsdA==,i=4096,i=2000000000`],
  ['no salt', (nonce: string) => `r=${nonce}x,i=4096`],
  ['another nonce', () => 'r=abc,s=c2FsdA==,i=4096'],
  ['our nonce alone', (nonce: string) => `r=${nonce},s=c2FsdA==,i=4096`],
])('a challenge with %s is refused before anything is hashed', async (_what, challenge) => {
  const authenticate = authenticator({ user: 'u', password: 'p' })
  const nonce = textOf(await authenticate(SASL)).split(',r=')[1] ?? ''
  await expect(authenticate(request(11, challenge(nonce)))).rejects.toThrow(ProtocolViolation)
})
