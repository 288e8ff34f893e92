import { expect, test } from 'vitest'
import { checkAttached } from './check-attached.ts'

type Says = { version?: string; vector?: string | null; identifier?: string | Error }

const server =
  ({ version = '150019', vector = '0.8.6', identifier = '7001' }: Says) =>
  async <Row extends object>(text: string): Promise<readonly Row[]> => {
    if (!text.includes('pg_control_system')) return [{ version, vector } as Row]
    if (identifier instanceof Error) throw identifier
    return [{ id: identifier } as Row]
  }
const failing = (code: string) => Object.assign(new Error('no'), { code })

test.each([
  ['a fit one', {}, []],
  ['an old server', { version: '140011' }, ['Postgres 15']],
  ['a server without a version', { version: 'x' }, ['Postgres 15']],
  ['no pgvector', { vector: null }, ['CREATE EXTENSION']],
  ['an old pgvector', { vector: '0.7.4' }, ['pgvector 0.8 or newer']],
  ['our own', { identifier: '42' }, ['the service itself']],
  ['everything', { version: '1', vector: '0.1', identifier: '42' }, ['Postgres', 'pgvector', 'itself']],
  ['one that hides its identifier', { identifier: failing('42501') }, []],
  ['one that has none', { identifier: failing('42883') }, []],
] as [string, Says, string[]][])('%s gets its sentences', async (_what, says, sentences) => {
  const problems = await checkAttached(server(says), { systemIdentifier: '42' })
  expect(problems).toEqual(sentences.map((part) => expect.stringContaining(part)))
})

test('a connection that breaks during the question is not an answer to it', async () => {
  const query = server({ identifier: failing('ECONNRESET') })
  await expect(checkAttached(query, { systemIdentifier: '42' })).rejects.toThrow('no')
})
