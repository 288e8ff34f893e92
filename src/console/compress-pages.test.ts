import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { openConsole, signedIn } from '../../test/support/console-client.ts'
import { encodingFor } from '../pages/compress.ts'

const BROWSER = { 'accept-encoding': 'gzip, deflate, br, zstd' }

test.each(['same-origin', 'none'])(
  'a page is compressed for whoever came by themselves (%s)',
  async (site) => {
    const { send, read } = await signedIn()
    const response = await send('/console/profile', { headers: { ...BROWSER, 'sec-fetch-site': site } })
    expect(response.headers.get('content-encoding')).toBe('br')
    expect(response.headers.get('content-type')).toContain('text/html')
    const packed = Buffer.from(await response.arrayBuffer())
    const page = brotliDecompressSync(packed).toString()
    expect(page).toContain('Ada Lovelace')
    expect(packed.length * 2).toBeLessThan((await read('/console/profile')).length)
  },
)

/** BREACH: what another site made the browser ask for repeats its text, and the length would tell what stands beside it. */
test.each(['cross-site', 'same-site', undefined])(
  'never where another site may have asked (%s)',
  async (site) => {
    const { send } = await signedIn()
    const headers = { ...BROWSER, ...(site && { 'sec-fetch-site': site }) }
    const response = await send('/console/members?search=guess', { headers })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-encoding')).toBeNull()
  },
)

test('nor the answer to a form, which may show a new secret', async () => {
  const { post } = await signedIn()
  const response = await post(
    '/console/settings/tokens/new',
    { name: 'Laptop', role: 'viewer', access: 'role', expires: 'never' },
    { ...BROWSER, 'sec-fetch-site': 'same-origin' },
  )
  expect(response.headers.get('content-type')).toContain('text/html')
  expect(response.headers.get('content-encoding')).toBeNull()
})

test('style and script are compressed for everybody, and cached for ever under the hash of what they say', async () => {
  const client = openConsole()
  const page = await client.read('/console/signed-out')
  for (const path of [/href="([^"]+\.css)"/, /src="([^"]+\.js)"/].map((kind) => kind.exec(page)?.[1] ?? '')) {
    expect(path).toMatch(/\.[\w-]{12}\.(css|js)$/)
    const plain = await client.get(path)
    const [br, gzip] = await Promise.all(
      ['br', 'gzip'].map((encoding) => client.send(path, { headers: { 'accept-encoding': encoding } })),
    )
    for (const response of [plain, br, gzip]) {
      expect(response?.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(response?.headers.get('vary')).toContain('accept-encoding')
    }
    const text = await plain.text()
    expect(brotliDecompressSync(Buffer.from(await br!.arrayBuffer())).toString()).toBe(text)
    expect(gunzipSync(Buffer.from(await gzip!.arrayBuffer())).toString()).toBe(text)
    expect((await client.get(path.replace(/\.[\w-]{12}\./, '.AAAAAAAAAAAA.'))).status).not.toBe(200)
  }
})

test.each([
  ['gzip, br', 'br'],
  ['gzip', 'gzip'],
  ['br;q=0, gzip;q=0.5', 'gzip'],
  ['identity', undefined],
  ['', undefined],
  [undefined, undefined],
])('of %s it takes %s', (accepted, taken) => {
  expect(encodingFor(accepted)).toBe(taken)
})
