/** The link of every event leads to a page that is there. */
import { expect, test } from 'vitest'
import { createConsole } from './app.ts'
import { EVENT_TYPES, EVENTS } from '../contracts/events.ts'

const url = new URL('http://localhost:4000')
const { routes } = createConsole({
  gateway: () => Promise.reject(new Error('not asked')),
  appUrl: url,
  mcpUrl: url,
  signInUrl: url,
  deliveryDays: 90,
  clock: () => new Date('2026-11-15T12:00:00Z'),
  version: '0.0.0',
})

/** Those that answer every path are left out. */
const pages = routes
  .filter(({ method, path }) => method === 'GET' && !path.includes('*'))
  .map(({ path }) => new RegExp(`^${path.replaceAll(/:\w+(?:\{[^/]+\})?/g, '[^/]+')}$`))

test.each(EVENT_TYPES)('%s', (type) => {
  const [path = ''] = EVENTS[type].page.replaceAll(/\{(\w+)\}/g, '$1').split('?')
  expect(
    pages.some((page) => page.test(`/console/${path}`)),
    path,
  ).toBe(true)
})

test('the pages were found', () => expect(pages.length).toBeGreaterThan(30))
