/** A database that stops and starts again under the whole product: everybody is told honestly, and nothing has to be restarted. */
import { fileURLToPath } from 'node:url'
import type { Logger } from 'drizzle-orm'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { DatabaseAway } from '../../db/database-away.ts'
import { migrate } from '../../db/migrate.ts'
import { readMigrations } from '../../db/read-migrations.ts'
import { makeApiToken, makeOrganization } from '../support/make.ts'
import {
  newAddress,
  newAssistant,
  preRegistered,
  readAnswer,
  startListeningSystem,
  type ListeningSystem,
} from '../support/assistant.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'

let server: TestPostgres
let connection: Connection
let system: ListeningSystem
beforeAll(async () => {
  server = await startPostgres()
  connection = await connect({ url: server.url })
  await migrate(
    connection.sql,
    await readMigrations(fileURLToPath(new URL('../../db/migrations', import.meta.url))),
  )
  system = await startListeningSystem({}, { connection })
})
afterAll(async () => {
  await system?.stop()
  await connection?.close()
  await server?.stop()
})

test('while it is away every service answers 503 and when to come again, and afterwards as before', async () => {
  const tokens = await Promise.all(
    [1, 2].map(async () => {
      const org = await makeOrganization(system)
      return makeApiToken(system, org, org.owner)
    }),
  )
  const ask = async (path: string, init: RequestInit = {}) => {
    const headers = { ...(init.headers as Record<string, string>), 'x-forwarded-for': newAddress() }
    return readAnswer(await fetch(system.origin + path, { ...init, headers }))
  }
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  const call = (token: string) =>
    ask('/platform', {
      method: 'POST',
      headers: {
        ...bearer(token),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
    })
  const refresh = () =>
    ask('/oauth/token', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'x', client_id: 'nobody' }),
    })
  const all = () =>
    Promise.all([
      ...tokens.flatMap(({ token }) => [ask('/api/v1/me', { headers: bearer(token) }), call(token)]),
      refresh(),
      ask('/readyz'),
    ])
  const before = (await all()).map(({ status }) => status)
  await server.halt()
  // Whoever asks within a second has the answer of before.
  await expect.poll(async () => (await ask('/readyz')).status).toBe(503)
  const away = await all()
  await server.resume()
  expect(away.map(({ status }) => status)).toEqual(away.map(() => 503))
  for (const { body } of away.slice(0, 4)) expect(body).toMatchObject({ error: { code: 'UNAVAILABLE' } })
  expect(away[4]!.body).toMatchObject({ error: 'temporarily_unavailable' })
  for (const { headers } of away.slice(0, 5)) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  await expect
    .poll(async () => (await all()).map(({ status }) => status), { timeout: 30_000 })
    .toEqual(before)
})

test('an exchange that takes too long is told so in the words of OAuth, and what it still waited for is not done', async () => {
  const hasty = await startListeningSystem({}, { connection, deadlineMs: 1_500 })
  const second = await connect({ url: server.url }, { poolSize: 2 })
  onTestFinished(async () => {
    await second.close()
    await hasty.stop()
  })
  const chains = await Promise.all(
    [1, 2].map(async () => {
      const { owner } = await makeOrganization(hasty)
      const assistant = newAssistant(hasty, await preRegistered(hasty))
      return { assistant, refresh: (await assistant.connect(owner)).refresh }
    }),
  )
  const [one, other] = [chains[0]!, chains[1]!]
  await second.sql.transaction(async (tx) => {
    await tx.query('lock table oauth_artifacts in access exclusive mode')
    const { status, body } = await one.assistant.refresh(one.refresh)
    expect([status, body]).toMatchObject([504, { error: 'temporarily_unavailable' }])
  })
  // Both chains go on with the token that they have.
  for (const { assistant, refresh } of [one, other])
    expect((await assistant.refresh(refresh)).status).toBe(200)
})

test('lost between the parts of an exchange it is said to be done in part: a code is spent and must not be sent again', async () => {
  const asks = await Promise.all(
    [1, 2].map(async () => {
      const { owner } = await makeOrganization(system)
      const assistant = newAssistant(system, await preRegistered(system))
      const { asked, back } = await assistant.ask(owner)
      return () => assistant.exchange(back.searchParams.get('code')!, asked)
    }),
  )
  // Away for just the moment in which the refresh token is stored: it is not sent, and what is asked next is.
  const { session } = connection.db as unknown as { session: { logger: Logger } }
  const sending = vi.spyOn(session.logger, 'logQuery').mockImplementation((text, parameters) => {
    const isRefresh = text.startsWith('insert into "oauth_artifacts"') && parameters.includes('RefreshToken')
    if (isRefresh) throw new DatabaseAway()
  })
  const { status, headers, body } = await asks[0]!().finally(() => sending.mockRestore())
  expect([status, headers.get('retry-after'), body]).toEqual([
    504,
    null,
    {
      error: 'temporarily_unavailable',
      error_description: expect.stringMatching(/^The outcome is unknown/) as unknown,
    },
  ])
  expect((await asks[1]!()).status).toBe(200)
})
