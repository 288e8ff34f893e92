import { PassThrough } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { fakeEnvironment } from '../../../test/support/fake-environment.ts'
import type { CommandContext } from '../command-context.ts'
import { lineText, pushLogs } from './logs.ts'

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
  await vi.waitFor(() => expect(sent).toEqual(['']))
  stdin.write('one\n')
  expect(process.listenerCount('SIGTERM')).toBe(before + 1)
  process.listeners('SIGTERM').at(-1)!('SIGTERM')
  expect(process.listenerCount('SIGTERM')).toBe(before)
  stdin.end('why it ended\n')
  await done
  expect(sent.join('')).toBe('one\nwhy it ended\n')
})
