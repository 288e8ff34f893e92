import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'
import { ServiceError } from '../../../contracts/errors.ts'

const PATH = '/console/profile/notifications'
const seeded = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const client = await signedIn(options)
  seed(client.gateway)
  return { ...client, data: client.gateway.notifications.data }
}
const textOf = (page: string): string =>
  page
    .replaceAll('<wbr />', '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
/** What a browser would send of the form as it stands. */
const formOf = (page: string): { was: string[]; follow: string[] } & Record<string, string | string[]> => ({
  was: [...page.matchAll(/name="was" value="([^"]*)"/g)].map(([, value]) => value ?? ''),
  follow: [...page.matchAll(/name="follow" value="([^"]*)"\s+checked/g)].map(([, value]) => value ?? ''),
  ...Object.fromEntries(
    [...page.matchAll(/<select name="(frequency-[^"]*)".*?value="([^"]*)"\s+selected/gs)].map(
      ([, name = '', value = '']) => [name, value] as const,
    ),
  ),
})

describe('what one follows', () => {
  test('shows every app with its categories, how often, and how the last message fared', async () => {
    const page = await (await seeded({ role: 'viewer' })).read(PATH)
    expect(page).toMatch(/value="billing:Checks"\s+checked/)
    expect(page).not.toMatch(/value="billing:Maintenance"\s+checked/)
    const words = textOf(page)
    expect(words).toContain('Delivered 15 Nov 2026')
    expect(words).toContain('Retrying The receiver asked us to slow down. Next 15 Nov 2026, 12:14 UTC')
    expect(words).toContain('Not sent No chat account is linked.')
    expect(words).toContain('Daily messages are sent at 09:00 in Europe/Vienna')
    expect(words).toContain('the next one on 16 Nov 2026, 08:00 UTC')
  })

  test('saving replaces what was changed and leaves the rest alone', async () => {
    const { read, post, data, gateway } = await seeded()
    const form = formOf(await read(PATH))
    expect(form).toMatchObject({ 'frequency-checkout': 'hourly' })
    gateway.data.seen.length = 0
    await post(`${PATH}/follows`, {
      ...form,
      follow: [...form.follow.filter((one) => one !== 'billing:Checks'), 'intranet:Tickets'],
      'frequency-intranet': 'daily',
    })
    expect(gateway.data.seen.filter((name) => name === 'setFollow')).toHaveLength(2)
    expect(data.follows[0]).toMatchObject({ categories: ['Tickets'], frequency: 'immediately' })
    expect(data.follows[2]).toMatchObject({ categories: ['Tickets'], frequency: 'daily' })
    expect(data.follows[3]).toMatchObject({ categories: ['Maintenance'], frequency: 'daily' })
    expect(await read(PATH)).toContain('Following billing: tickets. Following intranet: tickets.')
  })

  test('nothing ticked is no longer following; nothing changed changes nothing', async () => {
    const { read, post, data, gateway } = await seeded()
    const form = formOf(await read(PATH))
    gateway.data.seen.length = 0
    await post(`${PATH}/follows`, form)
    expect(gateway.data.seen).not.toContain('setFollow')
    await post(`${PATH}/follows`, {
      ...form,
      follow: form.follow.filter((one) => !one.startsWith('billing:')),
    })
    expect(data.follows[0]?.categories).toEqual([])
    expect(await read(PATH)).toContain('You no longer follow billing.')
  })

  test('an app one may no longer follow is said, and nothing else is lost', async () => {
    const { read, post, data } = await seeded()
    const form = formOf(await read(PATH))
    data.follows.shift()
    await post(`${PATH}/follows`, { ...form, follow: [] })
    expect(await read(PATH)).toContain('Some changes were not saved: Not found.')
  })

  test('is filtered to what one follows, and empty says what to do', async () => {
    const { read, data } = await seeded({ role: 'viewer' })
    expect(await read(`${PATH}?following=true`)).not.toContain('Intranet')
    data.follows.length = 0
    expect(await read(`${PATH}?following=true`)).toContain('You are not following any apps')
    expect(await read(PATH)).toContain('Apps you are added to')
  })

  test('emails are switched off and on', async () => {
    const { read, post, data } = await seeded()
    const words = textOf(await read(PATH))
    expect(words).toContain(
      'Support staff started a support session in the organization, and 1 more org.support_access.* Immediately',
    )
    await post(`${PATH}/mails/${data.mine[0]?.id}`, { on: 'no' })
    await post(`${PATH}/mails/${data.mine[1]?.id}`, { on: 'yes' })
    expect(data.mine.map(({ enabled }) => enabled)).toEqual([false, true])
  })

  test('without an organization there is nothing to follow', async () => {
    const client = await signedIn()
    client.gateway.data.chosen = null
    expect((await client.get(PATH)).headers.get('location')).toBe('/console')
  })
})

describe('the chat account', () => {
  test('is linked by way of the chat service', async () => {
    const { post, get, read } = await seeded()
    const out = await (await post(`${PATH}/chat/link`)).text()
    expect(out).toContain('href="https://chat.example/openid/connect/authorize?state=s2"')
    const back = await get(`${PATH}/chat/callback?code=c&state=s2`)
    expect(back.headers.get('location')).toBe(PATH)
    const page = textOf(await read(PATH))
    expect(page).toContain('Messages are now sent to ada in Northwind.')
    expect(page).toContain('Linked ada in Northwind')
  })

  test.each([
    'You signed in to a different workspace',
    'This chat account is linked to another user already',
    'No chat workspace is connected',
  ])('%s: said in words, with a way to begin again', async (message) => {
    const { get, data } = await seeded()
    data.refusal = new ServiceError('CONFLICT', message)
    const response = await get(`${PATH}/chat/callback?code=c&state=s2`)
    expect(response.status).toBe(409)
    const page = await response.text()
    expect(page).toContain(message)
    expect(page).toContain(`href="${PATH}"`)
  })

  test('declined there, nothing is changed', async () => {
    const { read, gateway } = await seeded()
    expect(await read(`${PATH}/chat/callback?error=access_denied`)).toContain('Nothing was changed')
    expect(gateway.data.seen).not.toContain('completeChatLink')
  })

  test('is unlinked, and what is followed is kept', async () => {
    const { get, post, read, data } = await seeded()
    await get(`${PATH}/chat/callback?code=c&state=s2`)
    await post(`${PATH}/chat/unlink`)
    expect(data.chatLink.link).toBeNull()
    expect(await read(PATH)).toContain('Your notification settings are kept.')
  })

  test('inactive says so, and no workspace says who can connect one', async () => {
    const { read, data } = await seeded({ role: 'viewer' })
    const link = {
      workspace: 'Northwind',
      user_id: 'U1',
      display_name: 'ada',
      linked_at: '2026-11-01T00:00:00Z',
    }
    data.chatLink = { workspace_connected: true, link: { ...link, active: false } }
    expect(textOf(await read(PATH))).toContain('Inactive ada in Northwind')
    data.chatLink = { workspace_connected: false, link: null }
    expect(await read(PATH)).toContain('An owner or admin can connect one.')
  })
})
