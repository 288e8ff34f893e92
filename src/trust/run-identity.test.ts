import { expect, test } from 'vitest'
import { makeId } from '../contracts/ids.ts'
import { hs256 } from './hs256.ts'
import { runIdentities } from './run-identity.ts'

const NOW = new Date('2026-03-02T10:00:00Z')
const after = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)
const key = new Uint8Array(32).fill(7)
const run = {
  orgId: makeId('org', NOW.getTime()),
  appId: makeId('app', NOW.getTime()),
  executionId: makeId('exec', NOW.getTime()),
  fence: 3,
  baseRevisionId: makeId('rev', NOW.getTime()),
  model: 'sonnet',
  startedAt: new Date('2026-03-02T09:59:00.123Z'),
}

test('says which run it is, until its lease ends and not longer', async () => {
  const identities = runIdentities(key)
  const token = await identities.sign(run, NOW, 60)
  expect(await identities.verify(token, after(59))).toEqual(run)
  expect(await identities.verify(token, after(60))).toBeUndefined()
})

test('of another key, another kind, or without a fence it is nobody’s', async () => {
  const identities = runIdentities(key)
  const other = await runIdentities(new Uint8Array(32).fill(8)).sign(run, NOW, 60)
  expect(await identities.verify(other, NOW)).toBeUndefined()
  const kind = { typ: 'svc-run+jwt', issuer: 'svc-deploy-api', audience: 'svc-maintenance-tools' }
  const claims = {
    sub: `run:${run.executionId}`,
    org: run.orgId,
    app: run.appId,
    revision: run.baseRevisionId,
    model: run.model,
    started: run.startedAt.getTime(),
  }
  const signed = (as: typeof kind, more: object) =>
    hs256(key, as).sign({ ...claims, ...more }, NOW, after(60))
  expect(await identities.verify(await signed(kind, { fence: 3 }), NOW)).toEqual(run)
  expect(await identities.verify(await signed(kind, {}), NOW)).toBeUndefined()
  expect(await identities.verify(await signed(kind, { fence: 0 }), NOW)).toBeUndefined()
  expect(
    await identities.verify(await signed({ ...kind, typ: 'svc-user+jwt' }, { fence: 3 }), NOW),
  ).toBeUndefined()
  expect(
    await identities.verify(await signed({ ...kind, audience: 'svc' }, { fence: 3 }), NOW),
  ).toBeUndefined()
  expect(await identities.verify('', NOW)).toBeUndefined()
})
