import { beforeEach, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'

type Client = Awaited<ReturnType<typeof signedIn>>
let client: Client

const PATH = '/console/end-access'

beforeEach(async () => {
  client = await signedIn()
  seed(client.gateway)
})

const tokens = () => client.gateway.data.tokens
const since = (days: number) => client.gateway.daysAgo(days).slice(0, 16)

test('an admin ends their own, a member’s or everybody’s, since a time, and reads how many of each', async () => {
  const mine = tokens().filter(({ user_id }) => user_id === client.gateway.data.me.id).length
  expect(mine).toBeGreaterThan(0)
  expect(mine).toBeLessThan(tokens().length)
  await client.post(PATH, { whose: 'mine', since: since(0) })
  expect(await client.read(PATH)).toContain('Ended: 2 sessions, 0 API tokens, 0 agents, 1 invitation.')
  await client.post(PATH, { whose: 'mine', since: since(3650) })
  expect(await client.read(PATH)).toContain(`${mine} API token`)
  const [theirs] = tokens()
  expect(await client.read(PATH)).toContain(`value="${theirs!.user_id}"`)
  await client.post(PATH, { whose: theirs!.user_id, since: since(3650) })
  expect(tokens().filter(({ user_id }) => user_id === theirs!.user_id)).toEqual([])
  await client.post(PATH, { whose: 'everybody', since: since(3650) })
  expect(tokens()).toEqual([])
  expect(await client.read(PATH)).toContain('3 credentials of machine agents, 1 invitation.')
})

test('others are offered their own only, and refused the rest', async () => {
  client.gateway.org.role = 'developer'
  const page = await client.read(PATH)
  expect(page).toContain('Mine, in all organizations')
  for (const words of ['Everybody in', '@northwind.example)']) expect(page).not.toContain(words)
  expect((await client.post(PATH, { whose: 'everybody', since: since(1) })).status).toBe(403)
})

test('what is no time is refused at its field, with what was typed', async () => {
  const refused = await client.post(PATH, { whose: 'mine', since: 'yesterday' })
  expect(refused.status).toBe(400)
  expect(await refused.text()).toContain('value="yesterday"')
})

test('a password change offers to revoke API tokens, and does so only where it is ticked', async () => {
  const change = (fields: Record<string, string>) =>
    client.post('/console/profile/password', {
      current_password: 'correct horse battery',
      new_password: 'another few words here',
      ...fields,
    })
  const before = tokens().length
  expect(await client.read('/console/profile')).toContain('name="end_api_tokens"')
  await change({})
  expect(tokens()).toHaveLength(before)
  await change({ end_api_tokens: 'yes' })
  expect(tokens().length).toBeLessThan(before)
  expect(await client.read('/console/profile')).toContain('Your API tokens were revoked.')
})
