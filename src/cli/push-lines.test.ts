import { PassThrough } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { ServiceError } from '../contracts/errors.ts'
import { fakeEnvironment } from '../../test/support/fake-environment.ts'
import type { CommandContext } from './command-context.ts'
import { pushLines } from './push-lines.ts'

type Answer = Error | { accepted: number; rejected: number; dropped: number }

function pushing(answers: Answer[] = []) {
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
    const answer = text === '' ? undefined : answers.shift()
    if (answer instanceof Error) throw answer
    return answer ?? { accepted: text.split('\n').filter(Boolean).length, rejected: 0, dropped: 0 }
  })
  return { stdin, sent, said, done }
}

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

test('what another attempt would not change ends it', async () => {
  const { stdin, done } = pushing([new ServiceError('NOT_FOUND')])
  stdin.end('one\n')
  await expect(done).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('says once that lines are dropped, and counts them', async () => {
  const full = { accepted: 0, rejected: 0, dropped: 1 }
  const { stdin, said, done } = pushing([full, full, full])
  stdin.end(`${'x'.repeat(600_000)}\n`)
  expect(await done).toMatchObject({ dropped: 2 })
  expect(said).toEqual(['The logs of this app are full: further lines are not stored'])
})
