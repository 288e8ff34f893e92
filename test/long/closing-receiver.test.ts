/**
 * decisions, 11: kept connections leave next to nothing unconfirmed. The receiver here is the worst there is: it closes a
 * connection that was idle for a second, never says so beforehand, and most messages come just when it does.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { outbound, type Posted } from '../../src/adapters/outbound/guarded-post.ts'
import { sendWebhook } from '../../src/adapters/outbound/send-webhook.ts'

const CLOSES_MS = 1_000
/** Integrations of different organizations, each with its own connections to the one receiver. */
const SENDERS = 400
const MESSAGES_EACH = 50
const PER_UNCONFIRMED = 10_000

async function openReceiver() {
  let [received, connections] = [0, 0]
  const server = createServer((request, response) => {
    clearTimeout(closing.get(request.socket))
    request.resume().once('end', () => {
      received++
      response.end('ok')
      closing.set(
        request.socket,
        setTimeout(() => request.socket.destroy(), CLOSES_MS),
      )
    })
  })
  const closing = new WeakMap<object, NodeJS.Timeout>()
  // Without a time of its own it announces none.
  server.keepAliveTimeout = 0
  server.on('connection', () => connections++)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    seen: () => ({ received, connections }),
    async close() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

/** Four of five around the second after which it closes, the others soon: those go over a kept connection. */
const nextGapMs = () => (Math.random() < 0.8 ? CLOSES_MS - 10 + Math.random() * 20 : Math.random() * 200)

test(`of ${PER_UNCONFIRMED.toLocaleString('en')} messages to a receiver that closes after a second at most one is unconfirmed`, async () => {
  const receiver = await openReceiver()
  const out = outbound({ allowNets: ['127.0.0.0/8'] })
  const kinds: Record<Posted['kind'], number> = { answered: 0, not_sent: 0, unknown: 0 }
  const counted = sendWebhook(async (message) => {
    const posted = await out.post(message)
    kinds[posted.kind]++
    return posted
  }, 'svc/test')
  await Promise.all(
    Array.from({ length: SENDERS }, async (_, sender) => {
      await sleep(Math.random() * CLOSES_MS)
      for (let n = 0; n < MESSAGES_EACH; n++) {
        await counted({ url: receiver.url, headers: {}, body: '[]', keptFor: `org_1 int_${sender}` })
        await sleep(nextGapMs())
      }
    }),
  )
  const { received, connections } = receiver.seen()
  const sent = SENDERS * MESSAGES_EACH
  console.log(`${sent} messages`, kinds, `${sent - connections} over kept connections`)
  out.close()
  await receiver.close()
  expect(kinds.unknown).toBeLessThanOrEqual(sent / PER_UNCONFIRMED)
  expect(kinds.answered + kinds.unknown + kinds.not_sent).toBe(sent)
  // Nothing was counted as answered that had not arrived, and connections are really kept.
  expect(received).toBeGreaterThanOrEqual(kinds.answered)
  expect(sent - connections).toBeGreaterThan(sent / 20)
})
