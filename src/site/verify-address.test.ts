import { expect, test } from 'vitest'
import { ServiceError } from '../contracts/errors.ts'
import { verifyAddressPages } from './verify-address.ts'

const AT = 'https://svc.test/verify-address/n1.token'

/** A site over a gateway with one address, which records what it is asked. */
function siteWith({ known = true, down = false } = {}) {
  const asked: string[] = []
  const state = { verified: false }
  const site = verifyAddressPages({
    async gateway(request) {
      if (down) throw new ServiceError('TIMEOUT')
      asked.push(request.method)
      if (request.method === 'POST') {
        if (!known)
          return Response.json({ error: { code: 'NOT_FOUND', message: 'Not found' } }, { status: 404 })
        state.verified = true
        return new Response(null, { status: 204 })
      }
      const { verified } = state
      return Response.json({
        organization: known ? 'Acme & <Söhne>' : null,
        address: known ? 'o…@acme.test' : null,
        verified,
      })
    },
  })
  return { site, state, asked }
}

const confirming = (fields: Record<string, string> = { confirm: '1' }) => ({
  method: 'POST',
  body: new URLSearchParams(fields),
})

/** Scanners of mail open every link, and some send the forms that they find without a field. */
test('opening the link confirms nothing; its button does, once', async () => {
  const { site, state, asked } = siteWith()
  const page = await (await site.request(AT)).text()
  expect(page).toContain('<strong>Acme &amp; &lt;Söhne&gt;</strong> wants to send its notifications')
  expect(page).toContain('<code>o…@acme.test</code>')
  expect(page).toContain('Confirm address')
  expect(await (await site.request(AT, confirming({}))).text()).toContain('Confirm address')
  expect([state.verified, asked]).toEqual([false, ['GET', 'GET']])
  const done = await site.request(AT, confirming())
  expect([done.status, state.verified]).toEqual([200, true])
  const again = await (await site.request(AT)).text()
  expect(again).not.toContain('<form')
  expect(again).toContain('notice-done')
  expect(await done.text()).toContain('notice-done')
})

test('a link that is unknown has no button, and a service that is down no success', async () => {
  const unknown = siteWith({ known: false }).site
  for (const asked of [undefined, confirming()]) {
    const page = await (await unknown.request(AT, asked)).text()
    expect(page).not.toMatch(/<form|notice-done/)
    expect(page).toContain('notice-info')
  }
  const down = await siteWith({ down: true }).site.request(AT, confirming())
  expect(down.status).toBeGreaterThanOrEqual(500)
  expect((await siteWith().site.request(AT, confirming({ confirm: '1', x: 'x'.repeat(2_000) }))).status).toBe(
    413,
  )
})
