/** `svc agents on` and `svc agents off` are about the organization of the login. */
import { expect, test } from 'vitest'
import { svcWith } from '../../../test/support/fake-api.ts'

const NORTHWIND = { id: 'org_1', name: 'Northwind', slug: 'northwind' }
const agents = (word: string, organization: object | null, ...more: string[]) =>
  svcWith(
    {
      whoAmI: { organization },
      updateOrganization: { name: 'Northwind', agents_enabled: word === 'on' },
    },
    ['agents', word, ...more],
    { cwd: '/' },
  )

test.each([
  ['on', true],
  ['off', false],
])('agents %s switches them in the organization of the login', async (word, enabled) => {
  const { exit, out, sent } = await agents(word, NORTHWIND, ...(enabled ? [] : ['--yes']))
  expect([exit, out]).toEqual([
    0,
    expect.stringMatching(new RegExp(`organization: +Northwind\\nassistants: +${word}\\n`)),
  ])
  expect(sent.updateOrganization).toEqual({ url: '/api/v1/orgs/org_1', body: { agents_enabled: enabled } })
})

test('nothing is asked of the server before it is confirmed', async () => {
  const { exit, err, sent } = await agents('off', NORTHWIND)
  expect([exit, sent]).toEqual([5, {}])
  expect(err).toContain('This turns off access for all assistants until you run `svc agents on`.')
})

test('whoever is in no organization is told whom to ask', async () => {
  const { exit, err, sent } = await agents('on', null)
  expect([exit, Object.keys(sent)]).toEqual([5, ['whoAmI']])
  expect(err).toContain('You are not a member of an organization')
  expect(err).toContain('Ask an owner to invite you')
})
