import { expect, test } from 'vitest'
import type { CommandContext } from '../command-context.ts'
import { formatOutput, type View } from '../format-output.ts'
import { declared } from '../declared.ts'
import { runOperation } from '../run-operation.ts'

const BINDING = {
  id: 'wlb_1',
  namespace: 'shop',
  service_account: 'worker',
  uid: '2d61',
  created_by: 'Ada',
  created_at: '2026-11-15T12:00:00.000Z',
  last_used_at: null,
  pods: ['worker-2', 'worker-1'].map((name) => ({ name, first_seen_at: '', last_seen_at: '' })),
}

function context(answer: unknown) {
  const [calls, printed, said] = [[] as unknown[], [] as string[], [] as string[]]
  const ctx = {
    info: (line: string) => said.push(line),
    print: (data: unknown, view: View) => printed.push(formatOutput(data, view, 'table')),
    callOperation: async (name: string, input: unknown) => {
      calls.push([name, input])
      return answer
    },
  } as unknown as CommandContext
  return { ctx, calls, printed, said }
}

test('bind names the account, and prints what is bound now', async () => {
  const { ctx, calls, printed } = context(BINDING)
  const options = { namespace: 'shop', 'service-account': 'worker' }
  await runOperation(declared('apps bind'))(ctx, { args: { app: 'billing' }, options })
  const account = { namespace: 'shop', service_account: 'worker' }
  expect(calls).toEqual([['bindServiceAccount', { alias: 'billing', ...account }]])
  expect(printed[0]).toMatch(/id: +wlb_1\nnamespace: +shop\nservice_account: +worker\nuid: +2d61/)
})

test('bindings lists accounts with the pods that came in by them', async () => {
  const { ctx, printed } = context({ service_accounts: [BINDING], audience: 'svc-control-plane' })
  await runOperation(declared('apps bindings'))(ctx, { args: { app: 'billing' }, options: {} })
  expect(printed[0]).toMatch(/wlb_1 +shop +worker +Ada +- +worker-2, worker-1/)
})

test('unbind removes what was confirmed', async () => {
  const { ctx, calls, said } = context({})
  await runOperation(declared('apps bindings remove'))(ctx, {
    args: { app: 'billing', binding_id: 'wlb_1' },
    options: { yes: true },
  })
  expect(calls).toEqual([['unbindServiceAccount', { alias: 'billing', binding_id: 'wlb_1' }]])
  expect(said).toEqual(['Removed wlb_1'])
})
