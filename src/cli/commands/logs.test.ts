import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { fakeEnvironment } from '../../../test/support/fake-environment.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { CommandContext } from '../command-context.ts'
import { lineText, listLogs, pushLogs } from './logs.ts'

/** A failover of the database, as the server says it. */
const unavailable = () => new ServiceError('UNAVAILABLE', undefined, { retryAfterSeconds: 0.01 })

test('lines inside a text do not look like lines of the log', () => {
  const line = {
    id: 'lgl_1',
    at: '2026-11-16T00:00:00.000Z',
    level: 'info',
    text: 'login of x\n2026-11-16T00:00:01.000Z ERROR forged\r\nlast',
    service: null,
    trace_id: null,
    group_id: 'lgr_1',
  } as const
  expect(lineText(line)).toBe(
    '2026-11-16T00:00:00.000Z INFO  login of x\n    2026-11-16T00:00:01.000Z ERROR forged\n    last\n',
  )
})

test('the first signal leaves the program its last lines, and the second is not caught', async () => {
  const stdin = new PassThrough()
  const sent: string[] = []
  const ctx = {
    environment: { ...fakeEnvironment(), stdin },
    info: () => {},
    print: () => {},
    callOperation: async (_name: string, { body }: { body: Uint8Array }) => {
      sent.push(Buffer.from(body).toString())
      return { accepted: 1, rejected: 0, dropped: 0 }
    },
  } as unknown as CommandContext
  const before = process.listenerCount('SIGTERM')
  const done = pushLogs(ctx, { args: { app: 'shop' }, options: {} })
  await expect.poll(() => sent).toEqual([''])
  stdin.write('one\n')
  expect(process.listenerCount('SIGTERM')).toBe(before + 1)
  process.listeners('SIGTERM').at(-1)!('SIGTERM')
  expect(process.listenerCount('SIGTERM')).toBe(before)
  stdin.end('why it ended\n')
  await done
  expect(sent.join('')).toBe('one\nwhy it ended\n')
})

test('the database fails over when it begins to push: the lines wait, and all arrive', async () => {
  const stdin = new PassThrough()
  stdin.end('one\ntwo\n')
  const failures = [unavailable(), unavailable()]
  const [sent, said, printed]: [string[], string[], unknown[]] = [[], [], []]
  const ctx = {
    environment: { ...fakeEnvironment(), stdin },
    info: (line: string) => said.push(line),
    print: (data: unknown) => printed.push(data),
    callOperation: async (_name: string, { body }: { body: Uint8Array }) => {
      const failure = failures.shift()
      if (failure) throw failure
      sent.push(Buffer.from(body).toString())
      return { accepted: 2, rejected: 0, dropped: 0 }
    },
  } as unknown as CommandContext
  await pushLogs(ctx, { args: { app: 'shop' }, options: {} })
  expect(sent).toEqual(['one\ntwo\n'])
  expect(printed).toEqual([{ accepted: 2, rejected: 0, dropped: 0 }])
  expect(said[0]).toContain('lines are sent as soon as it works')
})

test('following asks for the same lines as at first, from the last one on', async () => {
  const asked: object[] = []
  const ctx = {
    environment: fakeEnvironment(),
    settings: { format: undefined, timeoutMs: 30_000 },
    info: () => {},
    callOperation: async (_name: string, filter: object) => {
      asked.push(filter)
      if (asked.length === 3) throw new ServiceError('NOT_FOUND')
      return { lines: [], after: `lgl_${asked.length}` }
    },
  } as unknown as CommandContext
  const options = { follow: true, level: 'error', grep: 'card', group: 'lgr_1' }
  const following = listLogs(ctx, { args: { app: 'shop' }, options })
  await expect(following).rejects.toMatchObject({ code: 'NOT_FOUND' })
  const same = { alias: 'shop', level: 'error', text: 'card', group_id: 'lgr_1' }
  expect(asked).toMatchObject([same, { ...same, after: 'lgl_1' }, { ...same, after: 'lgl_2' }])
})

test('logs are followed through a failover of the database; one at the start shows at once', async () => {
  const answers = [[], unavailable(), ['after it'], new ServiceError('NOT_FOUND')]
  const environment = fakeEnvironment()
  const ctx = {
    environment,
    settings: { format: undefined, timeoutMs: 30_000 },
    info: () => {},
    callOperation: async () => {
      const answer = answers.shift()
      if (answer instanceof Error) throw answer
      const lines = answer!.map((text) => ({ at: 'now', level: 'info', service: null, text }))
      return { lines, after: 'lgl_1' }
    },
  } as unknown as CommandContext
  const follow = () => listLogs(ctx, { args: { app: 'shop' }, options: { follow: true } })
  await expect(follow()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect([environment.out(), answers]).toEqual(['now INFO  after it\n', []])
  answers.push(unavailable())
  await expect(follow()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})
