/** Who may have a file read, and how many at a time. */
import { Hono } from 'hono'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openConsole } from '../../test/support/console-client.ts'
import type { Role } from '../contracts/roles.ts'
import type { ConsoleEnv } from './context.ts'
import { handleError } from './error-page.ts'
import { limitBody } from './limit-body.ts'

const PATH = '/console/upload'

/** One process with several people, each with a gateway of their own. */
function startUploads() {
  const limit = limitBody(PATH)
  async function person(name: string, options: { role?: Role; organization?: string } = {}) {
    const client = openConsole({ role: options.role ?? 'developer' })
    await client.signIn()
    Object.assign(client.gateway.data.me, { id: `usr_${name}` })
    if (options.organization) {
      client.gateway.org.id = options.organization
      client.gateway.data.chosen = options.organization
    }
    const app = new Hono<ConsoleEnv>()
    app.onError(handleError)
    app.use('*', async (c, next) => {
      c.set('deps', client.deps)
      c.set('requestId', 'req_test')
      await next()
    })
    app.use('*', limit)
    app.post(PATH, async (c) => c.text(await c.req.text()))
    const cookie = [...client.cookies].map(([key, value]) => `${key}=${value}`).join('; ')
    const send = (body: BodyInit) =>
      app.request(`http://localhost:4000${PATH}`, {
        method: 'POST',
        headers: { cookie },
        body,
        duplex: 'half',
      } as RequestInit)
    /** A body that begins and does not end. */
    async function begin() {
      const beginning = Promise.withResolvers<void>()
      let end = () => {}
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('a'))
          end = () => {
            controller.close()
            end = () => {}
          }
        },
        pull: () => beginning.resolve(),
      })
      const answer = Promise.resolve(send(body))
      void answer.then(() => beginning.resolve())
      await beginning.promise
      onTestFinished(async () => {
        end()
        await answer
      })
      return { end: () => end(), answer }
    }
    return { send, begin }
  }
  return person
}

describe('the places of uploads', () => {
  test('a person has one, and the next after it', async () => {
    const person = startUploads()
    const ann = await person('ann')
    const slow = await ann.begin()
    const refused = await ann.send('b')
    expect(refused.status).toBe(429)
    expect((await (await person('ben', { organization: 'org_b' })).send('b')).status).toBe(200)
    slow.end()
    expect((await slow.answer).status).toBe(200)
    expect((await ann.send('b')).status).toBe(200)
  })

  test('an organization has two, so that others find one', async () => {
    const person = startUploads()
    for (const name of ['ann', 'ben']) await (await person(name, { organization: 'org_a' })).begin()
    expect((await (await person('cay', { organization: 'org_a' })).send('c')).status).toBe(429)
    expect((await (await person('dan', { organization: 'org_b' })).send('d')).status).toBe(200)
  })

  test('whoever may load no file has none, and nothing of it is read', async () => {
    const person = startUploads()
    const viewer = await person('vic', { role: 'viewer' })
    let pulls = 0
    const body = new ReadableStream({ pull: () => void (pulls += 1) }, { highWaterMark: 0 })
    const answer = await viewer.send(body)
    expect(answer.status).toBe(403)
    expect(await answer.text()).toContain('Only developers, admins and owners can load files')
    expect(pulls).toBe(0)
  })
})
