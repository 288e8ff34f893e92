import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { cancelRequest, rawClient } from '../../test/support/wire-client.ts'
import { createBackend, type Engine } from './backend.ts'
import { openGateway } from './gateway.ts'
import {
  authentication,
  backendKeyData,
  cString,
  message,
  readyForQuery,
  simpleQuery,
} from './protocol-messages.ts'
import { scramVerifier } from './scram.ts'
import { readStartupPacket } from './startup.ts'

const ROW = message('D', Buffer.alloc(2))
let terminated = 0

/** Sends a row of `endless`, and then nothing; answers everything else at once. */
function fakeEngine(): Engine {
  let abort: (reason: Error) => void = () => {}
  return {
    async run({ bytes }, onAnswer) {
      if (!Buffer.from(bytes).includes('endless')) return onAnswer(readyForQuery('I'), () => {})
      onAnswer(ROW, () => {})
      return new Promise((_, reject) => (abort = reject))
    },
    async terminate() {
      terminated += 1
      abort(new Error('terminated'))
    },
    async stop() {},
  }
}

const verifier = scramVerifier('secret')
const backend = createBackend({
  open: async () => fakeEngine(),
  closed() {},
  becameIdle() {},
  onProblem() {},
})
const gateway = await openGateway({
  host: '127.0.0.1',
  port: 0,
  loginOf: async () => ({ verifier, orgId: 'org' }),
  saltKey: new Uint8Array(32),
  backendOf: () => backend,
  statementTimeoutMs: 60_000,
  maintenanceTimeoutMs: 60_000,
  idleInTransactionMs: 60_000,
  loginTimeoutMs: 5_000,
  maxConnections: 10,
  onProblem() {},
})
afterAll(() => gateway.close())

async function cancel(key: Uint8Array): Promise<void> {
  const messenger = await rawClient(gateway.port)
  messenger.send(cancelRequest(key))
  await messenger.closed
}

test('a statement is cancelled by its key, and by none that differs in a byte', async () => {
  const client = await rawClient(gateway.port)
  await client.login('one', 'secret')
  client.send(simpleQuery('endless'))
  await client.until('D')
  for (const at of client.key.keys()) {
    const wrong = Buffer.from(client.key)
    wrong[at] = (wrong[at] ?? 0) ^ 0x20
    await cancel(wrong)
  }
  expect(terminated).toBe(0)
  await cancel(client.key)
  const [error, ready] = await client.until('Z')
  expect(error).toContain('SERROR VERROR C57014 Mcanceling statement due to user request')
  expect(ready).toBe('Z:I')
  client.socket.destroy()
})

/** One login in thirty gets such a key. */
test('a key with zero bytes comes back as it was given', async () => {
  const [pid, secret] = [0x01000002, Buffer.from([0, 7, 0, 9])]
  const answers = [
    authentication(10, cString('SCRAM-SHA-256'), Buffer.alloc(1)),
    authentication(11, Buffer.from('r=nonce,s=c2FsdA==,i=1')),
    Buffer.concat([authentication(0), backendKeyData(pid, secret), readyForQuery('I')]),
  ]
  const server = createServer((socket) => void socket.on('data', () => socket.write(answers.shift() ?? '')))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const client = await rawClient((server.address() as AddressInfo).port)
  await client.login('one', 'secret')
  expect(readStartupPacket(cancelRequest(client.key))).toEqual({ kind: 'cancel', pid, secret })
  client.socket.destroy()
  server.close()
})
