import { expect, test } from 'vitest'
import type { Service } from '../client/service.ts'
import { noTracing } from '../observe/tracing-port.ts'
import type { ActorAssertions } from '../trust/actor-assertion.ts'
import { validateRemotely } from './validate-remotely.ts'

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const TOKEN = [
  encode({ alg: 'RS256', kid: 'k1' }),
  encode({
    sub: 'system:serviceaccount:shop:worker',
    aud: ['svc-control-plane'],
    exp: 1_800_000_000,
    'kubernetes.io': { serviceaccount: { uid: '2d61' } },
  }),
  'c2lnbmF0dXJl',
].join('.')

test('with hosted auth the vendor never sees a token of this cluster', async () => {
  const asked: string[] = []
  const auth: Service = async (request) => {
    asked.push(request.url)
    return Response.json({ error: { code: 'UNAUTHENTICATED', message: 'no' } }, { status: 401 })
  }
  const common = { auth, tracing: noTracing, clock: () => new Date(0), db: undefined as never }
  const hosted = {
    assertions: {} as ActorAssertions,
    servedOrganizations: new Set<string>(),
    operatorToken: undefined,
  }
  const presented = { token: TOKEN, organization: undefined, requestId: 'req_1', address: 'here' }
  await expect(validateRemotely({ ...common, hosted })(presented)).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
    message: 'Invalid or expired API token',
  })
  expect(asked).toEqual([])
  await expect(validateRemotely({ ...common, hosted: undefined })(presented)).rejects.toThrow('no')
  expect(asked).toHaveLength(1)
})
