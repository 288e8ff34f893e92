import { describe, expect, test } from 'vitest'
import { signedIn } from '../../test/support/console-client.ts'
import { SEEDED_TICKET } from '../../test/support/fake-apps.ts'
import { seed } from '../../test/support/fake-gateway.ts'
import { SEEDED_MACHINE_AGENT } from '../../test/support/fake-machine-agents.ts'

const seeded = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const client = await signedIn(options)
  seed(client.gateway)
  return client
}

const text = (markup: string): string =>
  markup
    .replaceAll('<wbr />', '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
const within = (page: string, opening: string, tag: string): string => {
  const start = page.indexOf(opening)
  return start < 0 ? '' : page.slice(start, page.indexOf(`</${tag}>`, start))
}
const sideOf = (page: string): string => within(page, '<nav id="navigation"', 'nav')
const accountOf = (page: string): string => within(page, '<ul class="menu-list"', 'ul')
const crumbsOf = (page: string): string => text(within(page, '<nav class="crumbs"', 'nav'))
const tabsOf = (page: string): string => within(page, '<nav class="tabs"', 'nav')
const currentOf = (markup: string): string =>
  text(/<a [^>]*aria-current="page"[^>]*>.*?<\/a>/s.exec(markup)?.[0] ?? '')

describe('a page shows where it is', () => {
  test.each([
    ['/console', 'Overview', '', ''],
    ['/console/data-sources', 'Data sources', '', ''],
    ['/console/data-sources/db_handbook', 'Data sources', 'Data sources', 'Ask'],
    ['/console/data-sources/db_handbook/search', 'Data sources', 'Data sources', 'Search'],
    ['/console/apps/shop', 'Apps', 'Apps', 'Overview'],
    ['/console/apps/shop/people', 'Apps', 'Apps', 'People'],
    [`/console/apps/shop/tickets/${SEEDED_TICKET}`, 'Apps', 'Apps The shop Tickets', ''],
    ['/console/apps/shop/maintenance', 'Apps', 'Apps', 'Maintenance'],
    ['/console/proposals', 'Change queue', '', ''],
    ['/console/maintenance', 'Maintenance agent', 'Organization settings', ''],
    ['/console/inbox', 'Inbox', '', ''],
    ['/console/activity', 'Activity', 'MCP', 'Questions 133'],
    ['/console/agents', 'Connected agents', 'MCP', 'Agents'],
    ['/console/agents/clients', 'Connected agents', 'MCP', 'Clients'],
    ['/console/agents/machine', 'Connected agents', 'MCP', 'Machine agents'],
    ['/console/agents/machine/new', 'Connected agents', 'MCP Machine agents', ''],
    [`/console/agents/machine/${SEEDED_MACHINE_AGENT}`, 'Connected agents', 'MCP Machine agents', ''],
    ['/console/identity-provider', 'Identity provider', 'MCP', 'Provider'],
    ['/console/identity-provider/clients', 'Identity provider', 'MCP', 'Clients'],
    ['/console/identity-provider/clients/allow', 'Identity provider', 'MCP Clients', ''],
    ['/console/identity-provider/rules', 'Identity provider', 'MCP', 'Rules'],
    ['/console/identity-provider/rules/new', 'Identity provider', 'MCP Rules', ''],
    ['/console/identity-provider/people', 'Identity provider', 'MCP', 'People'],
    ['/console/identity-provider/refusals', 'Identity provider', 'MCP', 'Refusals'],
    ['/console/settings/tokens', 'API tokens', 'Settings', ''],
    ['/console/settings/tokens/new', 'API tokens', 'Settings API tokens', ''],
    ['/console/settings/organization', 'General', 'Organization settings', 'General'],
    ['/console/settings/security', 'General', 'Organization settings', 'Security'],
    ['/console/members', 'Members', 'Organization settings', ''],
    ['/console/integrations', 'Integrations', 'Organization settings', 'Integrations'],
    ['/console/integrations/new/webhook', 'Integrations', 'Organization settings Integrations', ''],
    ['/console/subscriptions', 'Integrations', 'Organization settings', 'Subscriptions'],
    ['/console/subscriptions/new', 'Integrations', 'Organization settings Subscriptions', ''],
    ['/console/deliveries', 'Deliveries', 'Organization settings', ''],
    ['/console/audit', 'Audit trail', 'Organization settings', ''],
  ])('%s', async (path, side, crumbs, tab) => {
    const page = await (await seeded()).read(path)
    expect(currentOf(sideOf(page))).toBe(side)
    expect(crumbsOf(page)).toBe(crumbs)
    expect(currentOf(tabsOf(page))).toBe(tab)
  })

  test.each([
    ['/console/profile', 'Profile'],
    ['/console/profile/notifications', 'Notifications'],
    ['/console/end-access', 'End access'],
  ])('%s, in the menu of the account', async (path, label) => {
    const page = await (await seeded()).read(path)
    expect(currentOf(sideOf(page))).toBe('')
    expect(currentOf(accountOf(page))).toBe(label)
    expect(currentOf(tabsOf(page))).toBe(label)
    expect(crumbsOf(page)).toBe('Profile settings')
  })
})

describe('the places of the contract', () => {
  test('Activity is under MCP, API tokens under Settings, Integrations under Organization settings', async () => {
    const side = text(sideOf(await (await seeded()).read('/console')))
    expect(side).toMatch(/ MCP Activity .* Settings API tokens Organization settings .* Integrations /)
  })

  test('the notifications card is on the integrations page, and leads to a new subscription', async () => {
    const page = await (await seeded()).read('/console/integrations')
    const card = within(page, '<h2 id="about-notifications"', 'section')
    expect(text(card)).toContain('application.check.* Operations desk Immediately On')
    expect(card).toContain('href="/console/subscriptions/new"')
  })

  test('a viewer is offered no place of admins', async () => {
    const client = await seeded({ role: 'viewer' })
    for (const path of ['/console', '/console/agents', '/console/search']) {
      const page = await client.read(path)
      expect(page).not.toMatch(
        /href="\/console\/(integrations|subscriptions|deliveries|audit|agents\/(clients|machine)|identity-provider[^"]*)"/,
      )
    }
  })
})

test('somebody without an organization has an account and no search', async () => {
  const client = await signedIn()
  client.gateway.data.organizations.length = 0
  client.gateway.data.chosen = null
  const page = await client.read('/console')
  expect(text(accountOf(page))).toBe('Profile End access')
  expect(page).not.toContain('id="palette"')
})
