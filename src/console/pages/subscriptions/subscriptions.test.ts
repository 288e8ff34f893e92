import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'

const PATH = '/console/subscriptions'
const seeded = async () => {
  const client = await signedIn()
  seed(client.gateway)
  const { data } = client.gateway.notifications
  return { ...client, data }
}
const textOf = (page: string): string =>
  page
    .replaceAll('<wbr />', '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
const rowsOf = (page: string): string[] =>
  [...page.matchAll(/<tr role="row">.*?<\/tr>/gs)].map(([row]) => textOf(row)).slice(1)

describe('the subscriptions', () => {
  test('say what, where, when, since whom, and when last', async () => {
    const rows = rowsOf(await (await seeded()).read(PATH))
    expect(rows).toHaveLength(6)
    expect(rows[0]).toContain(
      'support.ticket.created default #tickets Chat channel Immediately On 15 Nov 2026, 09:36 UTC Send test',
    )
    expect(rows[2]).toContain('application.check.* added by Ada Lovelace Operations desk Webhook')
    expect(rows[3]).toContain('Daily On Never')
    expect(rows[5]).toContain('Paused')
    expect(rows[5]).not.toContain('Send test')
  })

  test('are filtered by event type, integration and state, and paged', async () => {
    const { read, data, gateway } = await seeded()
    const tickets = data.integrations.find(({ name }) => name === '#tickets')!
    expect(rowsOf(await read(`${PATH}?pattern=check`))).toHaveLength(1)
    expect(rowsOf(await read(`${PATH}?integration=${tickets.id}`))).toHaveLength(2)
    expect(rowsOf(await read(`${PATH}?enabled=false`))).toHaveLength(1)
    expect(rowsOf(await read(`${PATH}?enabled=maybe&integration=x`))).toHaveLength(6)
    expect(await read(`${PATH}?pattern=zzz`)).toContain('No matching subscriptions')
    for (let more = 0; more < 50; more += 1) gateway.notifications.addSubscription(`more.n${more}`, tickets)
    const page = await read(`${PATH}?integration=${tickets.id}`)
    const next = /href="([^"]+)"[^>]*>Next page/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(rowsOf(await read(next))).toHaveLength(2)
  })

  test('a default is deleted only after the warning that it never comes back', async () => {
    const page = textOf(await (await seeded()).read(PATH))
    expect(page.match(/Once deleted, it is not created again/g)).toHaveLength(2)
  })

  test('are tested, paused, changed and deleted from their row', async () => {
    const { post, data, read } = await seeded()
    const one = data.subscriptions[2]!
    const back = `${PATH}?pattern=check`
    const tested = await post(`${PATH}/${one.id}/test`, { back })
    expect(tested.headers.get('location')).toBe(back)
    expect(data.tested).toEqual([one.id])
    expect(await read(PATH)).toContain('Test event sent')
    await post(`${PATH}/${one.id}/switch`, { on: 'no' })
    expect(one.enabled).toBe(false)
    await post(`${PATH}/${one.id}/test`)
    expect(await read(PATH)).toContain('The subscription is paused')
    await post(`${PATH}/${one.id}/switch`, { on: 'yes' })
    await post(`${PATH}/${one.id}/change`, { pattern: 'deploy.*', timing: 'hourly' })
    expect(one).toMatchObject({ enabled: true, pattern: 'deploy.*', timing: 'hourly' })
    await post(`${PATH}/${one.id}/change`, { pattern: 'Not a type', timing: 'hourly' })
    expect(await read(PATH)).toContain('must be an event type such as deploy.failed')
    await post(`${PATH}/${one.id}/delete`, { back: 'https://evil.example/' })
    expect(data.subscriptions).not.toContain(one)
  })

  test('without an integration the page says what comes first', async () => {
    const client = await signedIn()
    expect(await client.read(PATH)).toContain('No integrations yet')
    expect((await client.get(`${PATH}/new`)).headers.get('location')).toBe(PATH)
  })
})

describe('a new subscription', () => {
  test('shows what its pattern matches by a button, and keeps what was typed', async () => {
    const { post, data } = await seeded()
    const integration = data.integrations[3]!.id
    const submitted = { pattern: 'application.check.*', integration, timing: 'daily' }
    const response = await post(`${PATH}/new`, { ...submitted, do: 'preview' })
    expect(response.status).toBe(200)
    const page = await response.text()
    expect(textOf(page)).toContain('Matches 4 event types , 28 events in the last 7 days.')
    expect(page).toMatch(new RegExp(`value="${integration}"\\s+selected`))
    expect(page).toMatch(/value="daily"\s+selected/)
    expect(data.subscriptions).toHaveLength(6)
  })

  test('offers no list of types to choose from', async () => {
    expect(await (await seeded()).read(`${PATH}/new`)).not.toContain('<datalist')
  })

  test('is made, with a note when nothing of the kind is defined', async () => {
    const { post, read, data } = await seeded()
    const integration = data.integrations[0]!.id
    const response = await post(`${PATH}/new`, { pattern: 'order.refunded', integration, timing: 'hourly' })
    expect(response.status).toBe(303)
    expect(data.subscriptions.at(-1)).toMatchObject({ pattern: 'order.refunded', timing: 'hourly' })
    expect(await read(PATH)).toContain('No event of this type is defined.')
  })

  test('a bad pattern and one that is there already are refused with the reason', async () => {
    const { post, data } = await seeded()
    const integration = data.integrations.find(({ name }) => name === 'Operations desk')!.id
    const bad = await post(`${PATH}/new`, { pattern: '*.failed', integration })
    expect(bad.status).toBe(400)
    expect(await bad.text()).toMatch(/value="\*\.failed"[^>]*aria-invalid="true"/s)
    const taken = await post(`${PATH}/new`, { pattern: 'application.check.*', integration })
    expect(taken.status).toBe(409)
    expect(await taken.text()).toContain('This connection has this subscription already')
  })
})

describe('the preview for the script', () => {
  const preview = async (pattern: string) =>
    (await seeded()).get(`${PATH}/preview?${new URLSearchParams({ pattern })}`)

  test('is a piece of a page', async () => {
    const response = await preview('deploy.failed')
    expect(response.headers.get('content-type')).toContain('text/html')
    const piece = await response.text()
    expect(piece).not.toContain('<html')
    expect(textOf(piece)).toContain('Matches 1 event type , 1 event in the last 7 days.')
  })

  test.each([
    ['nothing', '', ''],
    ['half a word', 'application.', 'Not a valid event type yet'],
    ['an unknown type', 'order.refunded', 'No event of this type is defined'],
    ['markup', '<img src=x>', 'Not a valid event type yet'],
  ])('%s is answered kindly', async (_what, pattern, words) => {
    const response = await preview(pattern)
    expect(response.status).toBe(200)
    const piece = await response.text()
    expect(piece).toContain(words)
    expect(piece).not.toContain('<img')
  })

  test('needs the role and the session', async () => {
    const viewer = await signedIn({ role: 'viewer' })
    expect(await viewer.read(`${PATH}/preview?pattern=deploy.failed`)).toContain(
      'Your role does not allow this',
    )
    viewer.cookies.clear()
    expect((await viewer.get(`${PATH}/preview?pattern=deploy.failed`)).status).toBe(303)
  })
})
