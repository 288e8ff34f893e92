import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'

const seeded = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const client = await signedIn(options)
  seed(client.gateway)
  return client
}
const mainOf = (page: string) => page.slice(page.indexOf('<main'))
const textOf = (page: string): string =>
  mainOf(page)
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
/** The text of the card with this heading. */
const cardOf = (page: string, title: string): string =>
  textOf(`<main>${page.split('<section').find((part) => part.includes(`>${title}</h2>`)) ?? ''}`)

describe('seven days', () => {
  test('of questions and calls are a chart, a table and numbers that lead to the rows', async () => {
    const client = await signedIn()
    const { sources, org } = client.gateway
    for (const days of [0.1, 0.2, 2, 6, 8]) sources.addActivity(org.id, days)
    sources.addActivity(org.id, 2, { type: 'function', name: 'whoami', outcome: 'refused' })
    const page = await client.read('/console')
    expect(page).toContain('Calls per day in the last seven days: 4 questions, 1 function call.')
    expect(page).toContain('<title>13 Nov: 1 questions, 1 function calls</title>')
    expect(cardOf(page, 'Questions and calls')).toContain('2026-11-13 1 1 1')
    expect(textOf(page)).toContain('Questions, 7 days 4 2 today')
    expect(textOf(page)).toContain('Function calls, 7 days 1 0 today')
    expect(cardOf(page, 'Questions and calls')).toContain('1 call refused')
    // Each leads to a list that has as many rows.
    for (const [href, count] of [
      ['/console/activity?from=2026-11-09', 4],
      ['/console/activity?type=function&from=2026-11-09', 1],
    ] as const) {
      expect(page).toContain(`href="${href.replace('&', '&amp;')}"`)
      const current = /aria-current="page".*?<\/a>/gs
      const tabs = /<nav class="tabs".*?<\/nav>/s.exec(await client.read(href))?.[0] ?? ''
      expect(textOf(`<main>${tabs.match(current)?.at(-1) ?? ''}`)).toContain(` ${count} `)
    }
  })

  test('are their own for everybody but admins', async () => {
    const client = await seeded({ role: 'viewer' })
    const page = await client.read('/console')
    expect(textOf(page)).toContain('Your questions, 7 days')
    expect(cardOf(page, 'Recent agents')).not.toContain('Desk assistant')
    expect(textOf(page)).not.toContain('Integrations')
    expect(textOf(page)).toContain('Your function calls, 7 days')
    expect(client.gateway.data.seen).not.toContain('listIntegrationHealth')
  })

  test('without a call say what to do', async () => {
    const page = await (await signedIn()).read('/console')
    expect(page).toContain('No calls in the last seven days')
    expect(page).not.toContain('role="img"')
  })
})

describe('recent agents', () => {
  test('the last one first, with its user, its calls and its refusals; each leads to its page', async () => {
    const client = await seeded()
    const [grant, , other] = client.gateway.data.grants
    const page = await client.read('/console')
    const card = cardOf(page, 'Recent agents')
    expect(card).toMatch(/assistant\.example \(“Assistant”\) Ada Lovelace .*“Desk assistant” Grace Hopper/)
    for (const one of [grant, other]) expect(page).toContain(`href="/console/agents/${one!.id}"`)
    expect(page).toContain('aria-label="3 calls in seven days"')
  })

  test('some that called have ended since, and none of them is counted as connected', async () => {
    const client = await seeded()
    client.gateway.data.grants.length = 0
    const page = await client.read('/console')
    expect(textOf(page)).toContain('Connected agents 0 2 called in 7 days')
    expect(cardOf(page, 'Recent agents')).toContain('Connected agents : none any more')
  })

  test('a name that is markup is shown as the text it is', async () => {
    const client = await seeded()
    client.gateway.sources.addActivity(client.gateway.org.id, 0, {
      source: 'mcp',
      grant_id: client.gateway.data.grants[0]!.id,
      client_id: 'dyn_1',
      client_name: '</bdi><script>alert(1)</script>',
    })
    const page = await client.read('/console')
    expect(page).not.toContain('<script>alert')
    expect(page).toContain('&lt;script&gt;alert(1)')
  })
})

const WORKING = { state: 'active', failing_since: null, last_success_at: '2026-11-15T09:00:00.000Z' }

describe('what needs the reader', () => {
  test('failing integrations with since when, and what else waits', async () => {
    const client = await seeded()
    const { integrations } = client.gateway.notifications.data
    const [failing, dead, off] = integrations
    client.gateway.notifications.data.deliveries.length = 0
    for (const one of integrations) Object.assign(one, WORKING)
    Object.assign(failing!, { name: 'Ops channel', failing_since: '2026-11-14T08:00:00.000Z' })
    Object.assign(dead!, { name: 'Archive', state: 'dead' })
    Object.assign(off!, { name: 'Old forum', state: 'off' })
    const page = await client.read('/console')
    const card = cardOf(page, 'Needs your attention')
    expect(card).toContain('Ops channel is failing Messages have failed since 14 Nov 2026, 08:00 UTC')
    expect(card).toContain('Archive is failing It failed for days')
    expect(card).not.toContain('Old forum')
    expect(card).toContain('3 unread notifications')
    expect(card).toContain('Verify your email address')
    expect(page).toContain(`href="/console/integrations/${dead!.id}"`)
    expect(textOf(page)).toContain(`Integrations ${integrations.length} 2 failing`)
  })

  test('one definition of failing, as on the deliveries page: never worked, and nothing arrives any more', async () => {
    const client = await signedIn()
    const { data, ...make } = client.gateway.notifications
    make.addIntegration('webhook', 'New hook', { last_success_at: null })
    make.addIntegration('webhook', 'Slow hook')
    make.addIntegration('email', 'desk@example.com', { state: 'unverified' })
    make.addIntegration('webhook', 'Unused', { last_success_at: null })
    for (const destination of ['New hook', 'Slow hook']) {
      make.addDelivery('deploy.failed', 0.2, {
        destination,
        state: 'retrying',
        reason: 'rate_limited',
        http_status: 429,
      })
    }
    const page = await client.read('/console')
    const card = cardOf(page, 'Needs your attention')
    expect(card).toContain('New hook never worked Nothing arrived in the last 24 hours: HTTP 429.')
    expect(card).toContain('Slow hook is failing Nothing arrived in the last 24 hours: HTTP 429.')
    expect(card).toContain('desk@example.com is not confirmed')
    expect(textOf(page)).toContain('Integrations 4 2 failing')
    const deliveries = textOf(await client.read('/console/deliveries'))
    expect(deliveries).toContain('Working integrations 0 of 3 2 failing (1 never worked), 1 not confirmed')
    expect(deliveries).toMatch(/Slow hook Failing 0 arrived 1 not/)
    expect(data.integrations).toHaveLength(4)
  })

  test('many of them are three and a number', async () => {
    const client = await seeded()
    const { integrations } = client.gateway.notifications.data
    for (const one of integrations) Object.assign(one, { state: 'gone' })
    expect(cardOf(await client.read('/console'), 'Needs your attention')).toContain(
      `${integrations.length - 3} more integrations failing`,
    )
  })

  test('a data source with a problem, told to those who may mend it', async () => {
    for (const [role, isTold] of [
      ['developer', true],
      ['viewer', false],
    ] as const) {
      const client = await seeded({ role })
      const source = client.gateway.sources.data.sources.find(({ source_id }) => source_id === 'db_handbook')
      source!.health.problems = [{ kind: 'missing_index', text: 'The vectors have no index.' }]
      expect((await client.read('/console')).includes('The vectors have no index.')).toBe(isTold)
    }
  })

  test('many troubled data sources are three and a number', async () => {
    const client = await seeded()
    const { sources } = client.gateway.sources.data
    for (const source of sources) {
      Object.assign(source, { enabled: true })
      source.health.problems = [{ kind: 'missing_index', text: 'The vectors have no index.' }]
    }
    for (let at = sources.length; at < 5; at++) {
      const one = client.gateway.sources.add(client.gateway.org.id, `more_${at}`, { enabled: true })
      one.health.problems = [{ kind: 'missing_index', text: 'The vectors have no index.' }]
    }
    const card = cardOf(await client.read('/console'), 'Needs your attention')
    expect(card).toMatch(/\d+ more data sources? with problems/)
  })

  test('nothing is said to be nothing', async () => {
    const client = await signedIn()
    client.gateway.data.profile.email_verified = true
    expect(cardOf(await client.read('/console'), 'Needs your attention')).toContain('Nothing right now.')
  })
})

describe('the question', () => {
  test('goes to every data source; the one that the sample answers is filled in', async () => {
    const client = await seeded()
    const page = await client.read('/console')
    expect(page).toContain('action="/console/data-sources/search#answer"')
    expect(page).not.toContain('work from Spain')
    client.gateway.sources.add(client.gateway.org.id, 'sample', { enabled: true, exposed: true })
    expect(await client.read('/console')).toContain('value="May I work from Spain for a month?"')
  })

  test('is not offered to whoever can ask nothing', async () => {
    expect(await (await signedIn()).read('/console')).not.toContain('Ask your data')
  })
})

describe('first steps', () => {
  test('are what is missing, and gone with it', async () => {
    const client = await signedIn()
    const before = await client.read('/console')
    for (const step of ['Expose a data source', 'Connect an assistant', 'Invite your team']) {
      expect(cardOf(before, 'Get started')).toContain(step)
    }
    seed(client.gateway)
    expect(await client.read('/console')).not.toContain('>Get started</h2>')
  })

  test('nobody is told to do what they may not', async () => {
    const page = await (await signedIn({ role: 'viewer' })).read('/console')
    expect(cardOf(page, 'Get started')).toContain('Connect an assistant')
    expect(cardOf(page, 'Get started')).not.toContain('Invite')
    expect(cardOf(page, 'Get started')).not.toContain('Expose')
  })
})
