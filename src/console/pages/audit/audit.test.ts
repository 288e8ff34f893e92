import { describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'

const PATH = '/console/audit'
const seeded = async (options: Parameters<typeof signedIn>[0] = {}) => {
  const client = await signedIn(options)
  seed(client.gateway)
  return client
}
const rowsOf = (page: string): number => (page.match(/<tr role="row">/g) ?? []).length - 1

describe('the search', () => {
  test('finds by name, action and subject, and says when there is nothing', async () => {
    const { read } = await seeded()
    const all = rowsOf(await read(PATH))
    const found = await read(`${PATH}?search=API+token`)
    expect(rowsOf(found)).toBeGreaterThan(0)
    expect(rowsOf(found)).toBeLessThan(all)
    expect(found).toContain('value="API token"')
    expect(await read(`${PATH}?search=nobody-did-this`)).toContain('No entries found')
    // As text.
    expect(await read(`${PATH}?search=%3Cimg%3E`)).not.toContain('<img>')
  })
})

describe('the export', () => {
  test('has what the filters leave, and the page links it with them', async () => {
    const { read, get } = await seeded()
    const page = await read(`${PATH}?search=API+token&cursor_page=3`)
    expect(page).toContain('href="/console/audit.csv?search=API+token"')
    expect(page).toContain('href="/console/audit.ndjson?search=API+token"')
    const response = await get(`${PATH}.csv?search=API+token`)
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="audit-2026-11-15.csv"')
    expect(response.headers.get('cache-control')).toBe('no-store')
    const [head, ...lines] = (await response.text()).trim().split('\r\n')
    expect(head).toBe(
      '"at","id","action","actor_kind","actor_id","actor_name","subject","request_id","support_session_id"',
    )
    expect(lines).toHaveLength(rowsOf(page))
  })

  test('as NDJSON is one object a line', async () => {
    const { get, gateway } = await seeded()
    const response = await get(`${PATH}.ndjson`)
    expect(response.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
    const lines = (await response.text()).trim().split('\n')
    expect(lines).toHaveLength(gateway.data.audit.length)
    expect(JSON.parse(lines[0]!)).toMatchObject({ id: gateway.data.audit[0]!.id, action: expect.any(String) })
  })

  test('goes on page by page, of one organization, and no further than it is taken', async () => {
    const { get, gateway } = await seeded()
    const [one] = gateway.data.audit
    const many = Array.from({ length: 950 }, () => ({ ...one!, id: gateway.id('aud') }))
    gateway.data.audit.splice(0, gateway.data.audit.length, ...many)
    const text = await (await get(`${PATH}.ndjson`)).text()
    expect(new Set(text.trim().split('\n')).size).toBe(950)
    const before = gateway.data.seen.length
    const response = await get(`${PATH}.csv`)
    await response.body?.cancel()
    expect(gateway.data.seen.slice(before).filter((name) => name === 'listAudit').length).toBeLessThan(4)
  })

  test('a hostile name is text in a spreadsheet', async () => {
    const { get, gateway } = await seeded()
    Object.assign(gateway.data.audit[0]!, { subject: '=HYPERLINK("http://evil.example")' })
    gateway.data.audit[0]!.actor.name = '@SUM(A1)'
    const text = await (await get(`${PATH}.csv`)).text()
    expect(text).toContain(`"'@SUM(A1)","'=HYPERLINK(""http://evil.example"")"`)
  })

  test.each(['csv', 'ndjson'])('as %s is for owners and admins', async (format) => {
    const { get } = await seeded({ role: 'developer' })
    const response = await get(`${PATH}.${format}`)
    expect(response.status).toBe(403)
    expect(response.headers.get('content-disposition')).toBeNull()
  })
})
