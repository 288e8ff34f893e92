import { expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'

const PATH = '/console/settings/tokens/new'

/** What a browser would send of the form as it is shown. */
function shownFields(page: string): Record<string, string[]> {
  const fields: Record<string, string[]> = {}
  for (const [input] of page.matchAll(/<input type="(?:radio|checkbox)"[^>]*checked[^>]*>/g)) {
    const [name, value] = [/name="([^"]*)"/, /value="([^"]*)"/].map((one) => one.exec(input)?.[1] ?? '')
    ;(fields[name!] ??= []).push(value!)
  }
  for (const [, name, options] of page.matchAll(/<select[^>]*name="([^"]*)".*?>(.*?)<\/select>/gs)) {
    fields[name!] = [/<option value="([^"]*)" selected/.exec(options!)?.[1] ?? '']
  }
  return fields
}

test.each(['owner', 'viewer'] as const)(
  'whoever changes nothing gets the least, also as %s',
  async (role) => {
    const { read, post, gateway } = await signedIn({ role })
    seed(gateway)
    const fields = shownFields(await read(PATH))
    expect(fields).toEqual({
      access: ['scopes'],
      scopes: ['data:read'],
      audiences: ['api'],
      role_cap: ['viewer'],
      ends: ['30'],
    })
    const response = await post(PATH, { name: 'Something new', ...fields })
    expect(response.status).toBe(201)
    expect(gateway.data.tokens.find(({ name }) => name === 'Something new')).toMatchObject({
      role_cap: 'viewer',
      scopes: ['data:read'],
      audiences: ['api'],
      expires_at: expect.stringMatching(/^2026-12-15/),
    })
  },
)

test('what a form leaves out, or says wrongly, is the least, too', async () => {
  const { post, gateway } = await signedIn()
  const made = async (fields: Record<string, string>) => {
    await post(PATH, { name: 'Sent by hand', scopes: 'data:read', audiences: 'api', ...fields })
    return gateway.data.tokens.find(({ name }) => name === 'Sent by hand')
  }
  const least = { scopes: ['data:read'], expires_at: expect.stringMatching(/^2026-12-15/) }
  expect(await made({})).toMatchObject(least)
  gateway.data.tokens.length = 0
  expect(await made({ access: 'everything', ends: '9999' })).toMatchObject(least)
  gateway.data.tokens.length = 0
  expect(await made({ access: 'role', ends: '' })).toMatchObject({ scopes: null, expires_at: null })
})

test('whoever comes for an MCP endpoint finds its audience chosen', async () => {
  const { read } = await signedIn()
  expect(shownFields(await read(`${PATH}?audience=platform`))['audiences']).toEqual(['platform'])
  expect(shownFields(await read(`${PATH}?audience=nonsense`))['audiences']).toEqual(['api'])
})
