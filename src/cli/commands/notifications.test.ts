/** What `svc notifications show`, `recover` and `svc agents revoke` take from their contracts, and what they add to it. */
import { expect, test } from 'vitest'
import { svcWith } from '../../../test/support/fake-api.ts'

const svc = (answers: Parameters<typeof svcWith>[0], argv: string[]) =>
  svcWith(answers, argv, { cwd: import.meta.dirname })

const RECOVER = ['notifications', 'recover', 'int_1', '--since', '2026-11-15']
const RECOVERY = { recoverDeliveries: { id: 'rec_1', state: 'running', since: '2026-11-15T00:00:00.000Z' } }

test('a recovery says before it begins what may arrive twice', async () => {
  const asked = await svc(RECOVERY, RECOVER)
  expect([asked.exit, asked.sent]).toEqual([5, {}])
  expect(asked.err).toContain(
    'This sends again what int_1 missed since 2026-11-15T00:00:00.000Z; what is unconfirmed may arrive twice.',
  )
  const without = await svc(RECOVERY, [...RECOVER, '--skip-unconfirmed'])
  expect(without.err).toContain('missed since 2026-11-15T00:00:00.000Z.')
  const { sent, err } = await svc(RECOVERY, [...RECOVER, '--skip-unconfirmed', '--yes'])
  expect(sent.recoverDeliveries!.body).toEqual({
    since: '2026-11-15T00:00:00.000Z',
    include_unconfirmed: false,
  })
  expect(err).toContain('svc notifications deliveries --integration int_1')
})

test('a grant is revoked as its contract says; a rehearsal needs a receipt', async () => {
  const revoke = (...more: string[]) => svc({ revokeGrant: {} }, ['agents', 'revoke', 'grt_1', ...more])
  const asked = await revoke()
  expect([asked.exit, asked.sent]).toEqual([5, {}])
  expect(asked.err).toContain('This revokes grt_1. Its assistant must be approved again to reconnect.')
  const { exit, err, sent } = await revoke('--yes')
  expect([exit, err, Object.keys(sent)]).toEqual([0, 'Revoked grt_1\n', ['revokeGrant']])
  const rehearsal = await revoke('--dry-run', '--yes')
  expect([rehearsal.exit, rehearsal.sent]).toEqual([5, {}])
})

test('a delivery is shown with a line for each attempt', async () => {
  const attempt = { number: 1, started_at: 'then', outcome: 'refused', reason: 'GONE', http_status: 410 }
  const delivery = {
    id: 'dlv_1',
    type: 'deploy.failed',
    destination: 'https://x.test',
    state: 'failed',
    attempts_made: [{ ...attempt, duration_ms: 3, response: 'a'.repeat(99) }],
  }
  const { out, sent } = await svc({ showDelivery: delivery }, ['notifications', 'show', 'dlv_1'])
  expect(sent.showDelivery!.url).toBe('/api/notifications/deliveries/dlv_1')
  const lines = out.trimEnd().split('\n')
  expect(lines.map((line) => line.split(/: +/))).toEqual([
    ['id', 'dlv_1'],
    ['type', 'deploy.failed'],
    ['subject', '-'],
    ['app', '-'],
    ['channel', '-'],
    ['to', 'https://x.test'],
    ['state', 'failed'],
    ['reason', '-'],
    ['replay_of', '-'],
    ['next_attempt_at', '-'],
    ['attempt 1', `then refused GONE 410 3 ms "${'a'.repeat(80)}"`],
  ])
})
