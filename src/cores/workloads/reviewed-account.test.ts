import { expect, test } from 'vitest'
import type { ReviewStatus } from './cluster-port.ts'
import { reviewedAccount } from './reviewed-account.ts'

const AUDIENCE = 'svc-control-plane'
const STATUS: ReviewStatus = {
  authenticated: true,
  username: 'system:serviceaccount:shop:worker',
  uid: '2d61',
  groups: ['system:serviceaccounts', 'system:serviceaccounts:shop', 'system:authenticated'],
  audiences: [AUDIENCE],
  extra: {
    'authentication.kubernetes.io/pod-name': ['w1'],
    'authentication.kubernetes.io/pod-uid': ['0717'],
  },
}

test('the account that the cluster vouches for', () => {
  expect(reviewedAccount(STATUS, AUDIENCE)).toEqual({
    namespace: 'shop',
    name: 'worker',
    uid: '2d61',
    pod: { name: 'w1', uid: '0717' },
  })
  expect(reviewedAccount({ ...STATUS, extra: {} }, AUDIENCE)?.pod).toBeNull()
})

test.each([
  ['name', 'w\u0000'],
  ['name', 'W 1'],
  ['name', 'a'.repeat(254)],
  ['uid', '0717\u0000'],
  ['uid', ''],
])('without a pod, where its %s is none: %j', (part, value) => {
  const extra = { ...STATUS.extra, [`authentication.kubernetes.io/pod-${part}`]: [value] }
  expect(reviewedAccount({ ...STATUS, extra }, AUDIENCE)).toMatchObject({ name: 'worker', pod: null })
})

const REFUSED: [string, Partial<ReviewStatus>][] = [
  ['it does not', { authenticated: false }],
  ['it confirms no audience: it knows nothing of them', { audiences: [] }],
  ['it confirms another one', { audiences: ['https://kubernetes.default.svc'] }],
  ['it is a person', { username: 'admin' }],
  ['it is a user who is called like an account', { groups: ['system:authenticated'] }],
  ['its group is of another namespace', { groups: ['system:serviceaccounts:other'] }],
  ['it has no uid', { uid: '' }],
  ['its name has more parts', { username: 'system:serviceaccount:shop:worker:x' }],
]
test.each(REFUSED)('nobody, if %s', (_why, changed) => {
  expect(reviewedAccount({ ...STATUS, ...changed }, AUDIENCE)).toBeUndefined()
})
