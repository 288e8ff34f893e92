import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { COUNT_MAX } from '../contracts/limits.ts'
import type { ConsoleEnv } from './context.ts'
import { pager } from './pager.ts'

const linkOf = (page: string, label: string): string =>
  new RegExp(`href="([^"]+)"[^>]*>${label}`).exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
const countOf = (page: string): string => /pager-count">([^<]*)/.exec(page)?.[1] ?? ''

/** The pager of one request, without a page around it. */
async function pagerAt(
  path: string,
  next: string | undefined,
  total?: number,
  age?: number,
): Promise<string> {
  const app = new Hono<ConsoleEnv>().get('*', async (c) =>
    c.html((await pager(c, 50, { next_cursor: next, total, age_seconds: age })) ?? ''),
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

test('what was read from a standby says how old it is', async () => {
  expect(countOf(await pagerAt('/list', 'n', 500, 3))).toBe('1–50 of 500, up to 3 seconds old')
  expect(countOf(await pagerAt('/list', undefined, undefined, 1))).toBe('50 in total, up to 1 second old')
})
