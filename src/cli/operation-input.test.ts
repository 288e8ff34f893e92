/** What a command line sends, where its parts are filters, files, secrets or names. */
import { expect, test } from 'vitest'
import { svcWith } from '../../test/support/fake-api.ts'
import { findByName } from './find-by-name.ts'

const svc = (answers: Parameters<typeof svcWith>[0], argv: string[], stdin = '') =>
  svcWith(answers, argv, { cwd: import.meta.dirname, stdin })

test('filters are values, several of them, and ranges with one or two ends', async () => {
  const filters = ['topic=a', 'topic=b=c', 'year=2026', 'price<300', 'price>=1.5', 'since<=2026-03-01', 'n>0']
  const argv = ['datasource', 'query', 'db_x', 'How?', ...filters.flatMap((one) => ['--filter', one])]
  const { sent } = await svc({ queryDataSource: { results: [] } }, [...argv, '--top-k', '3'])
  expect(sent.queryDataSource!.body).toEqual({
    query: 'How?',
    top_k: 3,
    filters: {
      topic: ['a', 'b=c'],
      year: '2026',
      price: { lt: '300', gte: '1.5' },
      since: { lte: '2026-03-01' },
      n: { gt: '0' },
    },
  })
})

test.each([
  [['nonsense'], 'Invalid value for --filter: nonsense'],
  [['=a'], 'Invalid value for --filter: =a'],
  [['a<1', 'a<2'], '--filter has a< twice'],
  [['a<1', 'a=2'], '--filter has a value and a range of a'],
])('the filters %j are refused', async (filters, says) => {
  const argv = ['datasource', 'query', 'db_x', 'How?', ...filters.flatMap((one) => ['--filter', one])]
  const { exit, err, sent } = await svc({ queryDataSource: { results: [] } }, argv)
  expect([exit, err, sent]).toEqual([5, expect.stringContaining(says), {}])
})

const PROBE = { probeIdentityProvider: { metadata: { problem: null }, keys: { keys: [] }, assertion: null } }

test('a file is sent as it is, and one that is not there is named', async () => {
  const probe = (file: string, stdin = '') =>
    svc(PROBE, ['agents', 'provider', 'probe', '--assertion', file], stdin)
  expect((await probe('-', ' eyJ\n')).sent.probeIdentityProvider!.body).toEqual({ assertion: 'eyJ' })
  const missing = await probe('missing.jwt')
  expect([missing.exit, missing.err]).toEqual([5, expect.stringContaining('Cannot read missing.jwt')])
})

test('what is to be a JSON object is one', async () => {
  const machine = ['agents', 'machines', 'rotate-credential', 'mch_1', 'crd_1', '--public-key', '-']
  const rotate = (stdin: string) => svc({ rotateMachineAgentCredential: {} }, machine, stdin)
  const { sent } = await rotate('{"kty":"OKP"}')
  expect(sent.rotateMachineAgentCredential!.body).toMatchObject({ public_key: { kty: 'OKP' } })
  for (const text of ['[]', 'null', '"a"', '{']) {
    const { exit, err } = await rotate(text)
    expect([exit, err]).toEqual([5, expect.stringContaining('The public key is not a JSON object')])
  }
})

test('a secret comes from stdin; without it the error says how to pipe it in', async () => {
  const attach = (more: string[], stdin?: string) =>
    svc({ attachDatabase: {} }, ['db', 'attach', 'warehouse', ...more], stdin)
  const { sent } = await attach(['--url', '-'], 'postgres://a:b@c/d\n')
  expect(sent.attachDatabase!.body).toMatchObject({ url: 'postgres://a:b@c/d' })
  const { exit, err } = await attach([])
  expect([exit, err]).toEqual([5, expect.stringMatching(/Missing option --url[^]*--url - < file/)])
})

test('a name is looked up in the list; an id is taken as it is', async () => {
  const id = 'chk_0mwhkcyh5nlh1pqqssy5gj19q'
  const answers = { listChecks: { checks: [{ id, name: 'Health' }] }, listCheckRuns: { runs: [] } }
  const history = (check: string) => svc(answers, ['apps', 'checks', 'history', 'shop', check])
  const named = await history('Health')
  expect(named.sent.listCheckRuns!.url).toContain(`/checks/${id}/`)
  expect(Object.keys((await history(id)).sent)).toEqual(['listCheckRuns'])
  const unknown = await history('Other')
  expect([unknown.exit, unknown.err]).toEqual([4, expect.stringContaining('No check is named Other')])
})

test('a text that is too long is refused before anything is sent; spaces around it do not count', async () => {
  const create = (name: string) => svc({ createApp: {} }, ['apps', 'create', 'shop', '--name', name])
  const { exit, err, sent } = await create('a'.repeat(121))
  expect([exit, err, sent]).toEqual([5, expect.stringContaining('The value of --name is too long'), {}])
  expect(err).toContain('Must be at most 120 characters; it has 121')
  expect((await create(` ${'a'.repeat(120)} `)).sent.createApp!.body).toMatchObject({ alias: 'shop' })
})

test('a name may stand on a later page', async () => {
  const pages: Record<string, { rows: { name: string }[]; next_cursor?: string }> = {
    first: { rows: [{ name: 'a' }], next_cursor: 'second' },
    second: { rows: [{ name: 'b' }] },
  }
  const find = (name: string) => findByName('check', name, async (cursor = 'first') => pages[cursor]!)
  await expect(find('b')).resolves.toEqual({ name: 'b' })
  await expect(find('c')).rejects.toThrow('No check is named c')
})
