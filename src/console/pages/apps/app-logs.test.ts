import { beforeEach, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'

type Client = Awaited<ReturnType<typeof signedIn>>
let client: Client
let fake: Client['gateway']['logs']

beforeEach(async () => {
  client = await signedIn()
  seed(client.gateway)
  fake = client.gateway.logs
})

const LOGS = '/console/apps/shop/logs'

test('shows lines as text and nothing else, stack traces folded', async () => {
  const page = await client.read(LOGS)
  expect(page).toContain('<code>GET /orders/17 200 in 12 ms</code>')
  expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt; is text')
  expect(page).not.toContain('<script>alert')
  expect(page).toMatch(/<code>card declined<\/code><\/summary>\s*<pre> {4}at pay \(pay\.ts:1:2\)/)
})

test('filters by level, text, time and group, and ignores what is no filter', async () => {
  const group = `lgr_${'0'.repeat(25)}`
  await client.read(`${LOGS}?level=error&text=card&window=hour&group=${group}`)
  expect(fake.data.asked.at(-1)).toMatchObject({ level: 'error', text: 'card', group_id: group })
  expect(fake.data.asked.at(-1)).toHaveProperty('since')
  await client.read(`${LOGS}?level=loud&window=year&group=x&view=constructor`)
  expect(fake.data.asked.at(-1)).not.toHaveProperty('level', 'loud')
  expect(await client.read(`${LOGS}?text=nothing`)).toContain('No lines found')
})

test('shows groups, each with a link to its lines', async () => {
  const page = await client.read(`${LOGS}?view=groups`)
  expect(page).toContain('<code>card declined</code>')
  expect(page).toContain(`href="${LOGS}?group=lgr_${'0'.repeat(25)}"`)
})

test('follows what arrives, with the same filters', async () => {
  const page = await client.read(`${LOGS}?view=live&level=error`)
  const path = /data-live="([^"]+)"/.exec(page)![1]!.replaceAll('&amp;', '&')
  expect(path).toContain('level=error')
  fake.data.arrived.push({ ...fake.data.lines[1]!, text: '<b>now</b>' })
  const more = JSON.parse(await client.read(path)) as { text: string; more: string; ended: boolean }
  expect(more.text).toMatch(/ ERROR checkout <b>now<\/b>\n$/)
  expect(more.more).toContain(`${LOGS}/live?`)
  expect(fake.data.asked.at(-1)).toMatchObject({ level: 'error', after: `lgl_${'0'.repeat(25)}` })
})

test('a closed tab waits no longer, and is no failure', async () => {
  const tab = new AbortController()
  tab.abort()
  const answer = await client.send(`${LOGS}/live?after=lgl_${'0'.repeat(25)}`, { signal: tab.signal })
  expect([answer.status, await answer.json()]).toMatchObject([200, { text: '', ended: false }])
})

test('says what was dropped, and what there is to do where there is nothing', async () => {
  client.gateway.appOverview.data.logUse = { dropped_today: 7, refused_today: 1 }
  const page = await client.read(LOGS)
  expect(page).toContain('7 lines dropped today: the logs of this app are full, 1 GiB')
  expect(page).toContain('1 request rate limited today')
  client.gateway.appOverview.data.logUse = { stored_bytes: 0, refused_today: 3 }
  const empty = await client.read(LOGS)
  expect(empty).toContain('your-program 2&gt;&amp;1 | svc apps logs push shop')
  // Empty because all was refused, and it says so.
  expect(empty).toContain('3 requests rate limited today')
  client.gateway.apps.data.apps.find(({ alias }) => alias === 'shop')!.my_role = null
  expect(await client.read(LOGS)).not.toContain('svc apps logs push')
})

test('is not there for a viewer without part in the app', async () => {
  const viewer = await signedIn({ role: 'viewer' })
  seed(viewer.gateway)
  viewer.gateway.apps.data.apps.find(({ alias }) => alias === 'shop')!.my_role = null
  expect((await viewer.get(LOGS)).status).toBe(404)
})
