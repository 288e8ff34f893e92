import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { VERIFIER } from './webhook-signature.ts'

const PATH = '/console/integrations'
const seeded = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const client = await signedIn(options)
  seed(client.gateway)
  const { data } = client.gateway.notifications
  const named = (name: string) => data.integrations.find((one) => one.name === name)!
  return { ...client, data, named }
}
const textOf = (page: string): string =>
  page
    .replaceAll('<wbr />', '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')

describe('the integrations', () => {
  test('show what they are, a masked address, and their state in words', async () => {
    const page = textOf(await (await seeded()).read(PATH))
    expect(page).toContain('Operations desk Webhook https://hooks.example.com/…c123 Active')
    expect(page).toContain('#tickets Chat channel · Northwind · #tickets')
    expect(page).toContain('Stopped: receiver returned 410')
    expect(page).toContain('Failing since 15 Nov 2026, 02:24 UTC')
    expect(page).toContain('Stopped: access lost')
    expect(page).toContain('Stopped: failed for days')
    expect(page).toContain('Archive Webhook https://hooks.example.com/…c123 Off')
    expect(page).toContain('On call Email address o…@northwind.example Not confirmed')
  })

  test('are filtered by name and kind', async () => {
    const client = await seeded()
    const page = await client.read(`${PATH}?search=tick&kind=chat`)
    expect(page).toContain('>#tickets</a>')
    expect(page).not.toContain('Old pager')
    expect(await client.read(`${PATH}?kind=forum&search=zzz`)).toContain('No matching integrations')
  })

  test('say whether mail can be sent', async () => {
    const client = await seeded()
    expect(textOf(await client.read(PATH))).toContain('Ready Sent by this service from svc@northwind.example')
    client.data.email = { ready: false, from: null }
    expect(await client.read(PATH)).toContain('No mail server')
  })

  test('are for owners and admins', async () => {
    const client = await seeded({ role: 'developer' })
    for (const path of [PATH, '/console/subscriptions', '/console/deliveries', '/console/deliveries.csv']) {
      expect((await client.get(path)).status).toBe(403)
    }
    expect(await client.read('/console')).not.toContain('href="/console/integrations"')
  })
})

describe('connecting', () => {
  test('a webhook, and its page says nothing of the address', async () => {
    const { post, read, data } = await seeded()
    const url = 'https://hooks.example.org/in/s3cr3t-path-9876'
    const response = await post(`${PATH}/new/webhook`, { name: 'Bridge', url, resend: 'yes' })
    expect(response.status).toBe(303)
    expect(data.integrations.at(-1)).toMatchObject({ name: 'Bridge', resend_on_unknown: true })
    const page = await read(response.headers.get('location') ?? '')
    expect(page).toContain('Bridge connected')
    expect(page).toContain('https://hooks.example.org/…9876')
    expect(page).not.toContain('s3cr3t')
  })

  test('an email address, which is sent a link', async () => {
    const { post, read, data } = await seeded()
    const made = await post(`${PATH}/new/email`, { address: 'ops@northwind.example' })
    const one = data.integrations.at(-1)!
    expect(made.headers.get('location')).toBe(`${PATH}/${one.id}`)
    const page = textOf(await read(`${PATH}/${one.id}`))
    expect(page).toContain('Nobody has confirmed this address yet')
    expect(page).toContain('Address o…@northwind.example')
    expect(page).not.toContain('ops@northwind.example')
    expect(await (await post(`${PATH}/new/email`, { address: 'nobody' })).text()).toContain('value="nobody"')
  })

  test('no email address where no mail can be sent', async () => {
    const client = await seeded()
    expect(await client.read(PATH)).toContain(`${PATH}/new/email`)
    client.data.email = { ready: false, from: null }
    expect(await client.read(PATH)).not.toContain(`${PATH}/new/email`)
  })

  test('a refused address is said at its field, with what was typed', async () => {
    const { post } = await seeded()
    const response = await post(`${PATH}/new/webhook`, {
      name: 'Bridge',
      url: 'https://10.0.0.1/x',
      resend: 'yes',
    })
    expect(response.status).toBe(400)
    const page = await response.text()
    expect(page).toContain('does not lead into a private network')
    expect(page).toContain('value="https://10.0.0.1/x"')
    expect(page).toContain('value="Bridge"')
    expect(page).toMatch(/value="yes" checked/)
  })

  test('a chat channel by its address, or by installing the app where the operator set it up', async () => {
    const { post, read, data } = await seeded()
    const response = await post(`${PATH}/new/chat`, {
      name: '#ops',
      url: 'https://hooks.chat.example/T1/B2/zzzz',
    })
    expect(response.status).toBe(303)
    expect(await read(`${PATH}/new/chat`)).toContain('Choose a channel')
    data.chatInstall = false
    const page = await read(`${PATH}/new/chat`)
    expect(page).not.toContain('Choose a channel')
    expect(page).toContain('which the operator of this service has not set up')
  })

  test('installing leads out by a link, since forms may lead nowhere else', async () => {
    const { post } = await seeded()
    const response = await post(`${PATH}/chat/install`)
    expect(response.status).toBe(200)
    const page = await response.text()
    expect(page).toContain('href="https://chat.example/oauth/v2/authorize?state=s1"')
    expect(page).toContain('Continue to chat.example')
  })

  test('the way back completes it, and says why when it does not', async () => {
    const { get, read, data } = await seeded()
    const done = await get(`${PATH}/chat/callback?code=c1&state=s1`)
    expect(done.status).toBe(303)
    expect(await read(done.headers.get('location') ?? '')).toContain('#general connected')
    data.refusal = new ServiceError('CONFLICT', 'This attempt was completed or ran out')
    const refused = await get(`${PATH}/chat/callback?code=c1&state=s1`)
    expect(refused.status).toBe(409)
    expect(await refused.text()).toContain('This attempt was completed or ran out.')
    expect(await read(`${PATH}/chat/callback?error=access_denied&state=s1`)).toContain('Nothing was changed')
    expect((await get(`${PATH}/chat/callback`)).status).toBe(400)
  })

  test('a forum, whose key is never written back, and then where to post', async () => {
    const { post, read, data } = await seeded()
    const refused = await post(`${PATH}/new/forum`, { url: 'https://forum.example.com', api_key: 'single' })
    const page = await refused.text()
    expect(page).toContain('This key belongs to a single user')
    expect(page).toContain('value="https://forum.example.com"')
    expect(page).not.toContain('value="single"')
    data.integrations = data.integrations.filter(({ kind }) => kind !== 'forum')
    const response = await post(`${PATH}/new/forum`, { url: 'https://forum.example.com', api_key: 'all' })
    const own = response.headers.get('location') ?? ''
    expect(await read(own)).toContain('Choose a forum category')
    expect((await post(`${own}/category`, { url: 'https://forum.example.com', category: 'x' })).status).toBe(
      400,
    )
    await post(`${own}/category`, { url: 'https://forum.example.com', category: '12' })
    expect(data.integrations.at(-1)?.category).toBe(12)
  })
})

describe('one integration', () => {
  test('is renamed, gets a new address, is switched off and on, and removed', async () => {
    const { post, read, data, named } = await seeded()
    const one = named('Old pager')
    const path = `${PATH}/${one.id}`
    expect(await read(path)).toContain('returned 410 Gone')
    await post(`${path}/name`, { name: 'Pager' })
    await post(`${path}/url`, { url: 'https://pager.example/in/abcd' })
    expect(one).toMatchObject({ name: 'Pager', state: 'active', address: 'https://pager.example/…abcd' })
    await post(`${path}/switch`, { on: 'no' })
    expect(one.state).toBe('off')
    await post(`${path}/switch`, { on: 'yes' })
    await post(`${path}/resend`, { resend: 'yes' })
    expect(one).toMatchObject({ state: 'active', resend_on_unknown: true })
    await post(`${path}/remove`)
    expect(data.integrations).not.toContain(one)
    expect(await read(PATH)).toContain('Integration removed')
  })

  test('what it missed is recovered since a time, and the page says how far that is', async () => {
    const { post, read, data, named } = await seeded()
    data.recoveries.length = 0
    const path = `${PATH}/${named('Operations desk').id}`
    await post(`${path}/recover`, { since: 'yesterday' })
    expect(await read(path)).toContain('Enter a start date and time')
    await post(`${path}/recover`, { since: '2026-11-14T22:30', unconfirmed: 'yes' })
    expect(data.recoveries).toMatchObject([
      { since: '2026-11-14T22:30:00.000Z', include_unconfirmed: true, state: 'running' },
    ])
    const page = textOf(await read(path))
    expect(page).toContain('Recovery started.')
    expect(page).toMatch(/14 Nov 2026, 22:30 UTC +Running +0/)
    await post(`${path}/recover`, { since: '2026-11-14T22:30' })
    expect(await read(path)).toContain('is running already')
    // One that is off has nothing to be recovered to.
    expect(await read(`${PATH}/${named('Old pager').id}`)).not.toContain('Recover missed deliveries')
  })

  test('an email address gets its link again, and another address another one', async () => {
    const { post, read, data, named } = await seeded()
    const at = `${PATH}/${named('On call').id}`
    await post(`${at}/verification`, {})
    expect(data.verifications).toEqual([named('On call').id])
    await post(`${at}/address`, { address: 'second@northwind.example' })
    expect(named('On call').address).toBe('s…@northwind.example')
    expect(await (await post(`${at}/address`, { address: 'nobody' })).text()).toContain('value="nobody"')
    Object.assign(named('On call'), { state: 'active' })
    expect(await read(at)).not.toContain('Send the link again')
  })

  test('a refused address keeps what was typed', async () => {
    const { post, named } = await seeded()
    const response = await post(`${PATH}/${named('Archive').id}/url`, { url: 'http://10.0.0.1/' })
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('value="http://10.0.0.1/"')
  })

  test('an unknown one is not there', async () => {
    expect((await (await seeded()).get(`${PATH}/int_nothing`)).status).toBe(404)
  })

  test('what was installed, or connected with a key, gets its address by connecting it again', async () => {
    const { read, named } = await seeded()
    for (const name of ['#tickets', 'Forum']) {
      const page = await read(`${PATH}/${named(name).id}`)
      expect(page).toContain('Reconnect')
      expect(page).not.toContain('Save URL')
    }
    const pasted = await read(`${PATH}/${named('#deploys').id}`)
    expect(pasted).toContain('Save URL')
    expect(pasted).toContain('Turn on')
  })
})

/** People copy it: it must do what it says. */
describe('the function that checks a signature', async () => {
  const { isFromSvc } = (await import(
    /* @vite-ignore */ `data:text/javascript;base64,${Buffer.from(VERIFIER).toString('base64')}`
  )) as { isFromSvc: (url: string, headers: Record<string, string>, body: string, now: number) => boolean }
  const url = 'https://hooks.example.com/svc/abc123'
  const headers = {
    'x-svc-timestamp': '1731628800',
    'x-svc-signature': 'v1=4fbc65c954ce3bc2095a0946d37f75478c2324302658601d8b3b1b56715dd84b',
  }
  const now = 1_731_628_800_000

  type Vector = { name: string; url: string; timestamp: string; body: string } & Record<string, string>
  const vectors = readFileSync(
    new URL('../../../../test/vectors/webhook-signatures.jsonl', import.meta.url),
    'utf8',
  )
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Vector)

  test.each(vectors.map((vector) => [vector.name, vector] as const))(
    'takes what we sign: %s',
    (_name, one) => {
      const signed = (signature: string | undefined) =>
        isFromSvc(
          one.url,
          { 'x-svc-timestamp': one.timestamp, 'x-svc-signature': signature ?? '' },
          one.body,
          Number(one.timestamp) * 1_000 + 300_000,
        )
      expect(signed(one['X-Svc-Signature(raw 32-byte key)'])).toBe(true)
      expect(signed(one['alt(hex-string key)'])).toBe(false)
    },
  )

  test.each([
    ['another address', `${url}/`, headers, '[]', now],
    ['another body', url, headers, '[ ]', now],
    ['a recording', url, headers, '[]', now + 301_000],
    ['one from the future', url, headers, '[]', now - 301_000],
    ['another time', url, { ...headers, 'x-svc-timestamp': '1731628801' }, '[]', now],
    ['no time', url, { ...headers, 'x-svc-timestamp': 'NaN' }, '[]', now],
    ['no headers', url, {}, '[]', now],
    ['characters that are not ASCII', url, { ...headers, 'x-svc-signature': 'ü'.repeat(67) }, '[]', now],
  ])('refuses %s', (_what, address, given, body, at) => {
    expect(isFromSvc(address, given, body, at)).toBe(false)
  })
})
