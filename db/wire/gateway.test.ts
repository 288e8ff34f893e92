import { afterAll, beforeAll, expect, test } from 'vitest'
import { openGateway, type Gateway } from './gateway.ts'
import { rawClient, type RawClient } from '../../test/support/wire-client.ts'
import { scramVerifier } from './scram.ts'

const verifier = scramVerifier('secret')
let gateway: Gateway

beforeAll(async () => {
  gateway = await openGateway({
    host: '127.0.0.1',
    port: 0,
    verifierOf: async () => verifier,
    saltKey: new Uint8Array(32),
    backendOf: () => ({ leave: async () => {} }) as never,
    statementTimeoutMs: 1000,
    maintenanceTimeoutMs: 1000,
    idleInTransactionMs: 1000,
    loginTimeoutMs: 1_000,
    maxConnections: 30,
    onProblem(problem) {
      throw problem
    },
  })
})
afterAll(() => gateway.close())

const many = (count: number) => Promise.all(Array.from({ length: count }, () => rawClient(gateway.port)))
const leave = async (clients: readonly RawClient[]) => {
  for (const { socket } of clients) socket.destroy()
  await Promise.all(clients.map(({ closed }) => closed))
}

test('a database has 20 connections, all together have as many as set, and who leaves makes room', async () => {
  const clients = await many(32)
  const answers: string[] = []
  for (const [index, client] of clients.entries()) {
    answers.push((await client.login(index < 22 ? 'a' : 'b', 'secret')).at(-1) ?? '')
  }
  expect(answers.map((answer) => (answer === 'Z:I' ? 'in' : /C(\w+)/.exec(answer)?.[1]))).toEqual([
    ...Array.from({ length: 20 }, () => 'in'),
    '53300',
    '53300',
    ...Array.from({ length: 10 }, () => 'in'),
  ])
  const [late] = await many(1)
  expect((await late?.login('b', 'secret'))?.at(-1)).toContain('C53300')
  await leave(clients)
  await expect
    .poll(async () => (await (await rawClient(gateway.port)).login('a', 'secret')).at(-1))
    .toBe('Z:I')
})

test('those without a password are counted apart, and do not stay', async () => {
  const [inside] = await many(1)
  expect((await inside?.login('c', 'secret'))?.at(-1)).toBe('Z:I')
  const unauthenticated = await many(50)
  const [refused] = await many(1)
  expect((await refused?.until('E'))?.at(-1)).toContain('C53300')
  expect(inside?.socket.closed).toBe(false)
  await Promise.all(unauthenticated.map(({ closed }) => closed))
  const [next] = await many(1)
  expect((await next?.login('c', 'secret'))?.at(-1)).toBe('Z:I')
})
