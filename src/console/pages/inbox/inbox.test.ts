import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'

const PATH = '/console/inbox'
const seeded = async () => {
  const client = await signedIn({ role: 'viewer' })
  seed(client.gateway)
  return { ...client, data: client.gateway.notifications.data }
}
const itemsOf = (page: string): string[] =>
  [...page.matchAll(/<li class="news-item.*?<\/li>/gs)].map(([item]) =>
    item
      .replaceAll('<wbr />', '')
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  )

describe('the inbox', () => {
  test('shows what is unread first, newest first, then what was read', async () => {
    const page = await (await seeded()).read(PATH)
    expect(itemsOf(page)).toEqual([
      'billing: a ticket was filed support.ticket.created · tickets/tkt_1 · 15 Nov 2026, 11:45 UTC Mark as read',
      'checkout: a deployment failed deploy.failed · deployments/dep_7 · 15 Nov 2026, 07:12 UTC Mark as read',
      'billing: a check passes again application.check.recovered · tickets/tkt_1 · 14 Nov 2026, 16:48 UTC Mark as read',
      'billing: a ticket has a reply support.ticket.replied · tickets/tkt_1 · 13 Nov 2026, 12:00 UTC',
    ])
    expect(page).toContain('Unread (3)')
  })

  test('is filtered by type and by state', async () => {
    const { read } = await seeded()
    expect(itemsOf(await read(`${PATH}?type=support.ticket.*`))).toHaveLength(2)
    expect(itemsOf(await read(`${PATH}?state=unread`))).toHaveLength(3)
    expect(itemsOf(await read(`${PATH}?state=read`))).toHaveLength(1)
    expect(itemsOf(await read(`${PATH}?state=unread&type=pipeline.*`))).toEqual([])
    const nonsense = await read(`${PATH}?type=%3Cb%3E`)
    expect(nonsense).toContain('not a valid event type, ignored')
    expect(itemsOf(nonsense)).toHaveLength(4)
  })

  test('one is marked read, or all that the page shows, and one comes back to the same list', async () => {
    const { post, data, read } = await seeded()
    const back = `${PATH}?state=unread`
    const response = await post(`${PATH}/read`, { id: data.inbox[0]!.id, back })
    expect(response.headers.get('location')).toBe(back)
    expect(data.inbox.map(({ read }) => read)).toEqual([true, false, false, true])
    await post(`${PATH}/read`, {
      id: data.inbox.slice(1, 3).map(({ id }) => id),
      back: 'https://evil.example',
    })
    expect(data.inbox.every(({ read }) => read)).toBe(true)
    const page = await read(PATH)
    expect(page).toContain('2 notifications marked as read.')
    expect(page).toContain('No unread notifications')
  })

  test('pages both lists on their own', async () => {
    const { gateway, read } = await seeded()
    for (let number = 0; number < 60; number += 1) {
      gateway.notifications.addInbox('deploy.failed', 3 + number, { read: true })
    }
    const page = await read(PATH)
    const next = /href="([^"]+)"[^>]*>Next page/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(next).toContain('read=')
    expect(itemsOf(await read(next))).toHaveLength(3 + 11)
  })

  test('an address that is no page is not a link', async () => {
    const { data, read } = await seeded()
    data.inbox[0]!.url = 'javascript:alert(1)'
    expect(await read(PATH)).not.toContain('javascript:')
  })
})

describe('the number in the header', () => {
  test('is on every page, and costs one call that no page waits for alone', async () => {
    const { read, gateway } = await seeded()
    gateway.data.seen.length = 0
    expect(await read('/console/members')).toContain('3<span class="unseen"> unread</span>')
    expect(gateway.data.seen.filter((name) => name === 'listNotifications')).toHaveLength(1)
  })

  test('is left out when there is none, when it cannot be had, and where no page is shown', async () => {
    const { read, post, data, gateway, deps } = await seeded()
    gateway.data.seen.length = 0
    await post('/console/profile', { name: 'Ada' })
    // One for the page that held the form.
    expect(gateway.data.seen.filter((name) => name === 'listNotifications')).toHaveLength(1)
    for (const one of data.inbox) one.read = true
    expect(await read('/console/members')).not.toContain(' unread</span>')
    const whole = deps.gateway
    deps.gateway = (request) =>
      request.url.includes('/inbox') ? Promise.reject(new Error('down')) : whole(request)
    expect(await read('/console/members')).toContain('People in')
  })

  test('more than two digits say so', async () => {
    const { gateway, read } = await seeded()
    for (let number = 0; number < 100; number += 1) gateway.notifications.addInbox('deploy.failed', 1)
    expect(await read('/console')).toContain('99+')
  })
})
