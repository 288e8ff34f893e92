import { afterEach, expect, test, vi } from 'vitest'
import type { Service } from '../client/service.ts'
import { ServiceError } from '../contracts/errors.ts'
import { makeId } from '../contracts/ids.ts'
import { createConsole } from './app.ts'

const NOW = new Date('2026-11-15T12:00:00Z')
const url = new URL('http://localhost:4000')
const token = `e30.${Buffer.from(JSON.stringify({ iat: NOW.getTime() / 1000 })).toString('base64url')}.`

afterEach(() => vi.restoreAllMocks())

/** The answer to a page whose token gets too old while the gateway opens its stream. */
async function answerOf(method: 'GET' | 'HEAD', opening: (signal: AbortSignal) => Promise<never>) {
  const tooOld = new AbortController()
  vi.spyOn(AbortSignal, 'timeout').mockReturnValue(tooOld.signal)
  const callInProcess: NonNullable<Service['callInProcess']> = (_operation, _input, { signal }) => {
    const answer = opening(signal!)
    tooOld.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
    return answer
  }
  const gateway = Object.assign(() => Promise.reject(new Error('not asked')), { callInProcess })
  const console = createConsole({
    gateway,
    appUrl: url,
    mcpUrl: url,
    signInUrl: url,
    deliveryDays: 90,
    clock: () => NOW,
    version: '0.0.0',
  })
  return console.request(`/console/changes?organization=${makeId('org', NOW.getTime())}`, {
    method,
    headers: { cookie: `svc_console=${token}` },
  })
}

const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })

test.each(['GET', 'HEAD'] as const)(
  '%s: a token that gets too old while the stream is opened ends the stream, and the browser opens the next one',
  async (method) => {
    const answer = await answerOf(method, untilAborted)
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      'text/event-stream',
      '',
    ])
  },
)

test('who is refused meanwhile is refused', async () => {
  const answer = await answerOf('GET', () => Promise.reject(new ServiceError('FORBIDDEN')))
  expect(answer.status).toBe(403)
})
