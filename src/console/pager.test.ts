import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { signedIn } from '../../test/support/console-client.ts'
import { COUNT_MAX } from '../contracts/limits.ts'
import type { ConsoleEnv } from './context.ts'
import { pager } from './pager.ts'

const linkOf = (page: string, label: string): string =>
  new RegExp(`href="([^"]+)"[^>]*>${label}`).exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
const countOf = (page: string): string => /pager-count">([^<]*)/.exec(page)?.[1] ?? ''

async function membersOf(count: number) {
  const client = await signedIn()
  const own = client.gateway.data.members.length
  for (let number = own; number < count; number += 1)
    client.gateway.addMember(`Clone ${number}`, `c${number}@x.example`, 'viewer')
  return client
}

test('pages lead forward and back again, each with its rows of how many, and keep the filters', async () => {
  const { read } = await membersOf(130)
  const seen: { count: string; path: string }[] = []
  let path = '/console/members?search=clone'
  for (;;) {
    const page = await read(path)
    seen.push({ count: countOf(page), path })
    expect(path).toContain('search=clone')
    const next = linkOf(page, 'Next page')
    if (next === '') break
    path = next
  }
  const total = Number(/of (\d+)/.exec(seen[0]?.count ?? '')?.[1])
  expect(seen.map(({ count }) => count)).toEqual([
    `1–50 of ${total}`,
    `51–100 of ${total}`,
    `101–${total} of ${total}`,
  ])
  for (const { count } of seen.toReversed().slice(1)) {
    path = linkOf(await read(path), 'Previous page')
    expect(countOf(await read(path))).toBe(count)
  }
  expect(path).toBe('/console/members?search=clone')
})

test('a list of one page says how many there are, and has no links', async () => {
  const page = await (await membersOf(3)).read('/console/members')
  expect(countOf(page)).toBe('3 in total')
  expect(page).not.toMatch(/Next page|Previous page|First page/)
})

/** The pager of one request, without a page around it. */
async function pagerAt(path: string, next: string | undefined, total?: number): Promise<string> {
  const app = new Hono<ConsoleEnv>().get('*', async (c) =>
    c.html((await pager(c, 50, { next_cursor: next, total })) ?? ''),
  )
  return (await app.request(path)).text()
}

test('an address never grows without end; from further away the way back is the first page', async () => {
  let path = '/list'
  for (let number = 2; number < 200; number += 1) {
    path = linkOf(await pagerAt(path, `${number}`.padStart(90, 'c')), 'Next page')
    expect(path.length).toBeLessThan(2_500)
  }
  expect(countOf(await pagerAt(path, undefined))).toBe('9,901–9,950 of 9,950')
  let steps = 0
  for (let back = path; back !== ''; back = linkOf(await pagerAt(path, 'x'), 'Previous page')) {
    path = back
    steps += 1
    if (steps > 30) break
  }
  expect(steps).toBeGreaterThan(10)
  expect(linkOf(await pagerAt(path, 'x'), 'First page')).toBe('/list')
})

test.each(['-1', '0', '1e9', 'x', '99999999'])(
  'a page number of %s in the address is ignored',
  async (number) => {
    expect(countOf(await pagerAt(`/list?cursor=c&cursor_page=${number}`, 'n', 500))).toBe('51–100 of 500')
  },
)

test('nonsense in the way back is left out, and no link leaves the page', async () => {
  const page = await pagerAt('/list?cursor=c&cursor_page=4&cursor_back=//evil.example.ok."><x>', 'n')
  expect(page).not.toContain('<x>')
  for (const [, href] of page.matchAll(/href="([^"]*)"/g)) expect(href).toMatch(/^\/list(\?|$)/)
})

test('as many as are counted means so many or more', async () => {
  expect(countOf(await pagerAt('/list', 'n', COUNT_MAX))).toBe('1–50 of 10,000+')
})
