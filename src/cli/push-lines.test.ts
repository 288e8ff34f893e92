import { PassThrough } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { ServiceError } from '../contracts/errors.ts'
import { fakeEnvironment } from '../../test/support/fake-environment.ts'
import type { CommandContext } from './command-context.ts'
import { pushLines } from './push-lines.ts'

type Answer = Error | { accepted: number; rejected: number; dropped: number }

function pushing(answers: Answer[] = [], first?: Error) {
  const stdin = new PassThrough()
  const sent: string[] = []
  const said: string[] = []
  const ctx = {
    environment: { ...fakeEnvironment(), stdin },
    info: (line: string) => said.push(line),
  } as unknown as CommandContext
  const done = pushLines(ctx, async (body) => {
    const text = Buffer.from(body).toString()
    sent.push(text)
    const answer = text === '' ? first : answers.shift()
    if (answer instanceof Error) throw answer
    return answer ?? { accepted: text.split('\n').filter(Boolean).length, rejected: 0, dropped: 0 }
  })
  return { stdin, sent, said, done }
}

const away = () => new ServiceError('TIMEOUT', 'away', { retryAfterSeconds: 0.001 })
const stopped = () => new ServiceError('RATE_LIMITED', 'slow down', { retryAfterSeconds: 0.01 })

test('asks first whether it may send, then sends whole lines, the last one without its end', async () => {
  const { stdin, sent, done } = pushing()
  stdin.write('one\ntw')
  stdin.end('o\nthree')
  expect(await done).toEqual({ accepted: 3, rejected: 0, dropped: 0 })
  expect(sent[0]).toBe('')
  expect(sent.slice(1).join('')).toBe('one\ntwo\nthree')
  for (const batch of sent.slice(1, -1)) expect(batch.endsWith('\n')).toBe(true)
})

test('sends what came within a second, and keeps the line that has no end yet', async () => {
  const { stdin, sent, done } = pushing()
  stdin.write('one\nhal')
  await vi.waitFor(() => expect(sent).toEqual(['', 'one\n']), { timeout: 5_000 })
  stdin.end('f\n')
  await done
  expect(sent).toEqual(['', 'one\n', 'half\n'])
})

test('no batch is larger than the server takes, in bytes or lines, and nothing is lost', async () => {
  const { stdin, sent, done } = pushing()
  const text = `${'x\n'.repeat(25_000)}${'y'.repeat(1_300_000)}\n${'größe\n'.repeat(100_000)}`
  stdin.end(text)
  await done
  expect(sent.join('')).toHaveLength(text.length)
  for (const batch of sent) {
    expect(Buffer.byteLength(batch)).toBeLessThanOrEqual(512 * 1024)
    expect(batch.split('\n').length).toBeLessThanOrEqual(10_001)
  }
})

test('reads no further while a batch waits to be sent again', async () => {
  const { stdin, sent, said, done } = pushing([stopped(), stopped()])
  stdin.write('one\n')
  let taken = true
  for (let n = 0; n < 1_000 && taken; n++) taken = stdin.write('z'.repeat(1023) + '\n')
  expect(taken).toBe(false)
  stdin.end()
  await done
  expect(sent.filter((batch) => batch.startsWith('one'))).toHaveLength(3)
  expect(said).toEqual(['slow down; trying again'])
})

test.each(['UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'] as const)(
  '%s in the midst does not end the program: lines are counted and read on',
  async (code) => {
    const { stdin, sent, said, done } = pushing(
      Array.from({ length: 2 }, () => new ServiceError(code, 'revoked')),
    )
    stdin.end(`${'a'.repeat(400_000)}\n${'b'.repeat(400_000)}\n`)
    await expect(done).rejects.toMatchObject({ code, message: '2 lines were not sent' })
    // Another attempt would not change it.
    expect(sent.map((batch) => batch.slice(0, 1)).join('')).toBe('ab')
    expect(said).toEqual(['revoked; lines are lost until it works again'])
  },
)

test('says once that lines are dropped, and counts them', async () => {
  const full = { accepted: 0, rejected: 0, dropped: 1 }
  const { stdin, said, done } = pushing([full, full, full])
  stdin.end(`${'x'.repeat(600_000)}\n`)
  expect(await done).toMatchObject({ dropped: 2 })
  expect(said).toEqual(['The logs of this app are full: further lines are not stored'])
})

test('being told to come again is no failure, however often', async () => {
  const { stdin, sent, done } = pushing(Array.from({ length: 30 }, stopped))
  stdin.end('one\n')
  expect(await done).toMatchObject({ accepted: 1 })
  expect(sent).toHaveLength(32)
})

test('a server that is away at the start does not end it, unless there is nothing to send', async () => {
  const { stdin, said, done } = pushing([away(), stopped()], away())
  stdin.end('one\n')
  expect(await done).toEqual({ accepted: 1, rejected: 0, dropped: 0 })
  expect(said).toEqual(['away; lines are sent as soon as it works', 'away; trying again'])

  const nothing = pushing([], away())
  nothing.stdin.end()
  await expect(nothing.done).rejects.toMatchObject({ code: 'TIMEOUT', message: 'away' })
  const wrong = pushing([], new ServiceError('NOT_FOUND'))
  await expect(wrong.done).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('what cannot be sent for minutes is lost and counted, and the program goes on', async () => {
  const lines = ['a', 'b', 'c'].map((letter) => `${letter.repeat(400_000)}\n`)
  const { stdin, sent, said, done } = pushing(Array.from({ length: 15 }, away))
  stdin.end(lines.join(''))
  await expect(done).rejects.toMatchObject({ code: 'TIMEOUT', message: '2 lines were not sent' })
  // All of its attempts; then one, because the first ones took minutes; then the server is back.
  expect(sent.map((batch) => batch.slice(0, 1)).join('')).toBe(`${'a'.repeat(14)}bc`)
  expect(said).toEqual(['away; trying again', 'away; lines are lost until it works again'])
})
