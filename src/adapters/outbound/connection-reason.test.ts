import { expect, test } from 'vitest'
import { connectionReason } from './connection-reason.ts'

const failed = (code: string) => Object.assign(new Error('what the other side said'), { code })

test.each([
  ['CERT_HAS_EXPIRED', 'certificate_expired'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate_name'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'certificate_untrusted'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'certificate_untrusted'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls_failed'],
  ['EPROTO', 'tls_failed'],
  ['ENOTFOUND', 'name_not_found'],
  ['ECONNREFUSED', 'connection_refused'],
  ['ECONNRESET', 'reset'],
  ['ETIMEDOUT', 'timed_out'],
  ['EHOSTUNREACH', 'not_reached'],
])('%s is %s', (code, reason) => {
  expect(connectionReason(failed(code))).toBe(reason)
})

test('of several addresses the last one counts, and what is no error of Node’s is not reached', () => {
  const all = new AggregateError([failed('ETIMEDOUT'), failed('ECONNREFUSED')])
  expect([all, new AggregateError([]), undefined].map(connectionReason)).toEqual([
    'connection_refused',
    'not_reached',
    'not_reached',
  ])
})
