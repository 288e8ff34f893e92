import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'
import { SEEDED_TICKET } from '../../../../test/support/fake-apps.ts'

const seeded = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const client = await signedIn(options)
  seed(client.gateway)
  return client
}
const found = (page: string): string[] =>
  [...page.matchAll(/class="found-item"[^>]* href="([^"]+)"/g)].map(
    ([, href]) => href?.replaceAll('&amp;', '&') ?? '',
  )

describe('the search page', () => {
  test('finds pages, data sources, apps, tickets and agents, and leads to each', async () => {
    const { read } = await seeded()
    const at = async (q: string) => found(await read(`/console/search?${new URLSearchParams({ q })}`))
    expect(await at('audit')).toContain('/console/audit')
    expect(await at('handbook')).toContain('/console/data-sources/db_handbook')
    expect(await at('shop')).toContain('/console/apps/shop')
    expect(await at('basket')).toContain(`/console/apps/shop/tickets/${SEEDED_TICKET}`)
    expect(await at(SEEDED_TICKET)).toEqual([`/console/apps/shop/tickets/${SEEDED_TICKET}`])
    expect((await at('assistant.example')).some((href) => href.startsWith('/console/agents/grt_'))).toBe(true)
  })

  test('finds a delivery and an integration by their ids', async () => {
    const { read, gateway } = await seeded()
    const { deliveries, integrations } = gateway.notifications.data
    const [delivery, integration] = [deliveries[0]!.id, integrations[0]!.id]
    expect(found(await read(`/console/search?q=${delivery}`))).toEqual([`/console/deliveries/${delivery}`])
    expect(found(await read(`/console/search?q=${integration}`))).toEqual([
      `/console/integrations/${integration}`,
    ])
  })

  test('an id that is unknown, or of something hidden, is simply not found', async () => {
    const { read } = await seeded()
    const unknown = await read('/console/search?q=dlv_0000000000000000000000000')
    expect(unknown).toContain('Nothing found')
  })

  test('a viewer finds what a viewer may ask, and no place of admins', async () => {
    const { read, gateway } = await seeded({ role: 'viewer' })
    expect(found(await read('/console/search?q=audit'))).toEqual([])
    await read('/console/search?q=handbook')
    expect(gateway.data.seen).toContain('listAskableDataSources')
    expect(gateway.data.seen).not.toContain('listDataSources')
    // Somebody else's.
    expect(found(await read('/console/search?q=desk'))).toEqual([])
  })

  test('what is typed is text, however long, and is sent on no further than it may be', async () => {
    const { read, get } = await seeded()
    expect(await read(`/console/search?q=${encodeURIComponent('"><script>')}`)).not.toContain('"><script>')
    expect((await get(`/console/search?q=${'x'.repeat(5_000)}`)).status).toBe(200)
    expect((await get(`/console/search?q=${encodeURIComponent('💥%_\\')}`)).status).toBe(200)
  })
})

test('for the dialog it is a list of options and nothing else', async () => {
  const { read } = await seeded()
  const options = await read('/console/search?part=options&q=shop')
  expect(options).not.toContain('<html')
  expect(options).toContain('role="option"')
  const ids = [...options.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(await read('/console/search?part=options&q=nothing-is-called-this')).toContain('Nothing found.')
})
