import { html } from 'hono/html'
import { expect, test } from 'vitest'
import { pageBytes } from './page-bytes.ts'

const sent = async (page: Parameters<typeof pageBytes>[0]) => new TextDecoder().decode(await pageBytes(page))

test('every script arrives as it was written', async () => {
  const words = 'plain, naïve, “quoted” → 東京 Ω עברית 👩🏽‍💻 \0 \u{10FFFF}'
  expect(await sent(html`<p>${words}</p>`)).toBe(`<p>${words}</p>`)
})

test('half of a letter becomes the sign for one that is missing, and the page is sent', async () => {
  expect(await sent(html`<p>${'a\uD83Db'}</p>`)).toBe('<p>a\uFFFDb</p>')
})

test('what comes later is waited for', async () => {
  expect(await sent(html`<p>${Promise.resolve('later')}</p>`)).toBe('<p>later</p>')
})

test('nothing is nothing', async () => {
  expect(await sent(html``)).toBe('')
})
