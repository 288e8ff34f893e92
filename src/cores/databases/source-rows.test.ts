import { expect, test } from 'vitest'
import { dataKeys } from '../../trust/data-key.ts'
import type { Login } from './managed-databases.ts'
import { openSource, sealContext, type SourceRow } from './source-rows.ts'

const keys = dataKeys('1'.repeat(64))
const PLACE = { orgId: 'org_1', id: 'ds_1' }

/** Whom a question to the source logs in as. */
async function loginOf(row: Partial<SourceRow>, own: { user: string; password: string } | undefined) {
  const asked: string[] = []
  const opened: (() => Promise<Login>)[] = []
  const sealed = keys.seal(
    sealContext(PLACE),
    row.kind === 'attached' ? '{"user":"theirs"}' : 'tenant password',
  )
  openSource(
    {
      dataKeys: keys,
      managed: {
        address: async () => ({ host: 'db.example', port: 5432, ssl: 'disable' }),
        async questionLogin(name) {
          asked.push(name)
          return own
        },
      },
      connections: {
        open(_key, _kind, _orgId, login) {
          opened.push(login)
          return { query: async () => [] }
        },
        release: async () => {},
      },
    },
    { ...PLACE, physicalName: null, ...row, sealed } as SourceRow,
  )
  return { login: await opened[0]!(), asked }
}

test('a question to a database on a server uses our own login, and the database of the tenant', async () => {
  const own = { user: 'tenant_q', password: 'ours' }
  const { login } = await loginOf({ kind: 'postgres', physicalName: 'tenant' }, own)
  expect(login).toMatchObject({ ...own, database: 'tenant', host: 'db.example' })
})

test('without one it uses that of the tenant, and for an attached database nobody is asked', async () => {
  const { login } = await loginOf({ kind: 'embedded', physicalName: 'tenant' }, undefined)
  expect(login).toMatchObject({ user: 'tenant', password: 'tenant password', database: 'tenant' })
  expect(await loginOf({ kind: 'attached' }, { user: 'x', password: 'y' })).toEqual({
    login: { user: 'theirs' },
    asked: [],
  })
})
